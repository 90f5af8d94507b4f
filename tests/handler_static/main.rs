//! The agent's signal handler, by its machine code: which functions it can reach, and that none is libc's.
//!
//! From `on_signal` every direct call, call through the GOT and address taken is followed, up to the decoder and to
//! `core`'s panic functions. Every function on the way that is not overstep's must be on the lists below, by name: a
//! new edge fails here and wants an argument in docs/signal-safety.md.

#[path = "../agent_support/mod.rs"]
mod agent_support;
mod graph;
mod object;

use std::collections::BTreeSet;

use graph::{Reach, reach};
use object::Object;

/// Into iced-x86, warmed up before anything is armed. What lies behind is its own affair, and `handler_dynamic`
/// watches it at work.
const DECODER: &[&str] = &[
    "iced_x86::decoder::Decoder::decode_out_ptr",
    "iced_x86::decoder::Decoder::try_with_ip",
    "iced_x86::instruction::Instruction::stack_pointer_increment",
];

/// Into `core`'s panic functions, from checks that the compiler did not see through: none.
const PANICS: &[&str] = &[];

/// What else is not overstep's by name, and walked through: our own stand-ins for libc's memory routines, and
/// generic code of `core` around our closures.
const PLAIN: &[&str] = &[
    "bcmp",
    "core::ops::function::impls::<impl core::ops::function::Fn<A> for &F>::call",
    "memcpy",
    "memset",
];

/// What the agent puts in front of the C library's functions of the same names.
const INTERPOSED: &[&str] = &[
    "_Unwind_SetIP",
    "__longjmp_chk",
    "__ppoll_chk",
    "__sysv_signal",
    "_longjmp",
    "bsd_signal",
    "dlopen",
    "dlsym",
    "epoll_pwait",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "longjmp",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "ppoll",
    "prctl",
    "pselect",
    "pthread_create",
    "pthread_sigmask",
    "setcontext",
    "sigaction",
    "sigaltstack",
    "sigblock",
    "sighold",
    "sigignore",
    "siglongjmp",
    "signal",
    "sigpending",
    "sigprocmask",
    "sigrelse",
    "sigset",
    "sigsetmask",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "ssignal",
    "swapcontext",
    "syscall",
    "system",
    "sysv_signal",
];

/// Memory routines that compilers call unasked: the agent has its own, local ones.
const MEMORY: [&str; 6] = ["bcmp", "memcmp", "memcpy", "memmove", "memset", "strlen"];

fn agent() -> Option<Object> {
    agent_support::agent("handler_static").map(|path| Object::read(&path))
}

fn from_handler(agent: &Object) -> Reach {
    let entry = agent.function("overstep::handler::entry::on_signal");
    let entry = entry.unwrap_or_else(|| panic!("the agent has no symbol for on_signal: is it stripped?"));
    reach(agent, entry)
}

#[test]
fn the_handler_calls_nothing_outside_the_agent() {
    let Some(agent) = agent() else { return };
    let found = from_handler(&agent);
    println!("{} functions, {} instructions", found.walked.len(), found.instructions);
    for name in &found.walked {
        println!("  {name}");
    }
    assert!(found.walked.len() > 10, "the walk saw too little: {:?}", found.walked);
    assert!(found.instructions > 3000, "the walk saw too little: {} instructions", found.instructions);
    assert_eq!(found.external, BTreeSet::new(), "calls out of the agent");
    assert_eq!(found.thread_local, BTreeSet::new(), "instructions that use thread-local storage (fs:)");
    assert_eq!(found.undecoded, BTreeSet::new(), "bytes that are no instructions");
}

#[test]
fn what_the_handler_reaches_beyond_itself_is_listed() {
    let Some(agent) = agent() else { return };
    let found = from_handler(&agent);
    let listed: BTreeSet<&str> = [DECODER, PANICS, PLAIN].into_iter().flatten().copied().collect();
    let reached: BTreeSet<&str> = found.foreign.keys().map(String::as_str).collect();
    let new: Vec<_> = found.foreign.iter().filter(|(name, _)| !listed.contains(name.as_str())).collect();
    assert!(new.is_empty(), "new edges out of the handler, with the functions they start from: {new:#?}");
    let gone: Vec<_> = listed.difference(&reached).collect();
    println!("listed, not reached by this build: {gone:?}");
    assert!(reached.len() > 3, "the walk saw too little: {reached:?}");
}

/// The walk can fail: from the constructor, which may do as it likes, it finds calls into libc.
#[test]
fn the_same_walk_from_the_constructor_finds_libc() {
    let Some(agent) = agent() else { return };
    let construct = agent.function("overstep_agent::constructor::construct").expect("construct has a symbol");
    let found = reach(&agent, construct);
    assert!(found.external.iter().any(|edge| edge.ends_with("-> close")), "{:?}", found.external);
}

#[test]
fn the_agent_exports_its_interposers_and_nothing_else() {
    let Some(agent) = agent() else { return };
    assert_eq!(agent.exported, INTERPOSED.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn memory_routines_are_the_agents_own() {
    let Some(agent) = agent() else { return };
    for name in MEMORY {
        assert!(!agent.imported.contains(name), "{name} is imported from libc");
        assert!(agent.defined.contains(name), "{name} is not in the agent");
    }
    assert!(agent.imported.contains("abort"), "the list of imports is empty or wrong: {:?}", agent.imported);
}

//! Programs and places where no tracer can be attached.

use std::fs;

use crate::cli::exit::{CANNOT_RUN, Failure, OVERSTEP_FAILED};
use crate::cli::target::{Gain, Program, gained_by};

/// # Errors
/// 125: this process is traced itself, so that its children would be, too. 126: the program is set-user-id or the
/// like, which a tracer takes away from it.
pub fn check(program: &Program) -> Result<(), Failure> {
    not_traced()?;
    let name = program.path.display();
    let gain = gained_by(&program.elf)
        .map_err(|error| Failure::new(CANNOT_RUN, format_args!("`{name}`: {error}")))?;
    let kind = match gain {
        Gain::Nothing => return Ok(()),
        Gain::User(user) => format!("set-user-id (to user {user})"),
        Gain::Group(group) => format!("set-group-id (to group {group})"),
        Gain::Capabilities => "given file capabilities".to_owned(),
    };
    Err(Failure::new(CANNOT_RUN, format_args!("`{name}` is {kind}, which the kernel ignores under a tracer"))
        .next("run it as the user it changes to"))
}

/// A tracee's children are its tracer's, and a tracer can be had only once.
fn not_traced() -> Result<(), Failure> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map_or("0", str::trim);
    if tracer == "0" {
        return Ok(());
    }
    let link = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    if link(tracer).is_some_and(|it| Some(it) == link("self")) {
        return Err(Failure::new(
            OVERSTEP_FAILED,
            format_args!("this is `overstep emulate` inside another (pid {tracer})"),
        )
        .next("leave one of the two out"));
    }
    let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
    Err(Failure::new(
        OVERSTEP_FAILED,
        format_args!(
            "`{}` (pid {tracer}) traces this process already, and a program has one tracer",
            name.trim()
        ),
    )
    .next("run it outside the debugger, or the debugger without `overstep emulate`"))
}

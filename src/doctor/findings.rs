//! What the facts mean, line by line: pure, so that machines can be tested that are not at hand.

use super::Facts;
use super::counter;
use super::mechanisms::{Auto, Mechanism, Tried};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Good,
    Bad,
    /// Not there, or only worth knowing.
    Neutral,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub mark: Mark,
    pub label: String,
    pub text: String,
    pub remedy: Option<String>,
}

pub(super) struct Section {
    pub title: &'static str,
    pub findings: Vec<Finding>,
}

/// The report's sections in reading order.
pub(super) fn sections(facts: &Facts) -> Vec<Section> {
    [
        Section { title: "Engines", findings: engines(facts) },
        Section { title: "Re-arming breakpoint/fasync", findings: rearms(facts) },
    ]
    .into_iter()
    .chain(facts.mechanisms.counter.as_ref().map(|counter| Section {
        title: "Counter (instructions/fasync)",
        findings: counter::findings(counter),
    }))
    .chain([
        Section { title: "Kernel", findings: kernel(facts) },
        Section { title: "This process", findings: process(facts) },
    ])
    .collect()
}

/// The command to run now.
pub(super) fn next(facts: &Facts) -> String {
    match &facts.mechanisms.auto {
        Auto::Chosen { engine, why, .. } => {
            let seen =
                why.strip_prefix(engine.as_str()).map_or(why.as_str(), |rest| rest.trim_start_matches(": "));
            format!("--engine auto takes {engine} ({seen}).\nNext: overstep demo")
        }
        Auto::Nothing { error } => format!("Nothing can be traced here yet: {error}\nThen: overstep doctor"),
    }
}

fn engines(facts: &Facts) -> Vec<Finding> {
    let mechanisms = &facts.mechanisms;
    let trigger = tried("trigger", &mechanisms.trigger, "hits, one in this thread and one in a new one");
    let registers = match mechanisms.debug_registers_free {
        Some(free @ 3..) => {
            good("debug registers", format!("{free} of 4 free; trigger, step and return guard take 3"))
        }
        Some(free) => bad(
            "debug registers",
            format!("{free} of 4 free; trigger, step and return guard take 3"),
            "leave the debugger's hardware breakpoints, and end `perf record -e mem:…`",
        ),
        None => neutral("debug registers", "cannot be counted while breakpoints are refused".to_owned()),
    };
    let engine = |mechanism: &Mechanism| {
        let counter = mechanism.name.starts_with("instructions");
        let seen = if counter { "overflows gave a signal" } else { "hits gave a signal at their address" };
        let mut finding = tried(&mechanism.name, &mechanism.tried, seen);
        if let (Some(way), "breakpoint/fasync", Mark::Good) =
            (&mechanisms.rearm, mechanism.name.as_str(), finding.mark)
        {
            finding.text.push_str(&format!(", re-armed by {way}"));
        }
        let starts = matches!(mechanisms.trigger, Tried::Works { .. });
        if finding.mark == Mark::Good && !starts {
            finding.text.push_str(", but without the trigger nothing starts it");
        }
        finding
    };
    [trigger, registers].into_iter().chain(mechanisms.engines.iter().map(engine)).collect()
}

fn rearms(facts: &Facts) -> Vec<Finding> {
    let in_use = facts.mechanisms.rearm.as_deref();
    if let (None, Tried::Fails { errno: Some(_), .. }) = (in_use, &facts.mechanisms.limit) {
        return vec![neutral("not tried", "the step breakpoint is refused, see above".to_owned())];
    }
    let one = |way: &Mechanism| {
        let mut finding = tried(&way.name, &way.tried, "hits");
        match in_use {
            Some(used) if finding.mark == Mark::Bad => finding.remedy = Some(format!("overstep uses {used}")),
            Some(used) if used == way.name => finding.text.push_str("  ← in use"),
            _ => {}
        }
        finding
    };
    let limit = tried("REFRESH(5), five hits", &facts.mechanisms.limit, "hits");
    facts.mechanisms.rearms.iter().map(one).chain([limit]).collect()
}

fn kernel(facts: &Facts) -> Vec<Finding> {
    let kernel = &facts.kernel;
    let minimum = match (kernel.sigtrap, kernel.syscall_user_dispatch) {
        (Some(true), _) => good("release", format!("{}, 5.13 or later", kernel.release)),
        (Some(false), dispatch) => {
            let also = if dispatch == Some(false) { " and syscall user dispatch (5.11)" } else { "" };
            bad(
                "release",
                format!("{} lacks sigtrap events (5.13){also}", kernel.release),
                "boot Linux 5.13 or later",
            )
        }
        (None, _) => neutral("release", format!("{:?} has no version to judge by", kernel.release)),
    };
    let known = kernel.regressions.iter().map(|known| Finding {
        mark: Mark::Neutral,
        label: "known bug".to_owned(),
        text: format!("{}: {} ({})", known.name, known.what, seen(known.seen)),
        remedy: Some(known.answer.to_owned()),
    });
    std::iter::once(minimum).chain(known).collect()
}

const fn seen(seen: Option<bool>) -> &'static str {
    match seen {
        Some(true) => "seen here",
        Some(false) => "not seen here",
        None => "not tried here",
    }
}

fn process(facts: &Facts) -> Vec<Finding> {
    let permissions = &facts.permissions;
    let privileged = permissions.cap_perfmon || permissions.cap_sys_admin;
    let paranoid = match permissions.perf_event_paranoid {
        Some(value) if value > 2 && !privileged => bad(
            "perf_event_paranoid",
            format!("{value} refuses events to unprivileged users"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        Some(value) if value > 2 => {
            good("perf_event_paranoid", format!("{value}, overruled by a capability"))
        }
        Some(value) => {
            good("perf_event_paranoid", format!("{value}, events on one's own threads are allowed"))
        }
        None => bad(
            "perf_event_paranoid",
            "not there: this kernel has no perf events".to_owned(),
            "boot a kernel built with CONFIG_PERF_EVENTS=y",
        ),
    };
    let seccomp = match permissions.seccomp {
        "off" => good("seccomp", "off".to_owned()),
        mode => neutral("seccomp", format!("{mode}: whether it lets events through is seen above")),
    };
    let traced = match (permissions.traced_by, &permissions.emulated) {
        (_, Some(options)) => {
            let options = if options.is_empty() { String::new() } else { format!(" ({options})") };
            good("debugger", format!("none; overstep emulate counts here{options}"))
        }
        (None, None) => good("debugger", "none".to_owned()),
        (Some(pid), None) => bad(
            "debugger",
            format!("process {pid} traces this one and takes every SIGTRAP first"),
            "run overstep outside the debugger or strace",
        ),
    };
    let frame = match facts.signals.minimum_signal_stack {
        Some(bytes) => format!("{bytes} bytes a signal frame"),
        None => "not told by this kernel (AT_MINSIGSTKSZ, 5.14)".to_owned(),
    };
    let yes = |value: bool| if value { "yes" } else { "no" };
    vec![
        paranoid,
        seccomp,
        traced,
        neutral("signal stack", frame),
        neutral("rseq registered", yes(facts.signals.rseq_registered).to_owned()),
        neutral("shadow stack", yes(facts.signals.shadow_stack).to_owned()),
    ]
}

fn tried(label: &str, tried: &Tried, seen: &str) -> Finding {
    match tried {
        Tried::Works { hits, codes } => {
            let codes: Vec<_> = codes.iter().map(|(code, times)| format!("{times} × {code}")).collect();
            good(label, format!("{hits} of {hits} {seen} ({})", codes.join(", ")))
        }
        Tried::Absent { why, remedy, .. } => {
            Finding { remedy: Some((*remedy).to_owned()), ..neutral(label, why.clone()) }
        }
        Tried::Fails { why, remedy, .. } => bad(label, why.clone(), remedy),
    }
}

pub(super) fn good(label: &str, text: String) -> Finding {
    Finding { mark: Mark::Good, label: label.to_owned(), text, remedy: None }
}

pub(super) fn neutral(label: &str, text: String) -> Finding {
    Finding { mark: Mark::Neutral, label: label.to_owned(), text, remedy: None }
}

pub(super) fn bad(label: &str, text: String, remedy: &str) -> Finding {
    Finding { mark: Mark::Bad, label: label.to_owned(), text, remedy: Some(remedy.to_owned()) }
}

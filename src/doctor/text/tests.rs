//! The report on recorded machines.

use super::write;
use crate::doctor::Facts;
use crate::doctor::cpu::Cpu;
use crate::doctor::kernel::Kernel;
use crate::doctor::mechanisms::{Auto, Counter, Mechanism, Mechanisms, Tried};
use crate::doctor::permissions::Permissions;
use crate::doctor::signals::Signals;
use crate::record::calibration::{Calibration, Troubles};
use crate::record::counted::{Counted, Unit};

const REMEDY: &str = "sudo sysctl kernel.perf_event_paranoid=2";

fn works(hits: u32, code: &'static str) -> Tried {
    Tried::Works { hits, codes: vec![(code, hits)] }
}

fn refused() -> Tried {
    Tried::Fails { why: "EACCES (13), perf_event_paranoid is 3".into(), errno: Some(13), remedy: REMEDY }
}

fn named(name: &str, tried: Tried) -> Mechanism {
    Mechanism { name: name.into(), tried }
}

/// Linux 6.18 in a guest without a PMU.
fn guest() -> Facts {
    let lost = Tried::Fails { why: "1 of 64 hits gave a signal".into(), errno: None, remedy: "another" };
    let no_pmu =
        Tried::Absent { why: "ENOENT (2), no PMU here".into(), errno: 2, remedy: "use --engine breakpoint" };
    Facts {
        version: 1,
        overstep: "0.1.0",
        kernel: Kernel::of("6.18.44", |_| Some(true)),
        cpu: Cpu {
            name: Some("AMD EPYC".into()),
            family: Some(25),
            hypervisor: Some("KVM".into()),
            ..Cpu::default()
        },
        hz: Some(250),
        pmus: Vec::new(),
        permissions: Permissions {
            perf_event_paranoid: Some(2),
            perf_event_max_sample_rate: Some(100_000),
            seccomp: "off",
            cap_perfmon: false,
            cap_sys_admin: false,
            cap_sys_ptrace: false,
            ptrace_scope: None,
            traced_by: None,
            emulated: None,
            descriptors: 1024,
        },
        signals: Signals { minimum_signal_stack: Some(3376), rseq_registered: true, shadow_stack: false },
        mechanisms: Mechanisms {
            trigger: works(2, "TRAP_PERF"),
            engines: vec![
                named("breakpoint/sigtrap", works(64, "TRAP_PERF")),
                named("instructions/fasync", no_pmu),
            ],
            rearms: vec![
                named("REFRESH(1)", lost),
                named("REFRESH(1) then PERIOD(1)", works(64, "POLL_HUP")),
            ],
            limit: Tried::Works { hits: 5, codes: vec![("POLL_IN", 4), ("POLL_HUP", 1)] },
            rearm: Some("REFRESH(1) then PERIOD(1)".into()),
            debug_registers_free: Some(4),
            counter: None,
            auto: Auto::Chosen {
                engine: "breakpoint/sigtrap".into(),
                why: "breakpoint/sigtrap: 64 of 64 hits gave a signal at their address".into(),
                notices: vec![],
            },
        },
    }
}

fn report(facts: &Facts, colours: bool) -> String {
    let mut out = Vec::new();
    write(facts, colours, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_healthy_guest() {
    let expected = "\
overstep 0.1.0 on Linux 6.18.44
AMD EPYC, family 25, in a KVM guest

Engines
  ✓ trigger                    2 of 2 hits, one in this thread and one in a new one (2 × TRAP_PERF)
";
    let text = report(&guest(), false);
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("  – instructions/fasync        ENOENT (2), no PMU here\n"), "{text}");
    assert!(text.contains("  ✗ REFRESH(1)                 1 of 64 hits gave a signal\n"), "{text}");
    assert!(text.contains("→ overstep uses REFRESH(1) then PERIOD(1)\n"), "{text}");
    assert!(text.ends_with("at their address).\nNext: overstep demo\n"), "{text}");
}

/// The same under `overstep emulate --skid uniform:0-1 --hup-bug`.
fn emulated() -> Facts {
    let mut facts = guest();
    facts.permissions.emulated = Some("--skid uniform:0-1 --hup-bug".into());
    facts.mechanisms.engines.pop();
    facts.mechanisms.engines.push(named("instructions/fasync", works(10, "POLL_IN")));
    facts.mechanisms.counter = Some(Counter::Calibrated(Calibration {
        event: Counted::Instructions,
        unit: Unit::Instruction,
        tail: 2,
        period: 3,
        smallest_period: 2,
        overcount: 0,
        codes: vec![("POLL_IN".into(), 8)],
        skid: vec![(0, 5), (1, 3)],
        progress: vec![(1, 20), (2, 12)],
        troubles: Troubles { armed: 40, lost: 3, away: 2, missed: 500 },
    }));
    facts
}

#[test]
fn the_counter_is_described_by_its_calibration() {
    let text = report(&emulated(), false);
    let expected = "
Counter (instructions/fasync)
  ✓ handler tail               2 instructions, so a period of 3 goes on by one
  ✓ smallest period            2
  ✗ skid                       none in 5 of 8 stops; 1 in 3
";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("  ✗ steps of one               20 of 32; 2 in 12\n"), "{text}");
    assert!(text.contains("  ✗ at the REFRESH limit       POLL_IN (8 × POLL_IN)\n"), "{text}");
    assert!(text.contains("  ✗ lost signals               3 of 40 overflows gave none\n"), "{text}");
    assert!(
        text.contains("  ✗ multiplexing               away before 2 of 40 overflows, 500 thousandths"),
        "{text}"
    );
    assert!(text.contains("none; overstep emulate counts here (--skid uniform:0-1 --hup-bug)\n"), "{text}");
    assert!(!report(&guest(), false).contains("Counter"), "there is none");
    let failed = Facts {
        mechanisms: Mechanisms {
            counter: Some(Counter::Failed { why: "no overflow".into(), remedy: "leave it" }),
            ..guest().mechanisms
        },
        ..guest()
    };
    assert!(
        report(&failed, false).contains("  ✗ calibration                no overflow\n"),
        "{}",
        report(&failed, false)
    );
}

#[test]
fn our_own_supervisor_is_no_debugger_and_another_one_is() {
    assert!(report(&emulated(), false).contains("  ✓ debugger "));
    let mut traced = guest();
    traced.permissions.traced_by = Some(77);
    assert!(report(&traced, false).contains("  ✗ debugger                   process 77 traces this one"));
}

#[test]
fn every_problem_is_followed_by_its_remedy() {
    let mut facts = guest();
    facts.permissions.perf_event_paranoid = Some(3);
    facts.mechanisms.trigger = refused();
    facts.mechanisms.debug_registers_free = None;
    facts.mechanisms.auto = Auto::Nothing { error: format!("EACCES (13); {REMEDY}") };
    let text = report(&facts, false);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| line.contains('✗')) {
        let below = text.lines().skip(n + 1).find(|below| !below.contains('✗'));
        assert!(below.is_some_and(|below| below.contains("→ ")), "{line}");
    }
    assert!(text.ends_with(&format!(
        "Nothing can be traced here yet: EACCES (13); {REMEDY}\nThen: overstep doctor\n"
    )));
}

#[test]
fn colours_are_only_there_when_asked_for() {
    assert!(!report(&guest(), false).contains('\x1b'));
    assert!(report(&guest(), true).contains("\x1b[32m✓\x1b[0m"));
}

#[test]
fn json_says_the_same_under_stable_names() {
    let value = serde_json::to_value(guest()).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["engines"][0]["name"], "breakpoint/sigtrap");
    assert_eq!(value["engines"][0]["result"], "works");
    assert_eq!(value["engines"][1]["errno"], 2);
    assert_eq!(value["rearm"], "REFRESH(1) then PERIOD(1)");
    assert_eq!(value["kernel"]["regressions"][0]["name"], "breakpoint-dead-after-refresh");
    assert_eq!(value["auto"]["engine"], "breakpoint/sigtrap");
    assert!(value["counter"].is_null());
    let counter = &serde_json::to_value(emulated()).unwrap()["counter"];
    assert_eq!((&counter["tail"], &counter["event"]), (&2.into(), &"instructions".into()));
}

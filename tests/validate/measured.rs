//! One run on this machine, and everything it says.

use serde_json::{Value, json};

use crate::support::{listed, refusal, report, rows, run, skip, validate};

#[test]
fn controls_hold_and_every_form_of_the_report_says_so() {
    const NAME: &str = "controls_hold_and_every_form_of_the_report_says_so";
    if !overstep::can_trace() {
        return skip(NAME, "breakpoint events do not work here");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let (json, html) = (directory.path().join("r.json"), directory.path().join("r.html"));
    let mut command = validate(&["--quick", "--event", "breakpoint,page-faults,instructions", "--json"]);
    let (status, stdout, stderr) = run(command.arg(&json).arg("--html").arg(&html));
    let report = report(&json);
    assert_eq!((refusal(&report), listed(&report)), (None, None));
    assert_eq!((status, report["partial"].as_bool()), (Some(0), Some(false)), "{stdout}{stderr}");
    assert_eq!(stderr, "", "no bar where there is no terminal");
    controls(&report);
    // Whatever was asked for is there, once.
    for event in ["breakpoint", "page-faults", "instructions"] {
        for delivery in ["sigtrap", "fasync"] {
            let found =
                rows(&report).iter().filter(|row| row["event"] == event && row["delivery"] == delivery);
            assert_eq!(found.count(), 1, "{event}/{delivery}");
        }
    }
    let page = std::fs::read_to_string(&html).expect("a page was written");
    assert!(page.contains("<svg") && page.contains("prefers-color-scheme: dark"));
    assert!(
        !page.contains("http://") && !page.contains("https://") && !page.contains("<script"),
        "self-contained"
    );
    let sentence = stdout.lines().find(|line| line.starts_with("breakpoint/sigtrap: ")).expect("a sentence");
    assert!(
        sentence.contains("synchronous, ")
            && sentence.contains(" at the expected instruction (miss rate below 0.0")
    );
    let head = stdout.lines().find(|line| line.trim_start().starts_with("event ")).expect("a table");
    assert!(head.contains("  lost  ") && head.contains("p50/p90/p99/max"), "{head}");
    let skipped = stdout.lines().any(|line| line.starts_with("SKIP instructions/sigtrap: "));
    let instructions = rows(&report).iter().find(|row| row["event"] == "instructions").expect("a row");
    assert_eq!(skipped, instructions["outcome"] == "skip", "{stdout}");
}

/// Of each kind one at least, and all as they have to be, with enough signals to say so.
fn controls(report: &Value) {
    let controls: Vec<_> = rows(report).iter().filter(|row| !row["control"].is_null()).collect();
    assert_eq!(controls.len(), 4, "{controls:?}");
    for row in controls {
        if row["outcome"] == "skip" {
            assert_eq!(row["event"], "cpu-clock", "only the clock is too dangerous on some kernels");
            continue;
        }
        let synchronous = row["control"] == "synchronous";
        assert_eq!(row["synchronous"], json!(synchronous), "{row}");
        let (signals, at) = (row["signals"].as_u64().unwrap(), row["at_expected"].as_u64().unwrap());
        assert!(if synchronous { signals >= 10_000 && at == signals } else { at < signals }, "{row}");
    }
    assert_eq!(report["trusted"], json!(true));
}

#[test]
fn a_report_that_breaks_the_schema_is_refused() {
    let row = json!({"event": "breakpoint", "precise": 0, "delivery": "sigtrap", "control": null, "outcome": "fail",
        "synchronous": null, "signals": 0, "at_expected": 0});
    let schema = |row: &Value| {
        refusal(&json!({"version": 1, "overstep": "0", "depth": "quick", "partial": false, "trusted": true,
            "machine": {"kernel": "6.18", "cpu": {"vendor": null, "name": null, "family": null, "model": null,
                "stepping": null, "microcode": null, "hypervisor": null}, "hz": 250, "measured_cpu": null, "online": "0",
                "sysctls": {}, "pmus": [], "emulated": null, "traced_by": null},
            "results": [row], "checks": []}))
    };
    let mut explained = row.clone();
    explained["reason"] = json!("5 of 10 signals lost");
    assert_eq!(schema(&explained), None);
    assert!(schema(&row).is_some(), "a failure needs its reason");
    explained["at_expected"] = json!(-1);
    assert!(schema(&explained).is_some());
    assert!(listed(&json!({"version": 1, "unlisted": 1})).unwrap().contains("unlisted"));
}

#[test]
fn markdown_has_tables_and_no_escapes() {
    if !overstep::can_trace() {
        return skip("markdown_has_tables_and_no_escapes", "breakpoint events do not work here");
    }
    let arguments =
        ["--quick", "--event", "breakpoint", "--delivery", "sigtrap", "--markdown", "--color", "always"];
    let (status, stdout, _) = run(&mut validate(&arguments));
    assert_eq!(status, Some(0), "{stdout}");
    assert!(
        stdout.starts_with("## overstep validate: ")
            && stdout
                .contains("| event | signals | lost | at expected | skid p50 / p90 / p99 / max | outcome |"),
        "{stdout}"
    );
    assert!(!stdout.contains('\x1b'), "{stdout}");
}

#[test]
fn colours_only_when_asked_for() {
    if !overstep::can_trace() {
        return skip("colours_only_when_asked_for", "breakpoint events do not work here");
    }
    let arguments = ["--quick", "--event", "breakpoint", "--delivery", "sigtrap", "--cpu", "0"];
    let (_, plain, _) = run(&mut validate(&arguments));
    assert!(!plain.contains('\x1b') && plain.contains("on CPU 0"), "{plain}");
    let (_, coloured, _) = run(validate(&arguments).args(["--color", "always"]));
    assert!(coloured.contains("\x1b[32mpass\x1b[0m"), "{coloured}");
}

/// The machine that docs/validation.md calls here.
const HERE: &str = "validate-amd-epyc-f25m1-kvm-linux-6.18.44";

/// 12,345 for 12345.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

#[test]
fn the_committed_evidence_is_a_report_and_the_documentation_has_its_figures() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let text = std::fs::read_to_string(docs.join("validation.md")).expect("the documentation is there");
    let evidence = std::fs::read_dir(docs.join("evidence")).expect("there is evidence");
    let paths: Vec<_> = evidence.map(|entry| entry.expect("an entry").path()).collect();
    let reports: Vec<_> =
        paths.iter().filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    assert!(reports.iter().any(|path| path.file_stem().is_some_and(|stem| stem == HERE)));
    for path in reports {
        let report = report(path);
        assert_eq!((refusal(&report), listed(&report)), (None, None), "{}", path.display());
        // The documentation's figures are those of one machine.
        if path.file_stem().is_none_or(|stem| stem != HERE) {
            continue;
        }
        for row in rows(&report).iter().filter(|row| row["control"].is_string()) {
            let (signals, at) = (row["signals"].as_u64().unwrap(), row["at_expected"].as_u64().unwrap());
            let told = match row["control"].as_str() {
                Some("synchronous") => format!("| synchronous | {} of {} |", grouped(at), grouped(signals)),
                _ => {
                    format!("| asynchronous | {} of {} elsewhere |", grouped(signals - at), grouped(signals))
                }
            };
            assert!(text.contains(&told), "{}: `{told}` is not in docs/validation.md", path.display());
        }
    }
}

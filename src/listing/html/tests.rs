//! The explorer in a browser, by real keys and clicks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::Browser;
use crate::check::synthetic::{Synthetic, THREAD, gcd_call};
use crate::listing::golden::mixed;
use crate::listing::options::{Options, Values};
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::registers::{RAX, RDI, RSI};

/// The page in a file, which lives as long as the folder.
fn page(trace: &Trace) -> (tempfile::TempDir, PathBuf) {
    page_of(trace, Values::Recorded)
}

fn page_of(trace: &Trace, values: Values) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.html");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    super::write(trace, &Options { values, ..Options::default() }, &mut file).unwrap();
    (folder, path)
}

const HASH: &str = "location.hash";
const HERE: &str = "document.querySelector('.row.here').textContent";

#[test]
fn keys_and_clicks_step_through() {
    let (_folder, path) = page(&gcd_call().read());
    let Some(mut browser) = Browser::open("keys_and_clicks_step_through", &path) else { return };
    assert_eq!(browser.value(HASH), "#call-1-step-1", "the first row to begin with");
    for key in ["j", "ArrowDown", "j", "k"] {
        browser.key(key);
    }
    assert_eq!(browser.value(HASH), "#call-1-step-3");
    assert!(browser.value(HERE).as_str().unwrap().contains("test ecx,ecx"));
    assert!(
        browser.value("document.getElementById('live').textContent").as_str().unwrap().contains("step 3")
    );
    browser.key("End");
    assert_eq!(browser.value(HASH), "#call-1-step-23");
    assert!(browser.value(HERE).as_str().unwrap().contains("leave, rax 0x6 (6)"));
    browser.click("#first");
    browser.click("#next");
    browser.click("#next");
    assert_eq!(browser.value(HASH), "#call-1-step-2");
    browser.click("#i9");
    assert_eq!(browser.value(HASH), "#call-1-step-9", "a click goes to the row");
    browser.value("location.hash = '#call-1-step-18'");
    browser.wait(&format!("{HERE}.includes('idiv')"));
    assert!(browser.requested.iter().all(|url| url.starts_with("file:")), "{:?}", browser.requested);
}

#[test]
fn registers_are_known_at_each_step() {
    let (_folder, path) = page(&gcd_call().read());
    let Some(mut browser) = Browser::open("registers_are_known_at_each_step", &path) else { return };
    browser.value("location.hash = '#call-1-step-12'");
    browser.wait(&format!("{HERE}.includes('idiv')"));
    let register =
        |index: usize| format!("document.querySelector('[data-register=\"{index}\"]').textContent");
    assert_eq!(browser.value(&register(RAX)), "rax0x1");
    assert_eq!(browser.value(&register(RDI)), "rdi0x30", "never written: as at entry");
    browser.click("[data-register=\"0\"]");
    assert_eq!(browser.value(HASH), "#call-1-step-7", "rax was written there before");
    browser.key("w");
    assert_eq!(browser.value(HASH), "#call-1-step-6");
    assert_eq!(browser.value(&register(RAX)), "rax0x2");
    assert_eq!(
        browser.value("document.activeElement.dataset.register"),
        "0",
        "the focus stays on the register"
    );
}

#[test]
fn a_stable_page_says_what_every_run_repeats() {
    let (_folder, path) = page_of(&mixed().read(), Values::Stable);
    let page = std::fs::read_to_string(&path).unwrap();
    let recorded = ["5555555", "7ffd", "4242", "breakpoint/", env!("CARGO_PKG_VERSION")];
    assert_eq!(recorded.iter().find(|it| page.contains(**it)), None);
    let Some(mut browser) = Browser::open("a_stable_page", &path) else { return };
    let register =
        |index: usize| format!("document.querySelector('[data-register=\"{index}\"]').textContent");
    assert!(browser.value(HERE).as_str().unwrap().contains("rsp stack→stack-0x8"), "the first row");
    assert!(browser.value(HERE).as_str().unwrap().contains("write 8 [stack-0x8]=?"));
    assert_eq!(browser.value(&register(RAX)), "rax?", "the caller left it behind");
    browser.value("location.hash = '#call-2-step-1'");
    browser.wait(&format!("{HERE}.includes('rax ?→0x7')"));
    assert_eq!(browser.value(&register(RDI)), "rdi0x7", "an argument");
    browser.key("/");
    browser.keys("stack-0x10");
    assert_eq!(browser.value("document.getElementById('found').textContent"), "2 matches");
}

#[test]
fn loops_and_calls_fold() {
    let (_folder, path) = page(&gcd_call().read());
    let Some(mut browser) = Browser::open("loops_and_calls_fold", &path) else { return };
    let rows = "+document.getElementById('rows').getAttribute('aria-rowcount')";
    assert_eq!(browser.value(rows), json!(25), "a heading, 23 rows, the result");
    browser.key("l");
    assert_eq!(browser.value(rows), json!(25 - 6 + 1), "the middle one of three iterations is folded");
    assert_eq!(browser.value("document.getElementById('loops').getAttribute('aria-pressed')"), "true");
    browser.click(".row.fold");
    assert_eq!(browser.value(rows), json!(26), "opened, with its heading");
    browser.key("l");
    assert_eq!(browser.value(rows), json!(25));

    drop(browser);
    let (_folder, path) = page(&mixed().read());
    let Some(mut browser) = Browser::open("loops_and_calls_fold", &path) else { return };
    let all = browser.value(rows).as_u64().unwrap();
    browser.key("c");
    assert_eq!(browser.value(rows).as_u64().unwrap(), all - 5, "the five rows of gcd");
    browser.value("location.hash = '#call-1-step-8'");
    browser.wait(&format!("{HERE}.includes('call gcd')"));
    browser.key("Enter");
    assert_eq!(browser.value(rows).as_u64().unwrap(), all, "opened at the call");
}

#[test]
fn search_finds_and_colours_change() {
    let (_folder, path) = page(&mixed().read());
    let Some(mut browser) = Browser::open("search_finds", &path) else { return };
    browser.key("/");
    browser.keys("rbx");
    assert_eq!(browser.value("document.getElementById('found').textContent"), "2 matches");
    browser.key("Enter");
    assert_eq!(browser.value(HASH), "#call-1-step-14", "the next one behind the first row");
    browser.key("Escape");
    browser.key("n");
    assert_eq!(browser.value(HASH), "#call-1-step-1", "around the end");
    let back = "getComputedStyle(document.body).backgroundColor";
    let before = browser.value(back);
    browser.key("t");
    assert_ne!(browser.value(back), before);
    browser.value("dispatchEvent(new Event('beforeprint'))");
    let printed = browser.value("document.getElementById('print').textContent");
    assert!(printed.as_str().unwrap().contains("write(99, 0x555555556000, 5) = -EBADF"), "{printed}");
}

#[test]
fn a_hundred_thousand_steps_stay_smooth() {
    let mut trace = Synthetic::with_window(128 << 20);
    for call in 1..=4_400 {
        trace.enter(THREAD, call, 0x1139);
        (trace.registers.general[RDI], trace.registers.general[RSI]) = (48, 18);
        trace.gcd(0x117b);
        trace.marker(Marker::Leave { rax: trace.registers.general[RAX], xmm0: [0; 16] });
    }
    let (_folder, path) = page(&trace.read());
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 101_200 * 60, "{bytes} bytes");
    let Some(mut browser) = Browser::open("a_hundred_thousand_steps", &path) else { return };
    let start = Instant::now();
    browser.key("End");
    assert_eq!(browser.value(HASH), "#call-4400-step-23");
    for _ in 0..20 {
        browser.key("k");
    }
    assert_eq!(browser.value(HASH), "#call-4400-step-4");
    browser.key("l");
    browser.key("l");
    // A person waits for a tenth of a second and notices; a loaded machine gets more than that.
    let took = start.elapsed() / 23;
    assert!(took < Duration::from_millis(500), "{took:?} a key");
    let rows = browser.value("document.querySelectorAll('.row').length").as_u64().unwrap();
    assert!(rows < 120, "{rows} rows in the document");
}

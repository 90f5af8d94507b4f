//! The explorer in a browser, by real keys and clicks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::Browser;
use crate::check::synthetic::{Synthetic, THREAD, gcd_call};
use crate::listing::golden::{memory, mixed};
use crate::listing::options::{Options, Values};
use crate::record::marker::Marker;
use crate::record::reader::Trace;
use crate::record::step::Access;
use crate::registers::{RAX, RDI, RSI, Registers};

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

/// What the page says that a register holds.
fn value_of(index: usize) -> String {
    format!("document.querySelector('[data-register=\"{index}\"] .name').nextElementSibling.textContent")
}

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
    let about = "document.getElementById('about').textContent";
    assert!(!browser.value(about).as_str().unwrap().contains("no step"));
    browser.value("location.hash = '#call-7-step-3'");
    browser.wait(&format!("{about}.includes('there is no step 3 of call 7')"));
    browser.value("location.hash = '#call-1-step-9'");
    browser.wait(&format!("!{about}.includes('there is no step')"));
    // What the page itself links to at a call's beginning.
    browser.key("Home");
    let beginning = browser.value(HASH);
    browser.value("location.hash = '#call-1-step-9'");
    browser.wait(&format!("{HERE}.startsWith('9')"));
    browser.value(&format!("location.hash = {beginning}"));
    browser.wait(&format!("{HERE}.startsWith('call 1')"));
    assert!(!browser.value(about).as_str().unwrap().contains("no step"));
    assert!(browser.requested.iter().all(|url| url.starts_with("file:")), "{:?}", browser.requested);
}

#[test]
fn registers_are_known_at_each_step() {
    let (_folder, path) = page(&gcd_call().read());
    let Some(mut browser) = Browser::open("registers_are_known_at_each_step", &path) else { return };
    browser.value("location.hash = '#call-1-step-12'");
    browser.wait(&format!("{HERE}.includes('idiv')"));
    assert_eq!(browser.value(&value_of(RAX)), "0x1");
    assert_eq!(browser.value(&value_of(RDI)), "0x30", "never written: as at entry");
    browser.click("[data-register=\"0\"]");
    assert_eq!(browser.value(HASH), "#call-1-step-7", "rax was written there before");
    browser.key("w");
    assert_eq!(browser.value(HASH), "#call-1-step-6");
    assert_eq!(browser.value(&value_of(RAX)), "0x2");
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
    assert!(browser.value(HERE).as_str().unwrap().contains("rsp stack→stack-0x8"), "the first row");
    assert!(browser.value(HERE).as_str().unwrap().contains("write 8 [stack-0x8]=?"));
    assert_eq!(browser.value(&value_of(RAX)), "?", "the caller left it behind");
    browser.value("location.hash = '#call-2-step-1'");
    browser.wait(&format!("{HERE}.includes('rax ?→0x7')"));
    assert_eq!(browser.value(&value_of(RDI)), "0x7", "an argument");
    browser.key("/");
    browser.keys("stack-0x10");
    assert_eq!(browser.value("document.getElementById('found').textContent"), "3 matches");
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
    let row = "document.querySelector('[aria-selected=true]')";
    let says = format!("{row}.querySelector('.text').textContent.trim().startsWith('▸ call gcd')");
    assert_eq!(browser.value(&says), true, "before the text, which may be cut off");
    assert_eq!(browser.value(&format!("{row}.getAttribute('aria-expanded')")), "false");
    assert_eq!(browser.value(&format!("{row}.querySelector('.text').title")), "call gcd");
    browser.key("Enter");
    assert_eq!(browser.value(&format!("{row}.getAttribute('aria-expanded')")), "true");
    assert_eq!(browser.value(rows).as_u64().unwrap(), all, "opened at the call");
}

#[test]
fn memory_is_complete_and_known_by_the_byte() {
    const SLOTS: u64 = 200;
    let (base, rows) = (0x5555_5556_0000, 5_000);
    let mut trace = Synthetic::new();
    trace.header.memory = true;
    trace.registers.rflags = 0x202;
    trace.enter(THREAD, 1, 0x1139);
    let (even, odd) = (0x1139, 0x113b);
    for row in 0..rows {
        let accessed: &[_] = match row {
            0..SLOTS => memory(Access::Write, base + 8 * row, 8, 0x1111_1111_2222_2222),
            // Into the first one, and across the end of it.
            SLOTS => memory(Access::Write, base + 4, 2, 0x3333),
            201 => memory(Access::Read, base + 6, 4, 0x2222_1111),
            202 => memory(Access::Write, base + 6, 4, 0x9999_8888),
            _ => &[],
        };
        let zero = |r: &mut Registers| r.rflags |= if row == 300 { 1 << 6 } else { 0 };
        trace.step(if row % 2 == 0 { odd } else { even }, zero, |step| step.memory = accessed);
    }
    let (_folder, path) = page(&trace.read());
    let Some(mut browser) = Browser::open("memory_is_complete", &path) else { return };
    let title = "document.getElementById('memory-title').textContent";
    let first = "[...document.querySelectorAll('.memory')].map(it => it.textContent)";
    let mut at = |step: u64| {
        browser.value(&format!("location.hash = '#call-1-step-{step}'"));
        browser.wait(&format!("document.querySelector('.row.here .n')?.textContent === '{step}'"));
        browser.value("document.getElementById('memory').scrollTop = 0");
        browser.wait(&format!("{first}[0]?.startsWith('{base:#x} ')"));
        (browser.value(title).as_str().unwrap().to_owned(), browser.value(first))
    };
    let row = |offset: u64, size: u8, value: &str, how: &str| {
        format!("{:#x}  {size:2}  {value}  {how}", base + offset)
    };
    let (title, shown) = at(1);
    assert!(title.ends_with(": 1 place"), "{title}");
    assert_eq!(shown, json!([row(0, 8, "0x1111111122222222", "written by step 1")]));
    let (_, shown) = at(SLOTS + 1);
    assert_eq!(shown[0], row(0, 8, "0x1111333322222222", "written by step 201"));
    assert_eq!(shown[1], row(4, 2, "0x3333", "written by step 201"));
    let (title, shown) = at(rows);
    assert!(title.ends_with(": 202 places"), "far behind the last access, {title}");
    assert_eq!(shown[0], row(0, 8, "0x8888333322222222", "written by step 203"));
    assert_eq!(shown[1], row(4, 2, "0x3333", "written by step 201"));
    assert_eq!(shown[2], row(6, 4, "0x99998888", "written by step 203"));
    assert_eq!(shown[3], row(8, 8, "0x1111111122229999", "written by step 203"));
    assert_eq!(shown[4], row(16, 8, "0x1111111122222222", "written by step 3"));
    browser.key("/");
    browser.keys("+zf");
    browser.wait("document.getElementById('found').textContent === '1 match'");
    browser.key("Enter");
    assert_eq!(browser.value(HASH), "#call-1-step-301", "what a flag became");
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
    let found = "document.getElementById('found').textContent";
    for (words, rows) in
        [("write 8", "1 match"), ("-EBADF", "1 match"), ("×5", "1 match"), ("handler", "1 match")]
    {
        browser.key("/");
        browser.keys(words);
        assert_eq!(browser.value(found), rows, "{words}");
        browser.key("Enter");
        let here = browser.value(HERE).as_str().unwrap().to_lowercase();
        assert!(here.contains(&words.to_lowercase()), "{words}: {here}");
        browser.key("Escape");
    }
    let back = "getComputedStyle(document.body).backgroundColor";
    let before = browser.value(back);
    browser.key("t");
    assert_ne!(browser.value(back), before);
    browser.value("dispatchEvent(new Event('beforeprint'))");
    let printed = browser.value("document.getElementById('print').textContent");
    assert!(printed.as_str().unwrap().contains("write(99, 0x555555556000, 5) = -EBADF"), "{printed}");
}

#[test]
fn search_finds_source_lines() {
    let (_folder, path) = page(&gcd_call().read());
    // As `--source` has it: the line of the return is known.
    let page = std::fs::read_to_string(&path).unwrap();
    let known = page
        .replacen(",2,-1]", ",2,0]", 1)
        .replacen("\"locations\":[]", "\"locations\":[[[0,2,null]]]", 1)
        .replacen(
            "\"files\":[]",
            "\"files\":[{\"name\":\"gcd.c\",\"lines\":[\"\",\"  return  a; // Euclid\"]}]",
            1,
        );
    assert_ne!(known, page);
    std::fs::write(&path, known).unwrap();
    let Some(mut browser) = Browser::open("search_finds_source_lines", &path) else { return };
    for words in ["euclid", "return a;", "gcd.c:2"] {
        browser.key("/");
        browser.keys(words);
        assert_eq!(browser.value("document.getElementById('found').textContent"), "1 match", "{words}");
        browser.key("Enter");
        assert_eq!(
            browser.value("document.querySelector('#source .line.here').textContent"),
            "2  return  a; // Euclid"
        );
        browser.key("Escape");
    }
}

#[test]
fn words_stand_out_and_names_are_what_is_seen() {
    let (_folder, path) = page(&gcd_call().read());
    let Some(mut browser) = Browser::open("words_stand_out", &path) else { return };
    browser.key("/");
    browser.keys("mov");
    browser.key("Escape");
    browser.value("document.querySelector('#registers button').setAttribute('class', 'changed')");
    // WCAG 2.2, relative luminance and contrast ratio.
    let contrast = |selector: &str| {
        format!(
            "(() => {{
               const light = (color) => {{
                 const part = (at) => {{
                   const it = color[at] / 255;
                   return it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4;
                 }};
                 return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
               }};
               const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
               const e = document.querySelector('{selector}');
               let behind = e;
               while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
               const [a, b] = [getComputedStyle(e).color, getComputedStyle(behind).backgroundColor].map(rgb).map(light);
               return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
             }})()"
        )
    };
    for _ in ["one", "the other"] {
        for selector in [
            "#registers .changed .name",
            "#registers .changed .name + span",
            ".row.hit:not(.here) .n",
            ".row.hit:not(.here) .symbol",
            ".row.hit:not(.here) .changed",
            ".row.here .n",
            "#about",
        ] {
            let ratio = browser.value(&contrast(selector)).as_f64().unwrap();
            assert!(ratio >= 4.5, "{selector}: {ratio}");
        }
        browser.key("t");
    }
    let named = "[...document.querySelectorAll('button')].filter(it => it.hasAttribute('aria-label')).length";
    assert_eq!(browser.value(named), 0, "a button is called what it shows");
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

#[test]
fn a_key_costs_no_more_far_behind_the_beginning() {
    const ROWS: u64 = 100_000;
    let mut trace = Synthetic::with_window(128 << 20);
    trace.header.memory = true;
    trace.enter(THREAD, 1, 0x1139);
    for row in 0..ROWS {
        // A place of its own for every other row.
        let accessed: &[_] = match row % 2 {
            0 => memory(Access::Write, 0x5555_5556_0000 + 8 * row, 8, row),
            _ => &[],
        };
        let next = if row % 2 == 0 { 0x113b } else { 0x1139 };
        trace.step(next, |r| r.general[RAX] = row, |step| step.memory = accessed);
    }
    let (_folder, path) = page(&trace.read());
    let Some(mut browser) = Browser::open("a_key_costs_no_more", &path) else { return };
    let mut spent = |keys: &[&str]| {
        let before = browser.cpu();
        for key in keys {
            browser.key(key);
            // Until it is seen.
            browser.value("document.querySelector('.row.here').getBoundingClientRect().top");
        }
        (browser.cpu() - before) / keys.len() as u32
    };
    // A frame of a screen that draws 60 in a second takes 16 ms; a page opens with the first row in sight.
    let (end, up) = (spent(&["End"]), spent(&["k"; 40]));
    assert!(end < Duration::from_millis(100), "{end:?} to the end at first");
    assert!(up < Duration::from_millis(16), "{up:?} a key near the end");
    // Behind the last row stands what ended the call.
    assert_eq!(browser.value(HASH), format!("#call-1-step-{}", ROWS - 39));
    let places = browser.value("document.getElementById('memory-title').textContent");
    assert!(places.as_str().unwrap().ends_with(": 49981 places"), "{places}");
}

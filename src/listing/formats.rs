//! Every format from one trace, and Markdown as a renderer reads it.

use pulldown_cmark::{Event, Options as Extensions, Parser, Tag, TagEnd};

use super::column::Column;
use super::golden::{compare, mixed, real_runs, text_of};
use super::options::{Options, Values};
use super::selection::{Only, Selection};
use super::{csv, html, markdown};
use crate::check::synthetic::gcd_call;
use crate::record::reader::Trace;

fn markdown_of(trace: &Trace, options: &Options) -> String {
    let mut out = Vec::new();
    markdown::write_tables(trace, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn csv_of(trace: &Trace, options: &Options) -> String {
    let mut out = Vec::new();
    csv::write(trace, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The cells of every table as a renderer shows them, and the paragraphs between.
fn rendered(markdown: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut rows, mut paragraphs, mut text) = (Vec::new(), Vec::new(), String::new());
    for event in Parser::new_ext(markdown, Extensions::ENABLE_TABLES) {
        match event {
            Event::Text(more) | Event::Code(more) => text.push_str(&more),
            Event::SoftBreak | Event::HardBreak => text.push('\n'),
            Event::Start(Tag::TableRow | Tag::TableHead) => rows.push(Vec::new()),
            Event::End(TagEnd::TableCell) => rows.last_mut().unwrap().push(std::mem::take(&mut text)),
            Event::End(TagEnd::Paragraph) => paragraphs.push(std::mem::take(&mut text)),
            Event::Start(Tag::Table(_) | Tag::TableCell | Tag::Paragraph | Tag::Emphasis | Tag::Strong)
            | Event::End(
                TagEnd::Table | TagEnd::TableRow | TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong,
            ) => {}
            other => panic!("a listing has no {other:?} in\n{markdown}"),
        }
    }
    (rows, paragraphs)
}

#[test]
fn golden_documents_and_tables() {
    for (name, trace) in [("gcd", gcd_call().read()), ("mixed", mixed().read())] {
        compare(&format!("{name}.md"), &markdown_of(&trace, &Options::default()));
        compare(&format!("{name}.csv"), &csv_of(&trace, &Options::default()));
    }
}

#[test]
fn markdown_renders_as_it_reads() {
    let trace = mixed().read();
    let (rows, paragraphs) = rendered(&markdown_of(&trace, &Options::default()));
    assert!(rows.iter().all(|row| row.len() == Column::DOCUMENT.len()), "{rows:?}");
    assert_eq!(rows[1], ["1", "work", "push rbx", "rsp 0x7ffd1b2c3d48→…40  write 8 [0x7ffd1b2c3d40]=0x0"]);
    assert_eq!(rows.iter().filter(|row| row[0] == "n").count(), 2, "a table per call");
    let marker = rows.iter().find(|row| row[2].starts_with("native")).unwrap();
    assert_eq!(marker[2], "native: puts@plt (a.out+0x1030), stepped again from work+0xd");
    assert_eq!(paragraphs[0], "work in ./a.out 48 18");
    assert!(paragraphs[1].starts_with("Call 1: work with rdi 0x30, rsi 0x12"), "{paragraphs:?}");
}

#[test]
fn names_that_look_like_markdown_stay_as_they_are() {
    let mut trace = gcd_call();
    trace.header.command = vec!["a`|b".to_owned(), "*x*".to_owned(), "<b>".to_owned(), "``".to_owned()];
    let (_, paragraphs) = rendered(&markdown_of(&trace.read(), &Options::default()));
    assert_eq!(paragraphs[0], "gcd in 'a`|b' '*x*' '<b>' '``'");
}

/// What a renderer makes of each real run's document: as many rows as steps, each with all its cells, and in the cells what
/// the JSON lines of the same run have.
#[test]
fn documents_of_real_runs_render_as_they_read() {
    let mut compared = 0;
    for (path, markdown) in real_runs("md") {
        let (rows, _) = rendered(&markdown);
        assert!(rows.iter().all(|row| row.len() == Column::DOCUMENT.len()), "{}", path.display());
        let rows: Vec<_> = rows.iter().filter(|row| row[0].parse::<u64>().is_ok()).collect();
        let json = std::fs::read_to_string(path.with_extension("jsonl")).unwrap();
        let steps: Vec<serde_json::Value> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let steps: Vec<_> = steps.iter().filter(|line| line["type"] == "step").collect();
        assert_eq!(rows.len(), steps.len(), "{}", path.display());
        for (row, step) in rows.iter().zip(steps) {
            assert_eq!(row[0], step["n"].to_string());
            let symbol = step["symbol"].as_str().unwrap_or_default();
            let shortened = symbol.chars().count() > 60 && row[1].starts_with('…');
            assert!(shortened || row[1].starts_with(symbol), "{}: {row:?} {symbol}", path.display());
            let text = row[2].trim_start_matches(['\u{2003}', '⋯']);
            let text = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            let whole = step["text"].as_str().unwrap();
            let shortened = whole.chars().count() > 80 && text.contains('…');
            assert!(shortened || text.starts_with(whole), "{}: {row:?} {step}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared} rows");
}

#[test]
fn a_fenced_listing_is_one_code_block() {
    let trace = mixed().read();
    let mut out = Vec::new();
    markdown::write_fenced(&trace, &Options::default(), &mut out).unwrap();
    let markdown = String::from_utf8(out).unwrap();
    let text: Vec<_> = Parser::new(&markdown)
        .filter_map(|event| match event {
            Event::Text(text) => Some(text.into_string()),
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => None,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(text.concat(), text_of(&trace, &Options::default()));
}

#[test]
fn each_csv_record_has_all_fields() {
    let csv = csv_of(&mixed().read(), &Options::default());
    let fields = |record: &str| {
        let mut quoted = false;
        record
            .chars()
            .filter(|c| (*c == '"').then(|| quoted = !quoted).is_none() && *c == ',' && !quoted)
            .count()
    };
    let counts: Vec<_> = csv.lines().map(fields).collect();
    assert!(counts.iter().all(|count| *count == Column::TABLE.len()), "{counts:?}\n{csv}");
}

#[test]
fn the_field_of_markers_is_a_column_like_others() {
    let columns = vec![Column::Markers, Column::Ordinal];
    let csv = csv_of(&mixed().read(), &Options { columns, ..Options::default() });
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[0], "markers,n");
    assert!(lines[4].starts_with("\"native: puts@plt") && lines[4].ends_with("\",4"), "{csv}");
    let last = lines.iter().rev().find(|line| line.contains("leave")).unwrap();
    assert!(last.ends_with(','), "a record of markers alone has no number: {last}");
}

#[test]
fn selections_keep_a_calls_frame() {
    let trace = mixed().read();
    let listed = |selection: Selection| {
        let columns = vec![Column::Ordinal, Column::Instruction];
        let text = text_of(&trace, &Options { selection, columns, summary: false, ..Options::default() });
        let rows = text.lines().filter(|line| line.starts_with("   ") && !line.ends_with("instruction"));
        rows.map(|row| row.trim().to_owned()).collect::<Vec<_>>()
    };
    let all = Selection::default;
    assert_eq!(
        listed(Selection { ranges: vec![3..=4], calls: vec![1..=1], ..all() }),
        [
            "3  call puts@plt",
            "── native: puts@plt (a.out+0x1030), stepped again from work+0xd",
            "4  mov ecx,5",
        ]
    );
    assert_eq!(listed(Selection { only: vec![Only::Calls], calls: vec![1..=1], ..all() }).len(), 5);
    assert_eq!(listed(Selection { only: vec![Only::Syscalls], calls: vec![1..=1], ..all() }), ["7  syscall"]);
    assert_eq!(
        listed(Selection { functions: vec!["wor?".into()], last: Some(2), ..all() }),
        [
            "14  pop rbx",
            "15  ret",
            "── lost: control was back at work+0x1b (a.out+0x117b) unseen; the stop at gcd+0x4 (a.out+0x113d) never came",
        ]
    );
    assert_eq!(
        listed(Selection { depths: vec![12..=12], ..all() }).len(),
        2,
        "the row and what ended the call"
    );
    assert!(listed(Selection { threads: vec![1], ..all() }).is_empty());
}

#[test]
fn golden_rows_of_the_explorer() {
    golden_rows("mixed.html.rows", &Options::default());
    golden_rows("mixed-stable.html.rows", &Options { values: Values::Stable, ..Options::default() });
}

fn golden_rows(name: &str, options: &Options) {
    let mut out = Vec::new();
    html::write(&mixed().read(), options, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let rows = page.split("id=\"data-rows\">\n").nth(1).unwrap().split("</script>").next().unwrap();
    let tables = page.split("id=\"data-tables\">").nth(1).unwrap().split("</script>").next().unwrap();
    compare(name, &format!("{rows}{tables}\n"));
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded from anywhere");
}

//! The file around the data.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::row_lines::RowLines;
use crate::check::summary::Summary;
use crate::listing::loops::Folds;
use crate::listing::options::{Options, Values};
use crate::listing::palette::Palette;
use crate::listing::shown::Shown;
use crate::listing::text_frame;
use crate::record::reader::Trace;

const STYLE: &str = include_str!("explorer.css");
const BODY: &str = include_str!("page.html");
/// One script, part by part; `main.js` runs last.
const SCRIPT: [&str; 5] = [
    include_str!("script/data.js"),
    include_str!("script/list.js"),
    include_str!("script/memory.js"),
    include_str!("script/search.js"),
    include_str!("script/main.js"),
];

/// Nothing may be loaded, from wherever the page is opened.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Writes the page and returns what the whole trace comes to. Columns and colours make no difference, and loops are
/// folded by who looks at it.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, options: &Options, out: &mut impl Write) -> io::Result<Summary> {
    let (functions, command) = text_frame::subject(trace, options.values);
    let subject = match (functions.is_empty(), command.is_empty()) {
        (false, false) => format!("{functions} in {command}"),
        _ => functions + &command,
    };
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"generator\" content=\"{}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{BODY}\
         <script type=\"text/plain\" id=\"data-rows\">\n",
        generator(options.values),
        escaped(&subject),
    )?;
    let mut rows = Shown::new(trace, options);
    let mut lines = RowLines::new(trace);
    let mut folds = Folds::default();
    for row in rows.by_ref() {
        out.write_all(lines.line(&row).as_bytes())?;
        folds.follow(&row);
    }
    folds.finish();
    let summary = rows.finish();
    writeln!(out, "</script>")?;
    write_data(out, "data-tables", &lines.tables(&folds, options.source.as_deref()))?;
    let about = about(trace, &summary, options)?;
    write_data(
        out,
        "data-head",
        &json!({"subject": subject, "about": about, "memory": trace.header.memory}),
    )?;
    let script = SCRIPT.concat();
    write!(out, "<script>\n\"use strict\";\n(() => {{\n{script}}})();\n</script>\n</body>\n</html>\n")?;
    Ok(summary)
}

const fn generator(values: Values) -> &'static str {
    match values {
        Values::Recorded => concat!("overstep ", env!("CARGO_PKG_VERSION")),
        Values::Stable => "overstep",
    }
}

/// Figures, and of a single run engine and machine, in one line.
fn about(trace: &Trace, summary: &Summary, options: &Options) -> io::Result<String> {
    let header = &trace.header;
    let mut figures = Vec::new();
    let plain = Options { palette: Palette::PLAIN, ..options.clone() };
    text_frame::write_summary_of(summary, &plain, &mut figures)?;
    text_frame::write_damage(trace, &Palette::PLAIN, &mut figures)?;
    let figures = String::from_utf8_lossy(&figures).trim_end().replace('\n', " · ");
    if options.values == Values::Stable {
        return Ok(figures);
    }
    Ok(format!(
        "{figures} · {} · Linux {} · {} · overstep {}",
        text_frame::engine(trace),
        header.kernel,
        header.cpu.name,
        header.overstep
    ))
}

fn write_data(out: &mut impl Write, id: &str, data: &impl Serialize) -> io::Result<()> {
    writeln!(out, "<script type=\"application/json\" id=\"{id}\">{}</script>", script_json(data)?)
}

/// JSON that may stand in a script element: nothing in it ends the element or begins a comment.
pub(super) fn script_json(data: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_ends_its_element() {
        assert_eq!(script_json(&"</script><!--").unwrap(), "\"\\u003c/script>\\u003c!--\"");
        assert_eq!(escaped("<b>&"), "&lt;b&gt;&amp;");
    }
}

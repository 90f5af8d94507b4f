//! Text made safe for CommonMark, so that it reads as it is.

/// What does something in the middle of a line (CommonMark 0.31, section 2.4), the bar of a table, and the dollar
/// that some renderers take for a formula.
const SPECIAL: &str = "\\`*_[]<>|~&$";

/// Appends plain words; no character of them means anything to a renderer.
pub fn push_words(out: &mut String, words: &str) {
    for c in words.chars() {
        if SPECIAL.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Appends a code span for a cell of a table: there a bar ends the cell even inside a span, unless it is escaped (GitHub
/// Flavored Markdown, section 4.10).
pub fn push_cell_code(out: &mut String, code: &str) {
    push_code(out, &code.replace('|', "\\|"));
}

/// Appends a code span, in a paragraph: there a backslash is one.
pub fn push_code(out: &mut String, code: &str) {
    if code.is_empty() {
        return;
    }
    let fence = longest_run(code) + 1;
    let fence = "`".repeat(fence);
    let padding = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    out.push_str(&fence);
    out.push_str(padding);
    out.push_str(code);
    out.push_str(padding);
    out.push_str(&fence);
}

/// Backticks in the longest run of them.
fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser};

    use super::*;

    /// What a renderer shows, with code in brackets and cells apart by lines.
    fn shown(markdown: &str) -> String {
        let mut shown = String::new();
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_MATH) {
            match event {
                Event::Text(text) => shown.push_str(&text),
                Event::Code(code) => shown.push_str(&format!("[{code}]")),
                Event::End(pulldown_cmark::TagEnd::TableCell) => shown.push('\n'),
                Event::Start(_) | Event::End(_) => {}
                other => panic!("{other:?} in {markdown:?}"),
            }
        }
        shown
    }

    /// Names as compilers, programs and people make them.
    const NAMES: &str = "[a-z<>(),&*:`|\\\\$_~ \\[\\]#+=-]{0,24}[a-z)>`|]";

    proptest! {
        #[test]
        fn a_cell_shows_the_name(name in NAMES) {
            prop_assume!(!name.starts_with(' ') && !name.contains("\\|"));
            let mut cell = String::new();
            push_cell_code(&mut cell, &name);
            let table = format!("| a | b |\n| -- | -- |\n| {cell} | x |\n");
            prop_assert_eq!(shown(&table), format!("a\nb\n[{name}]\nx\n"));
        }

        #[test]
        fn a_paragraph_shows_the_name(name in NAMES) {
            prop_assume!(!name.starts_with(' '));
            let mut code = String::new();
            push_code(&mut code, &name);
            prop_assert_eq!(shown(&format!("in {code} is")), format!("in [{name}] is"));
            let mut words = String::from("in ");
            push_words(&mut words, &name);
            prop_assert_eq!(shown(&words), format!("in {name}"));
        }
    }
}

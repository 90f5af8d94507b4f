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

/// Appends a code span, for a cell of a table too: there a bar ends the cell even inside a span, unless it is escaped
/// (GitHub Flavored Markdown, section 4.10).
pub fn push_code(out: &mut String, code: &str) {
    if code.is_empty() {
        return;
    }
    let fence = longest_run(code) + 1;
    let fence = "`".repeat(fence);
    let padding = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    out.push_str(&fence);
    out.push_str(padding);
    out.push_str(&code.replace('|', "\\|"));
    out.push_str(padding);
    out.push_str(&fence);
}

/// Backticks in the longest run of them.
fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

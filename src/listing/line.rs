//! One line of terminal text with aligned columns.

/// A line under construction: its text, and how many terminal columns it fills.
///
/// Escape sequences take no column; every other character is counted as one, which holds for the Latin names and
/// the few arrows and dashes that listings consist of.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    width: usize,
}

impl Line {
    /// The text so far, escape sequences included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Columns filled so far.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Starts an empty line in the same allocation.
    pub fn clear(&mut self) {
        self.text.clear();
        self.width = 0;
    }

    /// Appends visible text.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self.width += if text.is_ascii() { text.len() } else { text.chars().count() };
        self
    }

    /// Appends what `write` appends to the text, and counts it.
    pub fn push_with(&mut self, write: impl FnOnce(&mut String)) -> &mut Self {
        let start = self.text.len();
        write(&mut self.text);
        self.width += self.text[start..].chars().count();
        self
    }

    /// Appends a number in decimal.
    pub fn push_decimal(&mut self, number: u64) -> &mut Self {
        self.push_decimal_right(number, 0)
    }

    /// Appends a number in decimal, its last digit just before `column`.
    pub fn push_decimal_right(&mut self, number: u64, column: usize) -> &mut Self {
        let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
        self.spaces(column.saturating_sub(self.width + digits));
        for place in (0..digits as u32).rev() {
            self.text.push(char::from(b'0' + (number / 10_u64.pow(place) % 10) as u8));
        }
        self.width += digits;
        self
    }

    /// Appends an escape sequence, or nothing.
    pub fn style(&mut self, sequence: &str) -> &mut Self {
        self.text.push_str(sequence);
        self
    }

    /// Fills with spaces up to `column`. Text that already reaches beyond it is set off by two spaces, so that
    /// one long cell shifts its own line only, and no further than it must.
    pub fn stop(&mut self, column: usize) -> &mut Self {
        self.spaces(if self.width < column || self.width == 0 { column - self.width } else { 2 })
    }

    /// Appends `count` spaces.
    pub fn spaces(&mut self, count: usize) -> &mut Self {
        const SPACES: &str = "                                                                ";
        let mut left = count;
        while left > 0 {
            let now = left.min(SPACES.len());
            self.text.push_str(&SPACES[..now]);
            left -= now;
        }
        self.width += count;
        self
    }

    /// Ends the line and starts another one behind it.
    pub fn feed(&mut self) {
        self.text.push('\n');
        self.width = 0;
    }

    /// Ends the line without trailing spaces, which a listing kept in version control must not have.
    pub fn finish(&mut self) -> &str {
        let kept = self.text.trim_end_matches(' ').len();
        self.width -= self.text.len() - kept;
        self.text.truncate(kept);
        self.text.push('\n');
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_what_is_seen() {
        let mut line = Line::default();
        line.style("\x1b[1m").push("a→b").style("\x1b[0m").stop(6).push("c");
        assert_eq!(line.as_str(), "\x1b[1ma→b\x1b[0m   c");
        assert_eq!(line.width(), 7);
    }

    #[test]
    fn a_long_cell_pushes_on_and_the_next_stop_catches_up() {
        let mut line = Line::default();
        line.push("abcdefgh").stop(4).push("x").stop(16).push("y");
        assert_eq!(line.as_str(), "abcdefgh  x     y");
    }

    #[test]
    fn no_space_is_left_at_the_end() {
        let mut line = Line::default();
        assert_eq!(line.push("a").stop(9).finish(), "a\n");
    }
}

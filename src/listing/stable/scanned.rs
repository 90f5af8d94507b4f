//! What scanf(3) and its kin leave in memory, by their format.

use super::shadow::Shadow;
use super::tag::Tag;

/// The functions, and which argument the format is.
const FUNCTIONS: [(&str, usize); 3] = [("fscanf", 1), ("scanf", 0), ("sscanf", 1)];

/// The longest text without a width that is taken for read.
const TEXT: u64 = 64;

/// A format: which argument the first output is, and the size of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    first: usize,
    sizes: Vec<u64>,
}

/// Which argument of the function is a format.
#[must_use]
pub fn format_of(name: &str) -> Option<usize> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, at)| *at)
}

/// Whether the function reads a file.
#[must_use]
pub fn reads_outside(name: &str) -> bool {
    matches!(name, "fscanf" | "scanf")
}

impl Scanned {
    /// Reads the format that the argument `at` is.
    #[must_use]
    pub fn of(at: usize, format: &str) -> Self {
        let mut sizes = Vec::new();
        let mut rest = format;
        while let Some(start) = rest.find('%') {
            rest = &rest[start + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                rest = after;
                continue;
            }
            let kept = !rest.starts_with('*');
            rest = rest.trim_start_matches('*');
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let width: Option<u64> = rest[..digits].parse().ok();
            rest = rest[digits..].trim_start_matches('m');
            let letters = rest.len() - rest.trim_start_matches(['h', 'l', 'q', 'j', 'z', 't', 'L']).len();
            let (length, behind) = rest.split_at(letters);
            let size = match (behind.chars().next(), length) {
                (Some('s' | '['), _) => width.map_or(TEXT, |width| width.saturating_add(1)),
                (Some('c'), _) => width.unwrap_or(1),
                (Some('p'), _) => 8,
                (Some(_), "hh") => 1,
                (Some(_), "h") => 2,
                (Some(_), "L") => 16,
                (Some(_), "") => 4,
                (Some(_), _) => 8,
                (None, _) => break,
            };
            if kept {
                sizes.push(size);
            }
            rest = behind;
        }
        Self { first: at + 1, sizes }
    }

    /// Marks all of it as from outside, as far as the arguments are in registers.
    pub fn fill(&self, arguments: &[Option<u64>; 6], memory: &mut Shadow) {
        for (address, size) in arguments.iter().skip(self.first).zip(&self.sizes) {
            if let Some(address) = address.filter(|address| *address != 0) {
                memory.fill(address, *size, Some(Tag::Outside));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_conversion() {
        let sizes = |format| Scanned::of(1, format).sizes;
        assert_eq!(sizes("%d %31s %*d %lf%%%hhu"), [4, 32, 8, 1]);
        assert_eq!(sizes("%[^,],%c%Lf %zu"), [TEXT, 1, 16, 8]);
        assert_eq!(sizes("no %"), [0; 0]);
        assert_eq!(format_of("sscanf"), Some(1));
    }

    #[test]
    fn outputs_are_from_outside() {
        let mut memory = Shadow::default();
        let arguments = [Some(0x5000), Some(0x6000), Some(0x7000), Some(0x8000), None, None];
        Scanned::of(1, "%d %3s").fill(&arguments, &mut memory);
        assert_eq!((memory.outside_from(0x7000), memory.outside_from(0x8000)), (4, 4));
    }
}

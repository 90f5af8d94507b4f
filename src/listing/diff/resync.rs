//! Where two sequences go on alike.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::item::Key;

/// Items in a row that have to agree: a single one does in any loop.
pub const ALIKE: usize = 6;

/// How many items of either side to pass so that the next [`ALIKE`] agree, or all that is left of both; as few as
/// possible in sum. `None` where they do not meet.
#[must_use]
pub fn meet(a: &[Key], b: &[Key]) -> Option<(usize, usize)> {
    // The shorter the rest, the fewer there are to agree: down to one item before the end of both.
    let window = ALIKE.min(a.len()).min(b.len());
    if window == 0 {
        return None;
    }
    let mut first: HashMap<u64, usize> = HashMap::new();
    for (index, keys) in a.windows(window).enumerate() {
        first.entry(hash(keys)).or_insert(index);
    }
    let mut best: Option<(usize, usize)> = None;
    for (j, keys) in b.windows(window).enumerate() {
        if best.is_some_and(|(i, k)| j >= i + k) {
            break;
        }
        let found = first.get(&hash(keys)).copied().filter(|i| a[*i..i + window] == *keys);
        if let Some(i) = found.filter(|i| best.is_none_or(|(a, b)| i + j < a + b)) {
            best = Some((i, j));
        }
    }
    best.or_else(|| common_end(a, b))
}

/// The longest end that both share, for rests that are shorter than a window.
fn common_end(a: &[Key], b: &[Key]) -> Option<(usize, usize)> {
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (same > 0).then(|| (a.len() - same, b.len() - same))
}

fn hash(keys: &[Key]) -> u64 {
    let mut hasher = DefaultHasher::new();
    keys.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(letters: &str) -> Vec<Key> {
        letters.chars().map(|c| Key::Elsewhere(c.to_string(), 0)).collect()
    }

    #[test]
    fn as_few_as_possible_are_passed() {
        assert_eq!(meet(&keys("xyabcdefgh"), &keys("abcdefgh")), Some((2, 0)));
        assert_eq!(meet(&keys("abcdefgh"), &keys("zzzabcdefgh")), Some((0, 3)));
        assert_eq!(meet(&keys("xxabcdefxx"), &keys("yabcdefyyy")), Some((2, 1)));
        assert_eq!(meet(&keys("abcdefg"), &keys("hijklmn")), None);
        assert_eq!(meet(&keys(""), &keys("abc")), None);
        assert_eq!(meet(&keys("xyzabc"), &keys("uvwxyabc")), Some((3, 5)), "the end of both");
    }
}

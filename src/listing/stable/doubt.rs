//! Memory that may hold something made of what came from outside, because a function that was given such ran out of sight.

use std::ops::Range;
use std::rc::Rc;

/// How far an object may reach from where an argument points to.
const REACH: u64 = 256;

/// Where what nobody wrote in sight is doubtful.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    /// Wherever such a function may have pointers to: all but constants and the callers' frames.
    everywhere: bool,
    /// Where its arguments led.
    places: Vec<Range<u64>>,
    /// What modules map without the right to write.
    constants: Rc<[Range<u64>]>,
    /// The callers' frames.
    callers: Range<u64>,
}

impl Doubts {
    #[must_use]
    pub fn new(constants: Rc<[Range<u64>]>) -> Self {
        Self { constants, ..Self::default() }
    }

    /// Begins a call with this stack pointer, in which nothing has run yet.
    pub fn begin_call(&mut self, callers: Range<u64>) {
        *self = Self { callers, ..Self::new(Rc::clone(&self.constants)) };
    }

    /// A function has run that may have written anywhere, and at this argument of its in any case; where that is.
    pub fn add(&mut self, argument: u64) -> Range<u64> {
        let place = argument..argument.saturating_add(REACH);
        if !self.places.contains(&place) {
            self.places.push(place.clone());
        }
        place
    }

    /// A function has run that may have written anywhere.
    pub const fn begin(&mut self) {
        self.everywhere = true;
    }

    #[must_use]
    pub fn is_doubtful(&self, address: u64) -> bool {
        self.everywhere
            && (self.places.iter().any(|place| place.contains(&address))
                || !self.callers.contains(&address)
                    && !self.constants.iter().any(|range| range.contains(&address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_the_callers_frames_are_beyond_doubt() {
        let mut doubts = Doubts::new([0x1000..0x2000, 0xa000..0xb000].into());
        doubts.begin_call(0x8000..0x9000);
        assert!(!doubts.is_doubtful(0x5000));
        doubts.begin();
        assert!(doubts.is_doubtful(0x5000));
        assert!(!doubts.is_doubtful(0x1800) && !doubts.is_doubtful(0x8800));
        assert_eq!(doubts.add(0x8800), 0x8800..0x8900);
        assert!(doubts.is_doubtful(0x8800) && !doubts.is_doubtful(0x8900));
        doubts.begin_call(0x8000..0x9000);
        assert!(!doubts.is_doubtful(0x5000));
    }
}

//! The model's dice: a small generator with a fixed algorithm, so that one seed means one run on every machine.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of the `stream`-th event: events do not disturb each other's numbers.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self { state: seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95) };
        random.draw();
        random
    }

    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Evenly from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        let width = u64::from(high - low) + 1;
        low + (self.draw() % width) as u32
    }

    /// True with `probability`.
    pub fn happens(&mut self, probability: f64) -> bool {
        // The upper 53 bits are a fraction below one.
        ((self.draw() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_run_and_streams_differ() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.draw(), random.draw(), random.draw()]
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn chances_are_about_what_was_asked() {
        let mut random = Random::new(1, 0);
        let hits = (0..10_000).filter(|_| random.happens(0.25)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| (3..=5).contains(&random.between(3, 5))));
        assert!(!(0..1000).any(|_| random.happens(0.0)));
        assert!((0..1000).all(|_| random.happens(1.0)));
    }
}

//! What the emulated PMU gets wrong, as real ones do: the model, chosen on the command line.

use std::fmt;

use super::random::Random;

/// How many user instructions retire between the one that overflows and the signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Skid {
    /// Always as many.
    Fixed(u32),
    /// Evenly between the two, both included.
    Uniform { low: u32, high: u32 },
    /// Another one each time with this probability of ending, as failures before the first success.
    Geometric { end: f64 },
}

impl Skid {
    pub fn draw(self, random: &mut Random) -> u32 {
        match self {
            Self::Fixed(skid) => skid,
            Self::Uniform { low, high } => random.between(low, high),
            Self::Geometric { end } => {
                let mut skid = 0;
                while skid < LONGEST_SKID && !random.happens(end) {
                    skid += 1;
                }
                skid
            }
        }
    }
}

/// A geometric skid has no bound of its own.
const LONGEST_SKID: u32 = 100_000;

/// Everything that can be wrong with it; the default is a PMU that is exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub skid: Skid,
    /// One count too many after as many instructions, as interrupts and page faults cause.
    pub overcount: Option<u64>,
    /// Smaller periods are EINVAL.
    pub min_period: Option<u64>,
    /// No stop between `cmp` or `test` and the conditional branch behind it.
    pub fuse: Fusion,
    /// The event is held for the rest of a tick after as many overflows in it.
    pub throttle: Option<u32>,
    /// Of each tick, only as many instructions are counted.
    pub multiplex: Option<u64>,
    /// How probable it is that an overflow's signal gets lost.
    pub lose: f64,
    pub at_limit: AtLimit,
    pub iret: Iret,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusion {
    None,
    CompareAndBranch,
}

/// What the signal says when the REFRESH limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLimit {
    PollHup,
    /// Linux 6.16.0 to 6.16.7.
    PollIn,
}

/// Whether the return from a signal handler leaves one more count, as IRET does on most x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iret {
    NotCounted,
    Counted,
}

/// Throttling's tick, in instructions of the thread: a wall clock would give another run each time.
pub const TICK: u64 = 10_000;

impl Default for Model {
    fn default() -> Self {
        Self {
            skid: Skid::Fixed(0),
            overcount: None,
            min_period: None,
            fuse: Fusion::None,
            throttle: None,
            multiplex: None,
            lose: 0.0,
            at_limit: AtLimit::PollHup,
            iret: Iret::NotCounted,
            seed: 1,
        }
    }
}

impl fmt::Display for Skid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(skid) => write!(f, "{skid}"),
            Self::Uniform { low, high } => write!(f, "uniform:{low}-{high}"),
            Self::Geometric { end } => write!(f, "geometric:{end}"),
        }
    }
}

/// One line, in the words of the options.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "skid {}", self.skid)?;
        let mut and = |name: &str, value: Option<String>| match value {
            Some(value) => write!(f, ", {name} {value}"),
            None => Ok(()),
        };
        and("overcount", self.overcount.map(|it| it.to_string()))?;
        and("min-period", self.min_period.map(|it| it.to_string()))?;
        and("throttle", self.throttle.map(|it| it.to_string()))?;
        and("multiplex", self.multiplex.map(|it| it.to_string()))?;
        and("lose", (self.lose > 0.0).then(|| self.lose.to_string()))?;
        let flags = [
            (self.fuse == Fusion::CompareAndBranch, "fuse"),
            (self.at_limit == AtLimit::PollIn, "hup-bug"),
            (self.iret == Iret::Counted, "iret-counts"),
        ];
        for (set, name) in flags {
            if set {
                write!(f, ", {name}")?;
            }
        }
        write!(f, ", seed {}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_by_its_options() {
        assert_eq!(Model::default().to_string(), "skid 0, seed 1");
        let model = Model {
            skid: Skid::Uniform { low: 2, high: 9 },
            overcount: Some(1000),
            lose: 0.25,
            fuse: Fusion::CompareAndBranch,
            seed: 7,
            ..Model::default()
        };
        assert_eq!(model.to_string(), "skid uniform:2-9, overcount 1000, lose 0.25, fuse, seed 7");
    }

    #[test]
    fn a_geometric_skid_has_the_mean_of_its_probability() {
        let mut random = Random::new(3, 0);
        let sum: u32 = (0..10_000).map(|_| Skid::Geometric { end: 0.25 }.draw(&mut random)).sum();
        // Mean (1 - p) / p = 3.
        assert!((28_500..31_500).contains(&sum), "{sum}");
    }
}

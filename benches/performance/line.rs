//! One result: ours, the peer's, their ratio, and whether the target holds.

/// What a ratio (or, without a peer, a figure) is held against.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Stated, not judged.
    None,
}

impl Target {
    fn verdict(self, figure: f64) -> (String, &'static str) {
        let judge = |holds| if holds { "holds" } else { "does not hold" };
        match self {
            Self::AtMost(most) => (format!("≤ {most}"), judge(figure <= most)),
            Self::AtLeast(least) => (format!("≥ {least}"), judge(figure >= least)),
            Self::None => ("-".to_owned(), "-"),
        }
    }
}

pub fn print_heading() {
    row(["name", "ours", "peer", "ratio", "target", "", ""]);
}

/// Prints `ours / peer` against `target`; both in `unit`. `basis` says what was counted and what the peer is.
pub fn ratio(name: &str, ours: f64, peer: f64, unit: &str, target: Target, basis: &str) {
    let ratio = ours / peer;
    let (limit, verdict) = target.verdict(ratio);
    let figure = |value: f64| format!("{value:.1} {unit}");
    row([name, &figure(ours), &figure(peer), &format!("{ratio:.3}"), &limit, verdict, basis]);
}

/// Prints a figure that is judged by itself.
pub fn figure(name: &str, value: f64, unit: &str, target: Target, basis: &str) {
    let (limit, verdict) = target.verdict(value);
    row([name, &format!("{value:.2} {unit}"), "-", "-", &limit, verdict, basis]);
}

/// Says why a line is missing.
pub fn skip(name: &str, reason: &str) {
    println!("{name:<26} SKIP {reason}");
}

fn row([name, ours, peer, ratio, target, verdict, basis]: [&str; 7]) {
    println!("{name:<26} {ours:>16} {peer:>16} {ratio:>7} {target:>10}  {verdict:<14} {basis}");
}

//! What there is to trace in overstep itself: small functions with names a reader knows.

#![allow(unsafe_code, reason = "exported names: a listing shows `demo_gcd`, not a path of five components")]

/// Greatest common divisor by Euclid: a loop with a division.
#[inline(never)]
// SAFETY: nothing else in this executable has the name.
#[unsafe(export_name = "demo_gcd")]
pub extern "C" fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Fibonacci by definition: recursion, so that depth shows.
#[inline(never)]
// SAFETY: nothing else in this executable has the name.
#[unsafe(export_name = "demo_fibonacci")]
pub extern "C" fn fibonacci(n: u64) -> u64 {
    // Through a pointer the optimiser cannot see, or one of the two calls becomes a loop.
    let again = std::hint::black_box(fibonacci as extern "C" fn(u64) -> u64);
    if n < 2 { n } else { again(n - 1) + again(n - 2) }
}

/// Steps of the Collatz sequence down to 1: branches that depend on data.
#[inline(never)]
// SAFETY: nothing else in this executable has the name.
#[unsafe(export_name = "demo_collatz")]
pub extern "C" fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_compute_what_they_are_named_for() {
        assert_eq!(gcd(48, 18), 6);
        assert_eq!(fibonacci(7), 13);
        assert_eq!(collatz(6), 8);
    }
}

//! Bounds, quantiles and goodness of fit, by a statistics library.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF};
use statrs::statistics::{Data, OrderStatistics};

/// Signals that "synchronous", unqualified, needs.
pub const SYNCHRONOUS: u64 = 10_000;

/// The one-sided upper 95 % bound on a rate of which `misses` were seen in `n` trials (Clopper and Pearson, 1934;
/// about 3/n for none).
#[must_use]
pub fn miss_rate_95(misses: u64, n: u64) -> f64 {
    if n == 0 || misses >= n {
        return 1.0;
    }
    let beta = Beta::new(misses as f64 + 1.0, (n - misses) as f64);
    beta.map_or(1.0, |beta| beta.inverse_cdf(0.95))
}

/// The `q`-quantile of `values`, interpolated as statrs does; `None` of none.
#[must_use]
pub fn quantile(values: Vec<f64>, q: f64) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values).quantile(q))
}

/// The probability of a fit at least as bad as that of `observed` counts to `expected` ones (Pearson's chi-squared
/// test). Cells that expect fewer than five are put together with their neighbour; `None` where fewer than two cells
/// are left.
#[must_use]
pub fn chi_squared(observed: &[u64], expected: &[f64]) -> Option<f64> {
    const LEAST: f64 = 5.0;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (seen, wanted) in observed.iter().zip(expected) {
        open = (open.0 + *seen as f64, open.1 + wanted);
        if open.1 >= LEAST {
            cells.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = cells.last_mut() {
        *last = (last.0 + open.0, last.1 + open.1);
    }
    let freedom = cells.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let statistic: f64 = cells.iter().map(|(seen, wanted)| (seen - wanted).powi(2) / wanted).sum();
    ChiSquared::new(freedom as f64).ok().map(|distribution| distribution.sf(statistic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_miss_in_n_is_about_three_in_n() {
        let bound = miss_rate_95(0, 20_000);
        let exact = 1.0 - 0.05f64.powf(1.0 / 20_000.0);
        assert!((bound - exact).abs() < 1e-9, "{bound} {exact}");
        assert!((bound * 20_000.0 - 3.0).abs() < 0.01);
        assert!(miss_rate_95(1, 20_000) > bound);
        assert_eq!((miss_rate_95(0, 0), miss_rate_95(5, 5)), (1.0, 1.0));
    }

    #[test]
    fn chi_squared_tells_a_fair_die_from_a_loaded_one() {
        let fair = chi_squared(&[98, 103, 99, 101, 97, 102], &[100.0; 6]).unwrap();
        let loaded = chi_squared(&[150, 90, 90, 90, 90, 90], &[100.0; 6]).unwrap();
        assert!(fair > 0.9 && loaded < 0.001, "{fair} {loaded}");
        assert_eq!(chi_squared(&[1, 2], &[1.0, 2.0]), None, "too few to judge");
    }

    #[test]
    fn quantiles_of_a_known_sample() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(values, 0.5), Some(50.0));
        assert_eq!(quantile(Vec::new(), 0.5), None);
    }
}

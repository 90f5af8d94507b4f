//! How often each whole number came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics;

/// Counts by value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(pub BTreeMap<i64, u64>);

impl Histogram {
    pub fn add(&mut self, value: i64) {
        *self.0.entry(value).or_default() += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        for (value, times) in &other.0 {
            *self.0.entry(*value).or_default() += times;
        }
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    #[must_use]
    pub fn of(&self, value: i64) -> u64 {
        self.0.get(&value).copied().unwrap_or(0)
    }

    #[must_use]
    pub fn max(&self) -> Option<i64> {
        self.0.keys().next_back().copied()
    }

    #[must_use]
    pub fn min(&self) -> Option<i64> {
        self.0.keys().next().copied()
    }

    /// The most frequent value, the smallest of several.
    #[must_use]
    pub fn mode(&self) -> Option<i64> {
        self.0
            .iter()
            .max_by_key(|(value, times)| (**times, std::cmp::Reverse(**value)))
            .map(|(value, _)| *value)
    }

    /// The `q`-quantile.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let values = self.0.iter().flat_map(|(value, times)| (0..*times).map(|_| *value as f64));
        statistics::quantile(values.collect(), q)
    }
}

impl FromIterator<i64> for Histogram {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut histogram = Self::default();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }
}

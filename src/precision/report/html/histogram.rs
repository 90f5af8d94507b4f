//! A row's skid as bars.

use maud::{Markup, html};

use crate::precision::judge::Histogram;
use crate::precision::report::sentences::grouped;

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 120.0;
/// Room for the numbers above the highest bar, and below the axis.
const ABOVE: f64 = 16.0;
const BELOW: f64 = 18.0;
/// More distances than this are put together, so many to a bar.
const BARS: i64 = 24;

/// Bars by instructions past the expected one; heights by the square root, so that one in ten thousand still shows.
pub(super) fn histogram(name: &str, skid: &Histogram) -> Markup {
    let (low, high) = (skid.min().unwrap_or(0), skid.max().unwrap_or(0));
    let step = ((high - low + 1) as u64).div_ceil(BARS as u64) as i64;
    let mut bars: Vec<(i64, u64)> = Vec::new();
    for from in (low..=high).step_by(step as usize) {
        bars.push((from, (from..from + step).map(|value| skid.of(value)).sum()));
    }
    let most = bars.iter().map(|(_, times)| *times).max().unwrap_or(1).max(1) as f64;
    let slot = WIDTH / bars.len().max(6) as f64;
    let floor = HEIGHT - BELOW;
    html! {
        figure {
            figcaption { (name) }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) width="100%" role="img"
                aria-label=(format!("{name}: signals by instructions past the expected one")) {
                line class="axis" x1="0" x2=(WIDTH) y1=(floor) y2=(floor) {}
                @for (n, (from, times)) in bars.iter().enumerate() {
                    @let tall = (*times as f64 / most).sqrt() * (floor - ABOVE);
                    @let x = n as f64 * slot;
                    @let middle = x + slot / 2.0;
                    @if *times > 0 {
                        rect class="bar" x=(format!("{:.1}", x + 2.0)) y=(format!("{:.1}", floor - tall.max(1.0)))
                            width=(format!("{:.1}", slot - 4.0)) height=(format!("{:.1}", tall.max(1.0))) {
                            title { (grouped(*times)) " signals " (from) " instructions past" }
                        }
                    }
                    @if bars.len() <= 10 {
                        text x=(format!("{middle:.1}")) y=(format!("{:.1}", floor - tall - 4.0)) text-anchor="middle" {
                            (grouped(*times))
                        }
                    }
                    @if bars.len() <= 10 || n % 4 == 0 {
                        text class="faint" x=(format!("{middle:.1}")) y=(HEIGHT - 4.0) text-anchor="middle" { (from) }
                    }
                }
            }
        }
    }
}

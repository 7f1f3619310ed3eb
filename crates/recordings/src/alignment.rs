//! Which time of one file is which of another, if neither says.

use crate::outages::Outage;
use crate::statistics::median;

/// Largest difference of an outage and a peak that belong together, in milliseconds.
const AGREE_MS: f64 = 50.0;
/// Fewest that must agree.
const LEAST: usize = 3;
/// How far a peak rises above the median, in milliseconds.
const RISE_MS: f64 = 15.0;
/// Shortest time between two peaks, in milliseconds.
const APART_MS: f64 = 1_000.0;

/// How much later than the trace the delays began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// In milliseconds; zero if they began together, to the precision of an outage.
    pub offset_ms: f64,
    /// Outages at which delays have their peaks.
    pub agree: usize,
    /// Outages in all.
    pub of: usize,
}

/// Finds the offset of delays (time and delay in milliseconds) against a trace with these outages.
/// `None` if fewer than three outages have a peak of the delay with the same offset.
pub fn by_outages(delays: &[(f64, f64)], outages: &[Outage]) -> Option<Found> {
    let mut peaks = peaks(delays);
    peaks.sort_by(f64::total_cmp);
    let middle = |outage: &Outage| f64::from(outage.at_ms) + f64::from(outage.ms) / 2.0;
    let mut best: Option<Found> = None;
    for outage in outages.iter().take(200) {
        for peak in peaks.iter().take(1000) {
            let offset = middle(outage) - peak;
            let differences: Vec<f64> = outages
                .iter()
                .filter_map(|outage| {
                    let wanted = middle(outage) - offset;
                    // Of the peaks, only those beside the wanted place may be the nearest.
                    let after = peaks.partition_point(|peak| *peak < wanted);
                    let beside = &peaks[after.saturating_sub(1)..(after + 1).min(peaks.len())];
                    let nearest = beside.iter().map(|peak| wanted - peak);
                    let nearest = nearest.min_by(|a, b| a.abs().total_cmp(&b.abs()))?;
                    (nearest.abs() <= AGREE_MS).then_some(nearest + offset)
                })
                .collect();
            let better = best.is_none_or(|best| {
                let closer = offset.abs() < best.offset_ms.abs();
                differences.len() > best.agree || differences.len() == best.agree && closer
            });
            if differences.len() >= LEAST && better {
                let (agree, of) = (differences.len(), outages.len());
                best = Some(Found { offset_ms: median(differences), agree, of });
            }
        }
    }
    best.map(|found| Found {
        offset_ms: if found.offset_ms.abs() <= AGREE_MS { 0.0 } else { found.offset_ms },
        ..found
    })
}

/// Returns when delays begin to be much above their median.
fn peaks(delays: &[(f64, f64)]) -> Vec<f64> {
    let level = median(delays.iter().map(|(_, delay)| *delay)) + RISE_MS;
    let mut peaks: Vec<f64> = Vec::new();
    let mut last = f64::MIN;
    for (at, _) in delays.iter().filter(|(_, delay)| *delay > level) {
        if at - last > APART_MS {
            peaks.push(*at);
        }
        last = *at;
    }
    peaks
}

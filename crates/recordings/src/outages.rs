//! Outages and waits in a trace of delivery opportunities.

/// A time without any opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Start in milliseconds: the last opportunity before it.
    pub at_ms: u32,
    /// Length in milliseconds.
    pub ms: u32,
}

impl Outage {
    /// Returns its end in milliseconds.
    pub fn end_ms(self) -> u32 {
        self.at_ms + self.ms
    }
}

/// Period of the reconfigurations that outages are looked for at, in milliseconds.
const PERIOD_MS: i64 = 15_000;
/// Largest distance from a multiple of the period.
const NEAR_MS: i64 = 200;
/// Shortest gap that can be an outage, in milliseconds.
const LEAST_MS: u32 = 30;

/// Returns the outages of a trace: its longest pause and those that lie a multiple of 15 s from it;
/// none if the longest is not much longer than a usual pause.
pub fn outages(millis: &[u32]) -> Vec<Outage> {
    let gaps: Vec<Outage> = millis
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 1)
        .map(|pair| Outage { at_ms: pair[0], ms: pair[1] - pair[0] })
        .collect();
    let Some(longest) = gaps.iter().max_by_key(|gap| (gap.ms, std::cmp::Reverse(gap.at_ms))) else {
        return Vec::new();
    };
    if longest.ms < LEAST_MS {
        return Vec::new();
    }
    let mut found: std::collections::BTreeMap<i64, Outage> = std::collections::BTreeMap::new();
    for gap in &gaps {
        let distance = i64::from(gap.at_ms) - i64::from(longest.at_ms);
        let number = (distance + PERIOD_MS / 2).div_euclid(PERIOD_MS);
        if (distance - number * PERIOD_MS).abs() < NEAR_MS {
            let best = found.entry(number).or_insert(*gap);
            if gap.ms > best.ms {
                *best = *gap;
            }
        }
    }
    // In a trace with many short pauses one lies near any time.
    found.into_values().filter(|outage| outage.ms >= LEAST_MS).collect()
}

/// Returns the mean wait for an opportunity in milliseconds, outages apart: the sum of squared gaps
/// over twice the time.
pub fn grant_wait_ms(millis: &[u32], outages: &[Outage]) -> f64 {
    let end = f64::from(millis.last().copied().unwrap_or(1).max(1));
    let waits = millis
        .windows(2)
        .filter(|pair| outages.binary_search_by_key(&pair[0], |outage| outage.at_ms).is_err());
    let squares: f64 = waits.map(|pair| f64::from(pair[1] - pair[0]).powi(2)).sum();
    squares / 2.0 / end
}

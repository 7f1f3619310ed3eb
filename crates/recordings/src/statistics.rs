//! Quantiles and other figures of a measurement.

/// Returns the quantile `share` of sorted values, between order statistics (type 7). Zero if there
/// are none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = last as f64 * share;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    let (a, b) = (sorted[low.min(last)], sorted[high.min(last)]);
    a + (b - a) * (at - low as f64)
}

/// Returns the values in ascending order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the median; zero if there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// Returns how many times something was lost, and the largest number lost in a row.
pub fn runs(lost: impl Iterator<Item = bool>) -> (usize, usize) {
    let (mut count, mut longest, mut current) = (0, 0, 0);
    for lost in lost {
        if lost {
            count += usize::from(current == 0);
            current += 1;
            longest = longest.max(current);
        } else {
            current = 0;
        }
    }
    (count, longest)
}

/// Time at the start and at the end of a slot that its median leaves out, in seconds.
const EDGES_S: (f64, f64) = (1.0, 0.5);
/// Fewest values of a slot.
const LEAST: usize = 9;

/// Returns the median of each slot of `period` seconds, by the number of the slot, of values at
/// times in seconds. Slots begin at `phase`; those with few values are left out.
pub fn slot_medians(
    values: impl Iterator<Item = (f64, f64)>,
    period: f64,
    phase: f64,
) -> Vec<(i64, f64)> {
    let mut slots: std::collections::BTreeMap<i64, Vec<f64>> = std::collections::BTreeMap::new();
    for (at, value) in values {
        let within = (at - phase).rem_euclid(period);
        if within >= EDGES_S.0 && within < period - EDGES_S.1 {
            slots.entry(((at - phase) / period).floor() as i64).or_default().push(value);
        }
    }
    slots.retain(|_, values| values.len() >= LEAST);
    slots.into_iter().map(|(slot, values)| (slot, median(values))).collect()
}

/// Returns the differences of neighbouring slots.
pub fn steps(medians: &[(i64, f64)]) -> Vec<f64> {
    let pairs = medians.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1);
    sorted(pairs.map(|pair| (pair[1].1 - pair[0].1).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(runs([true, true, false, true].into_iter()), (2, 2));
    }
}

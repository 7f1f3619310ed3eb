//! Choice of the points that represent a group of consecutive points.

/// The most positions that represent a group.
pub(crate) const KEPT: usize = 4;

/// Positions in a group, ascending.
pub type Positions = std::iter::Take<std::array::IntoIter<usize, KEPT>>;

/// Returns the positions of the first, lowest, highest and last of `len` values, ascending and each
/// once. Of equal extremes, the earliest counts; NaN is no extreme.
pub fn extremes(len: usize, value: impl Fn(usize) -> f64) -> Positions {
    let (mut low, mut high) = (0, 0);
    if len > 0 {
        let (mut lowest, mut highest) = (value(0), value(0));
        for index in 1..len {
            let value = value(index);
            if value < lowest || lowest.is_nan() {
                (low, lowest) = (index, value);
            }
            if value > highest || highest.is_nan() {
                (high, highest) = (index, value);
            }
        }
    }
    ascending(len, low, high)
}

/// Returns the positions 0, `low`, `high` and the last of `len`, ascending and each once.
fn ascending(len: usize, low: usize, high: usize) -> Positions {
    let mut positions = [0, low.min(high), low.max(high), len.saturating_sub(1)];
    let mut count = usize::from(len > 0);
    for index in 1..KEPT {
        if positions[index] > positions[index - 1] {
            positions[count] = positions[index];
            count += 1;
        }
    }
    positions.into_iter().take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_ascend_and_occur_once() {
        let of = |values: &[f64]| extremes(values.len(), |i| values[i]).collect::<Vec<_>>();
        assert_eq!(of(&[]), [0; 0]);
        assert_eq!(of(&[5.0]), [0]);
        assert_eq!(of(&[5.0, 5.0, 5.0]), [0, 2]);
        assert_eq!(of(&[1.0, 2.0, 3.0]), [0, 2]);
        assert_eq!(of(&[3.0, 9.0, 4.0, 1.0, 1.0, 2.0]), [0, 1, 3, 5]);
        assert_eq!(of(&[3.0, 1.0, 4.0, 9.0, 9.0]), [0, 1, 3, 4]);
        assert_eq!(of(&[f64::NAN, 7.0, f64::NAN, 8.0, 7.5, f64::NAN]), [0, 1, 3, 5]);
    }
}

//! Max-min fairness.

/// Shares `capacity` among `demands` max-min fairly, adds the result to `shares`, and returns the
/// rest.
///
/// No demand gets more than it requests, and no unsatisfied demand gets less than another
/// (Bertsekas and Gallager, *Data Networks*, 2nd ed., §6.5.2, for one resource). The remainder of
/// the integer division goes to unsatisfied demands one by one, from index `first` on. Varying
/// `first` from frame to frame avoids a preference.
pub fn max_min(mut capacity: u64, demands: &[u64], first: usize, shares: &mut [u64]) -> u64 {
    let mut open: Vec<usize> = (0..demands.len()).filter(|&at| demands[at] > 0).collect();
    open.sort_by_key(|&at| demands[at]);
    let mut rest = open.as_slice();
    // The smallest demand is satisfied if an equal share of the rest satisfies it.
    while let Some((&at, others)) = rest.split_first() {
        if demands[at] > capacity / rest.len() as u64 {
            break;
        }
        shares[at] += demands[at];
        capacity -= demands[at];
        rest = others;
    }
    if rest.is_empty() {
        return capacity;
    }
    let (even, over) = (capacity / rest.len() as u64, capacity % rest.len() as u64);
    let mut turns: Vec<usize> = rest.to_vec();
    turns.sort_by_key(|&at| (at < first, at));
    for (turn, at) in (0..).zip(turns) {
        shares[at] += even + u64::from(turn < over);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the optimum by definition: each unit goes to one of the unsatisfied demands with the
    /// smallest share.
    fn filled(mut capacity: u64, demands: &[u64]) -> Vec<u64> {
        let mut shares = vec![0; demands.len()];
        while capacity > 0 {
            let poorest = (0..demands.len())
                .filter(|&at| shares[at] < demands[at])
                .min_by_key(|&at| shares[at]);
            let Some(at) = poorest else { break };
            shares[at] += 1;
            capacity -= 1;
        }
        shares
    }

    proptest! {
        #[test]
        fn shares_match_filling_unit_by_unit(
            capacity in 0u64..500,
            demands in proptest::collection::vec(
                prop_oneof![Just(0), 0u64..20, 0u64..300],
                0..8,
            ),
            first in 0usize..8,
        ) {
            let mut shares = vec![0; demands.len()];
            let left = max_min(capacity, &demands, first, &mut shares);
            prop_assert_eq!(shares.iter().sum::<u64>() + left, capacity);
            prop_assert!(left == 0 || shares == demands);
            // Only the demands that get the odd units depend on `first`.
            let mut sorted = shares.clone();
            sorted.sort_unstable();
            let mut optimum = filled(capacity, &demands);
            optimum.sort_unstable();
            prop_assert_eq!(sorted, optimum);
            for (share, demand) in shares.iter().zip(&demands) {
                prop_assert!(share <= demand);
                prop_assert!(share == demand || shares.iter().all(|other| *other <= share + 1));
            }
        }
    }

    #[test]
    fn odd_units_rotate() {
        let mut shares = [0; 3];
        for first in 0..3 {
            assert_eq!(max_min(10, &[100, 100, 100], first, &mut shares), 0);
        }
        assert_eq!(shares, [10, 10, 10]);
    }
}

//! Control of the family-wise error.

/// Returns `p` adjusted by Holm's step-down method: rejecting what is at most the level errs in
/// the whole family with at most that probability, whatever the dependence.
pub(super) fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (place, &index) in order.iter().enumerate() {
        largest = largest.max(p[index] * (p.len() - place) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_smallest_is_multiplied_by_the_number_of_all() {
        assert_eq!(adjusted(&[0.5, 0.25, 0.125]), [0.5, 0.5, 0.375]);
        assert_eq!(adjusted(&[0.9, 0.9]), [1.0, 1.0]);
        assert!(adjusted(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_never_lowers(
            p in prop::collection::vec(0.0f64..=1.0, 1..40)
        ) {
            let adjusted = adjusted(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                prop_assert!(adjusted[i] <= (p[i] * p.len() as f64).min(1.0) + 1e-15);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}

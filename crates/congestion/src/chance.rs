//! How many losses chance explains.

/// Returns the largest number of random losses to be expected where `mean` is their mean: three
/// standard deviations of a Poisson process above it, plus one for the start of the count.
pub(crate) fn most_by_chance(mean: f64) -> f64 {
    mean + 3.0 * libm::sqrt(mean) + 1.0
}

//! Traffic between the largest cities: one `[[flow]]` that stands for many.

use super::{Flow, Scenario};
use crate::error::Problem;
use bentpipe_link::random::stream;
use bentpipe_orbit::cities;
use serde_spanned::Spanned;

/// Puts the flows that `cities` stands for in the places of those that have it.
///
/// Cities are paired at random, the same pairs in every run, and each pair has a flow from one to the other and one back: reciprocal pairs, as the Hypatia study
/// calls them.
///
/// # Errors
/// An odd number of cities or more than there are; ends beside `cities`.
pub(crate) fn expand(scenario: &mut Scenario) -> Result<(), Problem> {
    let mut flows = Vec::with_capacity(scenario.flow.len());
    for spanned in std::mem::take(&mut scenario.flow) {
        let Some(cities) = spanned.get_ref().cities.clone() else {
            flows.push(spanned);
            continue;
        };
        let flow = spanned.get_ref();
        if let Some(end) = flow.from.as_ref().or(flow.to.as_ref()) {
            let message = "an end stands beside `cities`, which draws the ends; allowed: `from` and `to`, or `cities`";
            return Err(Problem::new(end.span(), message));
        }
        let (count, most) = (*cities.get_ref(), cities::all().len());
        if count < 2 || count as usize > most || !count.is_multiple_of(2) {
            let message = format!("`cities` of {count}; allowed: an even number from 2 to {most}");
            return Err(Problem::new(cities.span(), message));
        }
        let order = shuffled(count as usize, scenario.seed, flow.name.get_ref());
        for (number, pair) in order.chunks_exact(2).enumerate() {
            for (back, from, to) in [(0, pair[0], pair[1]), (1, pair[1], pair[0])] {
                let end = |city: usize| Some(Spanned::new(cities.span(), cities::all()[city].0.to_owned()));
                let name = format!("{}-{:03}", flow.name.get_ref(), 2 * number + back);
                let one = Flow {
                    name: Spanned::new(flow.name.span(), name),
                    from: end(from),
                    to: end(to),
                    cities: None,
                    ..flow.clone()
                };
                flows.push(Spanned::new(spanned.span(), one));
            }
        }
    }
    scenario.flow = flows;
    Ok(())
}

/// The numbers below `count` in an order that is drawn (Fisher and Yates).
fn shuffled(count: usize, seed: u64, name: &str) -> Vec<usize> {
    let mut random = stream(seed, 0, &format!("{name}/cities"));
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_city_is_drawn_once_and_the_seed_decides_with_whom() {
        let order = shuffled(100, 1, "traffic");
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(order, shuffled(100, 1, "traffic"));
        assert_ne!(order, shuffled(100, 2, "traffic"));
    }
}

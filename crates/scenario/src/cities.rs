//! Traffic between the largest cities: one `[[flow]]` with `random_city_pairs` expands to many.

use super::flow::Placement;
use super::section;
use super::tree::Tree;
use crate::error::Problem;
use bentpipe_link::random::stream;
use bentpipe_orbit::cities;
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::DeValue;

/// Expands the table of one `[[flow]]` to named flows.
///
/// Cities are paired at random, with a flow in each direction: the reciprocal pairs of the Hypatia
/// study. The pairs are the same in every run.
///
/// # Errors
/// Returns an error for more pairs than the list of cities allows, for `from` or `to` beside
/// `random_city_pairs`, and for a flow without a name.
pub(crate) fn expand<'i>(
    mut table: Tree<'i>,
    span: &Range<usize>,
    seed: u64,
) -> Result<Vec<(Spanned<String>, Tree<'i>)>, Problem> {
    let Placement { name, random_city_pairs, .. } =
        section::take(&mut table.clone(), span.clone())?;
    table.remove("name");
    let Some(pairs) = random_city_pairs else { return Ok(vec![(name, table)]) };
    table.remove("random_city_pairs");
    if let Some((end, _)) = table.get_key_value("from").or_else(|| table.get_key_value("to")) {
        let message =
            "`random_city_pairs` draws the ends; allowed: `from` and `to`, or `random_city_pairs`";
        return Err(Problem::new(end.span(), message));
    }
    let (count, most) = (*pairs.get_ref(), cities::all().len() as u64 / 2);
    super::limits::between("random_city_pairs", &pairs, 1, most)?;
    let order = shuffled(2 * count as usize, seed, name.get_ref());
    let mut flows = Vec::new();
    for (number, pair) in order.chunks_exact(2).enumerate() {
        for (back, ends) in [(0, [pair[0], pair[1]]), (1, [pair[1], pair[0]])] {
            let mut one = table.clone();
            for (key, city) in ["from", "to"].into_iter().zip(ends) {
                let city = DeValue::String(Cow::Borrowed(cities::all()[city].0));
                one.insert(
                    Spanned::new(pairs.span(), Cow::Borrowed(key)),
                    Spanned::new(pairs.span(), city),
                );
            }
            let name =
                Spanned::new(name.span(), format!("{}-{:03}", name.get_ref(), 2 * number + back));
            flows.push((name, one));
        }
    }
    Ok(flows)
}
/// Returns the numbers below `count` in random order (Fisher and Yates).
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
    fn every_city_is_drawn_once_and_the_seed_determines_the_pairs() {
        let order = shuffled(100, 1, "traffic");
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(order, shuffled(100, 1, "traffic"));
        assert_ne!(order, shuffled(100, 2, "traffic"));
    }
}

//! Populations: one `[[flow]]` with `count` stands for many users.

use crate::arrivals::Arrivals;
use crate::error::Problem;
use crate::limits::{Check, between};
use crate::mix_name::Mix;
use crate::section::{self, Merged, section, table};
use crate::transport::{Transport, nested};
use crate::tree::{Tree, merge};
use crate::workload::{Work, Workload};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::ops::Range;
use toml::de::DeValue;

/// Largest number of users of all populations together.
pub const MAX_USERS: usize = 20_000;
/// Largest number of shares of a population.
const MAX_SHARES: usize = 16;

/// The keys of `[[flow]]` that make it a population of users.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationKeys {
    /// Number of users. Each is a client with a terminal of its own, and results describe all of
    /// them together.
    #[schemars(with = "Option<u64>", range(min = 1, max = 20000))]
    pub count: Option<Spanned<u64>>,
    /// When the users start: `at once` (the default), or a table with `load`, `rate` or `file`.
    #[schemars(with = "Option<Arrivals>")]
    pub arrivals: Option<Spanned<Arrivals>>,
    /// A mix of several kinds of users, with `count` households, people, phones or passengers. Its
    /// populations are called NAME-CLASS.
    #[schemars(with = "Option<Mix>")]
    pub mix: Option<Spanned<Mix>>,
    /// True if each user has a server of its own; false, the default, if all have the same.
    pub own_servers: Option<bool>,
    /// Shares of the users, each with transport keys of its own.
    #[schemars(with = "Option<Vec<ShareTable>>")]
    pub share: Option<Merged<Vec<ShareTable>>>,
}
section!(PopulationKeys);

/// The keys of a share in addition to transport keys.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareKeys {
    /// Name in results.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Number of parts of the users that belong to this share; 1 by default.
    #[schemars(with = "Option<f64>")]
    pub parts: Option<Spanned<f64>>,
}
section!(ShareKeys);

table!(
    /// An entry of `share`.
    ShareTable: "Share" = ShareKeys, Transport
);

/// The users of one share of a population.
#[derive(Debug, Clone, PartialEq)]
pub struct Users {
    /// Name of the population: that of its `[[flow]]`.
    pub population: String,
    /// Number of users of the whole population.
    pub total: usize,
    /// Numbers of the users of this share within the population, from 0, ascending.
    pub members: Vec<usize>,
    /// When the users of the population start.
    pub arrivals: Arrivals,
    /// True if each user has a server of its own.
    pub own_servers: bool,
    /// The mix that it belongs to.
    pub mix: Option<Mix>,
}

/// A share of a population: its name, its keys of `[[flow]]`, and its users.
pub(crate) struct Share<'i> {
    pub name: Spanned<String>,
    pub table: Tree<'i>,
    pub users: Users,
}

/// Takes the keys of a population from the table of a `[[flow]]` called `name`. Returns its shares,
/// or `None` if it is a single flow.
///
/// # Errors
/// Returns an error for keys without `count`, for keys that a population cannot have, and for
/// values out of range.
pub(crate) fn expand<'i>(
    name: &Spanned<String>,
    table: &mut Tree<'i>,
    span: &Range<usize>,
) -> Result<Option<Vec<Share<'i>>>, Problem> {
    let listed = table.get("share").cloned();
    let names = section::keys::<PopulationKeys>();
    let given = names.iter().find_map(|key| table.get_key_value(*key).map(|(key, _)| key.span()));
    let Some(place) = given else { return Ok(None) };
    let keys: PopulationKeys = section::take(table, span.clone())?;
    let Some(count) = keys.count else {
        let message = "these keys describe a population of users; allowed: beside `count`";
        return Err(Problem::new(place, message).help("count = 250"));
    };
    between("count", &count, 1, MAX_USERS as u64)?;
    for (key, remedy) in [
        ("terminal", "each user has a terminal of its own"),
        ("random_city_pairs", "a [[flow]] has either users or pairs of cities"),
    ] {
        if let Some((key, _)) = table.get_key_value(key) {
            let message = format!("`{}` and `count` exclude each other: {remedy}", key.get_ref());
            return Err(Problem::new(key.span(), message + "; allowed: one of them"));
        }
    }
    let total = *count.get_ref() as usize;
    let users = Users {
        population: name.get_ref().clone(),
        total,
        members: (0..total).collect(),
        arrivals: keys.arrivals.map(Spanned::into_inner).unwrap_or_default(),
        own_servers: keys.own_servers.unwrap_or(false),
        mix: None,
    };
    let Some(listed) = listed.filter(|_| keys.share.is_some()) else {
        return Ok(Some(vec![Share { name: name.clone(), table: table.clone(), users }]));
    };
    shares(&listed, table, &users).map(Some)
}

fn shares<'i>(
    listed: &Spanned<DeValue<'i>>,
    flow: &Tree<'i>,
    users: &Users,
) -> Result<Vec<Share<'i>>, Problem> {
    let DeValue::Array(entries) = listed.get_ref() else {
        let message = "`share` must be a list of tables: [[flow.share]]";
        return Err(Problem::new(listed.span(), message));
    };
    if !(1..=MAX_SHARES).contains(&entries.len()) {
        let message =
            format!("a population has {} shares; allowed: 1 to {MAX_SHARES}", entries.len());
        return Err(Problem::new(listed.span(), message));
    }
    let (mut shares, mut weights) = (Vec::new(), Vec::new());
    for entry in entries.iter() {
        let DeValue::Table(table) = entry.get_ref() else {
            let message =
                "a share must be a table, such as { name = \"others\", preset = \"rfc\" }";
            return Err(Problem::new(entry.span(), message));
        };
        let allowed = ShareTable::keys();
        table.keys().try_for_each(|key| section::known(key, &allowed, nested))?;
        let mut own = table.clone();
        let ShareKeys { name, parts } = section::take(&mut own, entry.span())?;
        let weight = parts.as_ref().map_or(1.0, |parts| *parts.get_ref());
        if !(0.0..=1e6).contains(&weight) {
            let place = parts.map_or(entry.span(), |parts| parts.span());
            let message = format!("`parts` of {weight} is out of range; allowed: 0 to 1000000");
            return Err(Problem::new(place, message));
        }
        section::take::<Transport>(&mut own.clone(), entry.span())?;
        let mut table = flow.clone();
        merge(&mut table, &own);
        weights.push(weight);
        shares.push(Share { name, table, users: Users { members: Vec::new(), ..users.clone() } });
    }
    if weights.iter().sum::<f64>() <= 0.0 {
        let message = "no share has any users; allowed: `parts` above 0 for at least one";
        let place = entries.iter().next().map_or(listed.span(), Spanned::span);
        return Err(Problem::new(place, message));
    }
    for (user, share) in deal(users.total, &weights).into_iter().enumerate() {
        shares[share].users.members.push(user);
    }
    // A share without users has no results.
    shares.retain(|share| !share.users.members.is_empty());
    Ok(shares)
}

/// Deals `count` users to shares by weight. Each user goes to the share that is furthest behind.
fn deal(count: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let mut dealt = vec![0.0; weights.len()];
    let next = |number: usize| {
        let behind = |share: &usize| weights[*share] / sum * (number + 1) as f64 - dealt[*share];
        // Of equals, the first one.
        let candidates = (0..weights.len()).rev();
        let share = candidates.max_by(|a, b| behind(a).total_cmp(&behind(b))).unwrap_or_default();
        dealt[share] += 1.0;
        share
    };
    (0..count).map(next).collect()
}

/// Checks that `users` can have the workload of a flow.
///
/// # Errors
/// Returns an error for workloads that measure a path, and for an offered load of those whose bytes
/// are not known before their end.
pub(crate) fn check_work(work: &Work, users: &Users, span: &Range<usize>) -> Check {
    let workloads: Vec<&Workload> = match work {
        Work::Once(workload) => vec![workload],
        Work::Visits(visits) => visits.iter().map(|visit| &visit.workload).collect(),
    };
    for workload in workloads {
        if !workload.suits_users() {
            let message = format!(
                "`{}` is no workload of a population; allowed: `download`, `upload`, `objects`, \
                    `web_page`, `bulk`, `call` or `abr`",
                workload.name()
            );
            return Err(Problem::new(span.clone(), message));
        }
        if let (false, Arrivals::Load(load)) = (workload.has_size(), &users.arrivals) {
            let message = format!(
                "arrivals = {{ load = {load} }} needs the sizes of transfers, and `{}` has \
                    none; allowed: `at once`, or a table with `rate` or `file`",
                workload.name()
            );
            return Err(Problem::new(span.clone(), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_dealt_by_weight_from_the_first_on() {
        assert_eq!(deal(6, &[1.0, 1.0]), [0, 1, 0, 1, 0, 1]);
        assert_eq!(deal(4, &[1.0]), [0; 4]);
        let dealt = deal(1000, &[0.0, 1.0, 3.0]);
        let count = |share| dealt.iter().filter(|own| **own == share).count();
        assert_eq!([count(0), count(1), count(2)], [0, 250, 750]);
    }
}

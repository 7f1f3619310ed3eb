//! Metrics of a population: many users, described by distributions over all of them.

use crate::metrics::PopulationMetrics;
use crate::stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper bounds of the size classes in bytes, and their names. Larger sizes are in [`LARGEST`].
pub const SIZE_CLASSES: [(u64, &str); 3] =
    [(100_000, "up-to-100-kB"), (1_000_000, "up-to-1-MB"), (10_000_000, "up-to-10-MB")];
/// Name of the class of the largest sizes.
pub const LARGEST: &str = "above-10-MB";
/// Separates the name of a population from that of a size class.
const SEPARATOR: char = '/';

/// The users of a population, or of one share of it, in one visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Population {
    /// Name of the population or of the share; `all` for all users of the run.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Metrics of all users.
    #[serde(flatten)]
    pub metrics: PopulationMetrics,
    /// Metrics by size of the transfer, from small to large; classes without users are absent.
    pub classes: Vec<SizeClass>,
    /// The users, in the order of their numbers; absent for `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_user: Option<Users>,
}

/// The users of a population whose transfers have similar sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClass {
    /// Name of the class, such as `up-to-1-MB`.
    pub name: String,
    /// Metrics of its users.
    #[serde(flatten)]
    pub metrics: PopulationMetrics,
}

/// Users as columns of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Users {
    /// Number of the user in the population, from 0.
    pub user: Vec<u64>,
    /// Application bytes to transfer.
    pub bytes: Vec<u64>,
    /// Time of the user's first packet since the start of the run, in seconds.
    pub start_s: Vec<f64>,
    /// Completion time in seconds; `null` if the transfer did not complete.
    pub completion_s: Vec<Option<f64>>,
    /// Completion time over the lower bound on an idle path; `null` without a completion time.
    pub slowdown: Vec<Option<f64>>,
    /// Packets that the network dropped or lost.
    pub packets_dropped: Vec<u64>,
}

/// One visit of one user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct User {
    /// Number of the user in the population, from 0.
    pub number: usize,
    /// Application bytes to transfer.
    pub bytes: u64,
    /// Time of the first packet since the start of the run, in seconds.
    pub start_s: f64,
    /// Completion time in seconds; `None` if the transfer did not complete.
    pub completion_s: Option<f64>,
    /// Lower bound of the completion time on the idle path, in seconds.
    pub ideal_s: f64,
    /// Packets sent by the sender of the data.
    pub packets_sent: u64,
    /// Packets that the network dropped or lost.
    pub packets_dropped: u64,
}

impl User {
    fn slowdown(&self) -> Option<f64> {
        self.completion_s.map(|completion| completion / self.ideal_s).filter(|x| x.is_finite())
    }

    /// Returns the index of the size class.
    fn class(&self) -> usize {
        SIZE_CLASSES.iter().take_while(|(most, _)| self.bytes > *most).count()
    }
}

impl Population {
    /// Describes `users` in visit number `visit` under `name`, with their own values if `listed`.
    /// `share_percent` is their part of what all flows received.
    pub fn new(
        name: &str,
        visit: usize,
        users: &[User],
        share_percent: Option<f64>,
        listed: bool,
    ) -> Self {
        let names = SIZE_CLASSES.iter().map(|(_, name)| *name).chain([LARGEST]);
        let classes = names.enumerate().filter_map(|(class, name)| {
            let own: Vec<User> =
                users.iter().filter(|user| user.class() == class).copied().collect();
            let class = SizeClass { name: name.to_owned(), metrics: PopulationMetrics::of(&own) };
            (!own.is_empty()).then_some(class)
        });
        Self {
            name: name.to_owned(),
            visit,
            metrics: PopulationMetrics {
                goodput_share_percent: share_percent,
                ..PopulationMetrics::of(users)
            },
            classes: classes.collect(),
            per_user: listed.then(|| Users {
                user: users.iter().map(|user| user.number as u64).collect(),
                bytes: users.iter().map(|user| user.bytes).collect(),
                start_s: users.iter().map(|user| user.start_s).collect(),
                completion_s: users.iter().map(|user| user.completion_s).collect(),
                slowdown: users.iter().map(User::slowdown).collect(),
                packets_dropped: users.iter().map(|user| user.packets_dropped).collect(),
            }),
        }
    }

    /// Returns the name of each group of users, that of all and `NAME/CLASS` of each class, with
    /// its metrics.
    pub fn groups(&self) -> impl Iterator<Item = (String, &PopulationMetrics)> {
        let classes = self
            .classes
            .iter()
            .map(|class| (format!("{}{SEPARATOR}{}", self.name, class.name), &class.metrics));
        std::iter::once((self.name.clone(), &self.metrics)).chain(classes)
    }

    /// Returns the metrics of the group called `name`.
    pub(crate) fn group(&self, name: &str) -> Option<&PopulationMetrics> {
        let rest = name.strip_prefix(&self.name)?;
        match rest.strip_prefix(SEPARATOR) {
            Some(class) => {
                let found = self.classes.iter().find(|own| own.name == class);
                found.map(|class| &class.metrics)
            }
            None => rest.is_empty().then_some(&self.metrics),
        }
    }
}

/// Returns true if `name` is that of a size class within a population.
pub fn is_size_class(name: &str) -> bool {
    name.contains(SEPARATOR)
}

/// Returns the names that an expectation about the population called `name` can give: its own, and
/// one for each size class.
pub fn group_names(name: &str) -> Vec<String> {
    let classes = SIZE_CLASSES.iter().map(|(_, class)| *class).chain([LARGEST]);
    let classes = classes.map(|class| format!("{name}{SEPARATOR}{class}"));
    std::iter::once(name.to_owned()).chain(classes).collect()
}

impl PopulationMetrics {
    /// Computes the metrics of `users`. The mean is missing if a transfer did not complete, and a
    /// quantile if it is that of a transfer that did not complete.
    fn of(users: &[User]) -> Self {
        let completions = Distribution::new(users.iter().map(|user| user.completion_s));
        let slowdowns = Distribution::new(users.iter().map(User::slowdown));
        let completed = users.iter().filter(|user| user.completion_s.is_some());
        let (count, sent) = (users.len(), users.iter().map(|user| user.packets_sent).sum::<u64>());
        let dropped = users.iter().map(|user| user.packets_dropped).sum::<u64>();
        let percent =
            |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64 * 100.0);
        Self {
            users: count as u64,
            completed_percent: percent(completed.count() as u64, count as u64),
            mean_completion_s: completions.mean(),
            median_completion_s: completions.quantile(0.5),
            p95_completion_s: completions.quantile(0.95),
            p99_completion_s: completions.quantile(0.99),
            mean_slowdown: slowdowns.mean(),
            median_slowdown: slowdowns.quantile(0.5),
            p95_slowdown: slowdowns.quantile(0.95),
            p99_slowdown: slowdowns.quantile(0.99),
            slowdown_jain_index: slowdowns.jain_of_inverse(),
            population_goodput_mbps: goodput(users),
            goodput_share_percent: None,
            packets_dropped: dropped,
            dropped_percent: percent(dropped, sent),
        }
    }
}

/// Returns the rate of all completed bytes from the first start to the last completion, in Mbps.
fn goodput(users: &[User]) -> Option<f64> {
    let done = || users.iter().filter_map(|user| Some((user, user.start_s + user.completion_s?)));
    let first = users.iter().map(|user| user.start_s).min_by(f64::total_cmp)?;
    let last = done().map(|(_, end)| end).max_by(f64::total_cmp)?;
    let bytes: u64 = done().map(|(user, _)| user.bytes).sum();
    let rate = bytes as f64 * 8.0 / 1e6 / (last - first);
    rate.is_finite().then_some(rate)
}

/// Values of users in ascending order. A missing value counts as infinite.
struct Distribution(Vec<f64>);

impl Distribution {
    fn new(values: impl Iterator<Item = Option<f64>>) -> Self {
        let mut values: Vec<f64> = values.map(|value| value.unwrap_or(f64::INFINITY)).collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    fn mean(&self) -> Option<f64> {
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        mean.is_finite().then_some(mean)
    }

    fn quantile(&self, q: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| quantile(&self.0, q)).filter(|value| value.is_finite())
    }

    /// Returns Jain's index of the inverse values, in which a missing value counts as 0.
    fn jain_of_inverse(&self) -> Option<f64> {
        let inverse = || self.0.iter().map(|value| 1.0 / value);
        let (sum, squares) = (inverse().sum::<f64>(), inverse().map(|x| x * x).sum::<f64>());
        let index = sum * sum / (self.0.len() as f64 * squares);
        index.is_finite().then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(number: usize, bytes: u64, completion_s: Option<f64>) -> User {
        User {
            number,
            bytes,
            start_s: number as f64,
            completion_s,
            ideal_s: 2.0,
            packets_sent: 100,
            packets_dropped: 3,
        }
    }

    #[test]
    fn metrics_cover_all_users() {
        let users: Vec<User> =
            (0..101).map(|i| user(i, 1_000_000, Some(2.0 + i as f64 / 10.0))).collect();
        let metrics = Population::new("ours", 1, &users, None, true).metrics;
        assert_eq!((metrics.users, metrics.completed_percent), (101, Some(100.0)));
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(near(metrics.mean_completion_s, 7.0) && near(metrics.median_completion_s, 7.0));
        assert!(near(metrics.p95_completion_s, 11.5) && near(metrics.p99_completion_s, 11.9));
        assert!(near(metrics.mean_slowdown, 3.5) && near(metrics.p95_slowdown, 5.75));
        assert_eq!((metrics.packets_dropped, metrics.dropped_percent), (303, Some(3.0)));
        // 101 MB from 0 s until the last user has ended at 100 + 12 s.
        assert!(near(metrics.population_goodput_mbps, 808.0 / 112.0));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let users = [user(0, 50_000, Some(4.0)), user(1, 1_000_000, None)];
        for listed in [false, true] {
            let population = Population::new("ours", 1, &users, None, listed);
            let text = serde_json::to_string(&population).unwrap();
            assert_eq!(serde_json::from_str::<Population>(&text).unwrap(), population, "{text}");
        }
    }

    #[test]
    fn equal_slowdowns_are_fair_and_one_slow_user_is_not() {
        let equal: Vec<User> = (0..4).map(|i| user(i, 1, Some(4.0))).collect();
        assert_eq!(
            Population::new("a", 1, &equal, None, false).metrics.slowdown_jain_index,
            Some(1.0)
        );
        let users = [user(0, 1, Some(4.0)), user(1, 1, None)];
        let metrics = Population::new("a", 1, &users, None, false).metrics;
        assert_eq!(metrics.slowdown_jain_index, Some(0.5));
    }

    #[test]
    fn a_transfer_without_end_leaves_no_mean_but_the_quantiles_before_it() {
        let mut users: Vec<User> = (0..101).map(|i| user(i, 1, Some(1.0 + i as f64))).collect();
        users[100].completion_s = None;
        let metrics = Population::new("a", 1, &users, None, false).metrics;
        assert_eq!((metrics.mean_completion_s, metrics.mean_slowdown), (None, None));
        assert_eq!(metrics.p99_completion_s, Some(100.0));
        assert!(metrics.completed_percent.unwrap() < 99.5);
    }

    #[test]
    fn size_classes_partition_the_users() {
        let sizes = [1, 100_000, 100_001, 1_000_000, 9_000_000, 10_000_001];
        let users: Vec<User> =
            sizes.iter().enumerate().map(|(i, bytes)| user(i, *bytes, Some(3.0))).collect();
        let population = Population::new("ours", 2, &users, None, true);
        let counts: Vec<(String, u64)> =
            population.groups().map(|(name, metrics)| (name, metrics.users)).collect();
        assert_eq!(
            counts.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(),
            [
                ("ours", 6),
                ("ours/up-to-100-kB", 2),
                ("ours/up-to-1-MB", 2),
                ("ours/up-to-10-MB", 1),
                ("ours/above-10-MB", 1)
            ]
        );
        for (name, _) in &counts {
            assert!(population.group(name).is_some() && group_names("ours").contains(name));
        }
        assert!(population.group("our").is_none() && population.group("ours-2").is_none());
    }
}

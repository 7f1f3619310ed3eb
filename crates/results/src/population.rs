//! Metrics of a population: many users, described by distributions over all of them.

use crate::experience::{Experience, with_experiences};
use crate::metrics::PopulationMetrics;
use crate::user_values::UserValues;
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
    /// Metrics by size of the transfer, from small to large; classes without users are absent, and
    /// those of calls and adaptive video.
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
    /// Completion time over the lower bound on an idle path; `null` without a completion time, and
    /// of calls and adaptive video.
    pub slowdown: Vec<Option<f64>>,
    /// Packets that the network dropped or lost.
    pub packets_dropped: Vec<u64>,
    /// Mean opinion score of the worse direction of a call; absent of other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mos: Vec<Option<f64>>,
    /// Mean delay of the frames of a call, of its slowest stream, in ms; absent of other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame_delay_ms: Vec<Option<f64>>,
    /// Time of stalls in percent of that from the start of adaptive video to its end; absent of
    /// other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stall_percent: Vec<Option<f64>>,
    /// Mean bitrate of adaptive video in kbps; absent of other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bitrate_kbps: Vec<Option<f64>>,
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
    /// Packets sent by the sender of the data, and by proxies on its way.
    pub packets_sent: u64,
    /// Packets that the network dropped or lost.
    pub packets_dropped: u64,
    /// What its call or adaptive video was like; `None` if it transferred something.
    pub experience: Option<Experience>,
}

/// What users have together beside the other flows of a run, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PopulationShares {
    /// Their part of what all flows received in the same direction.
    pub goodput_percent: Option<f64>,
    /// Their part of what their busiest link carried; of groups that send as long as they last.
    pub link_percent: Option<f64>,
}

impl User {
    fn slowdown(&self) -> Option<f64> {
        let completion = self.completion_s.filter(|_| self.experience.is_none())?;
        Some(completion / self.ideal_s).filter(|x| x.is_finite())
    }

    /// Returns the index of the size class.
    fn class(&self) -> usize {
        SIZE_CLASSES.iter().take_while(|(most, _)| self.bytes > *most).count()
    }
}

impl Population {
    /// Describes `users` in visit number `visit` under `name`, with their own values if `listed`.
    pub fn new(
        name: &str,
        visit: usize,
        users: &[User],
        shares: PopulationShares,
        listed: bool,
    ) -> Self {
        // A column without a value for any user is absent.
        let column = |read: fn(&Experience) -> Option<f64>| {
            let values = users.iter().map(|user| user.experience.as_ref().and_then(read));
            let values: Vec<Option<f64>> = values.collect();
            if values.iter().any(Option::is_some) { values } else { Vec::new() }
        };
        let names = SIZE_CLASSES.iter().map(|(_, name)| *name).chain([LARGEST]);
        let classes = names.enumerate().filter_map(|(class, name)| {
            let transfers = users.iter().filter(|user| user.experience.is_none());
            let own: Vec<User> = transfers.filter(|user| user.class() == class).copied().collect();
            let class = SizeClass { name: name.to_owned(), metrics: PopulationMetrics::of(&own) };
            (!own.is_empty()).then_some(class)
        });
        Self {
            name: name.to_owned(),
            visit,
            metrics: PopulationMetrics {
                goodput_share_percent: shares.goodput_percent,
                link_share_percent: shares.link_percent,
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
                mos: column(Experience::mos),
                frame_delay_ms: column(Experience::frame_delay_ms),
                stall_percent: column(Experience::stall_percent),
                bitrate_kbps: column(Experience::bitrate_kbps),
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
        let transfers = || users.iter().filter(|user| user.experience.is_none());
        let completions = UserValues::new(transfers().map(|user| user.completion_s));
        let slowdowns = UserValues::new(transfers().map(User::slowdown));
        let experiences: Vec<Experience> =
            users.iter().filter_map(|user| user.experience).collect();
        let completed = users.iter().filter(|user| user.completion_s.is_some());
        let (count, sent) = (users.len(), users.iter().map(|user| user.packets_sent).sum::<u64>());
        let dropped = users.iter().map(|user| user.packets_dropped).sum::<u64>();
        let percent =
            |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64 * 100.0);
        let metrics = Self {
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
            packets_dropped: dropped,
            dropped_percent: percent(dropped, sent),
            ..Self::default()
        };
        if experiences.is_empty() { metrics } else { with_experiences(metrics, &experiences) }
    }

    /// Returns the name of the metric that says most about these users: the score of calls, the
    /// stalls of adaptive video, the share of a group of `bulk`, or the completion time.
    pub fn usual(&self) -> &'static str {
        if self.link_share_percent.is_some() {
            return "link_share_percent";
        }
        match (self.median_mos, self.mean_completion_s, self.stalled_users_percent) {
            (Some(_), None, None) => "median_mos",
            (None, None, Some(_)) => "mean_stall_percent",
            _ => "mean_completion_s",
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

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SHARES: PopulationShares =
        PopulationShares { goodput_percent: None, link_percent: None };

    fn user(number: usize, bytes: u64, completion_s: Option<f64>) -> User {
        User {
            number,
            bytes,
            start_s: number as f64,
            completion_s,
            ideal_s: 2.0,
            packets_sent: 100,
            packets_dropped: 3,
            experience: None,
        }
    }

    fn call(number: usize, mos: f64) -> User {
        let experience = Experience::Call {
            mos: Some(mos),
            frame_delay_ms: Some(300.0 + number as f64),
            frames_missed_percent: Some(1.0),
        };
        User { experience: Some(experience), ..user(number, 80_000, Some(60.0)) }
    }

    fn video(number: usize, stalls: u64) -> User {
        let experience = Experience::Video {
            startup_s: Some(2.0),
            stalls: Some(stalls),
            stall_percent: Some(stalls as f64),
            bitrate_kbps: Some(1_000.0 * (number + 1) as f64),
        };
        User { experience: Some(experience), ..user(number, 30_000_000, Some(99.0)) }
    }

    #[test]
    fn calls_and_videos_have_metrics_of_their_own_and_no_others() {
        let calls: Vec<User> = (0..101).map(|i| call(i, 1.0 + i as f64 / 100.0)).collect();
        let one = Population::new("calls", 1, &calls, NO_SHARES, true);
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(near(one.metrics.median_mos, 1.5) && near(one.metrics.p5_mos, 1.05));
        assert!(near(one.metrics.p95_frame_delay_ms, 395.0));
        assert_eq!((one.metrics.mean_completion_s, one.metrics.mean_slowdown), (None, None));
        assert_eq!((one.metrics.completed_percent, one.classes.len()), (Some(100.0), 0));
        assert_eq!((one.metrics.stalled_users_percent, one.metrics.usual()), (None, "median_mos"));
        let users = one.per_user.unwrap();
        assert_eq!((users.mos.len(), users.stall_percent.len()), (101, 0));

        let videos: Vec<User> = (0..4).map(|i| video(i, u64::from(i == 3))).collect();
        let metrics = Population::new("videos", 1, &videos, NO_SHARES, true).metrics;
        assert_eq!(
            (metrics.stalled_users_percent, metrics.mean_stall_percent),
            (Some(25.0), Some(0.25))
        );
        assert_eq!(
            (metrics.median_bitrate_kbps, metrics.usual()),
            (Some(2_500.0), "mean_stall_percent")
        );

        // All users of a run: those who transfer have the completion times.
        let mixed = [user(0, 1, Some(4.0)), call(1, 4.0), video(2, 0)];
        let all = Population::new("all", 1, &mixed, NO_SHARES, false);
        assert_eq!((all.metrics.users, all.metrics.mean_completion_s), (3, Some(4.0)));
        assert_eq!(
            (all.metrics.median_mos, all.metrics.mean_stall_percent),
            (Some(4.0), Some(0.0))
        );
        assert_eq!((all.classes.len(), all.metrics.usual()), (1, "mean_completion_s"));
    }

    #[test]
    fn a_group_without_end_is_about_its_share() {
        let usual = |link_percent| {
            let shares = PopulationShares { goodput_percent: Some(60.0), link_percent };
            let own = Population::new("a", 1, &[user(0, 9, Some(30.0))], shares, false);
            own.metrics.usual()
        };
        assert_eq!(usual(Some(58.0)), "link_share_percent");
        assert_eq!(usual(None), "mean_completion_s");
    }

    #[test]
    fn transfers_have_no_fields_of_calls_and_videos() {
        let text =
            serde_json::to_string(&Population::new("a", 1, &[user(0, 1, None)], NO_SHARES, true));
        let text = text.unwrap();
        assert!(!text.contains("mos") && !text.contains("stall") && !text.contains("bitrate"));
    }

    #[test]
    fn metrics_cover_all_users() {
        let users: Vec<User> =
            (0..101).map(|i| user(i, 1_000_000, Some(2.0 + i as f64 / 10.0))).collect();
        let metrics = Population::new("ours", 1, &users, NO_SHARES, true).metrics;
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
            let population = Population::new("ours", 1, &users, NO_SHARES, listed);
            let text = serde_json::to_string(&population).unwrap();
            assert_eq!(serde_json::from_str::<Population>(&text).unwrap(), population, "{text}");
        }
    }

    #[test]
    fn equal_slowdowns_are_fair_and_one_slow_user_is_not() {
        let equal: Vec<User> = (0..4).map(|i| user(i, 1, Some(4.0))).collect();
        assert_eq!(
            Population::new("a", 1, &equal, NO_SHARES, false).metrics.slowdown_jain_index,
            Some(1.0)
        );
        let users = [user(0, 1, Some(4.0)), user(1, 1, None)];
        let metrics = Population::new("a", 1, &users, NO_SHARES, false).metrics;
        assert_eq!(metrics.slowdown_jain_index, Some(0.5));
    }

    #[test]
    fn a_transfer_without_end_leaves_no_mean_but_the_quantiles_before_it() {
        let mut users: Vec<User> = (0..101).map(|i| user(i, 1, Some(1.0 + i as f64))).collect();
        users[100].completion_s = None;
        let metrics = Population::new("a", 1, &users, NO_SHARES, false).metrics;
        assert_eq!((metrics.mean_completion_s, metrics.mean_slowdown), (None, None));
        assert_eq!(metrics.p99_completion_s, Some(100.0));
        assert!(metrics.completed_percent.unwrap() < 99.5);
    }

    #[test]
    fn size_classes_partition_the_users() {
        let sizes = [1, 100_000, 100_001, 1_000_000, 9_000_000, 10_000_001];
        let users: Vec<User> =
            sizes.iter().enumerate().map(|(i, bytes)| user(i, *bytes, Some(3.0))).collect();
        let population = Population::new("ours", 2, &users, NO_SHARES, true);
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

//! The mean time budget of a variant's runs.

use crate::document::Results;
use crate::run::{Flow, Point};
use crate::time_budget::{TIME_PARTS, TimePart};
use std::collections::BTreeMap;

/// The mean time budget of one visit of one flow, over the completed runs of a variant at a point
/// of the sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Account<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Value of each swept key.
    pub point: &'a Point,
    /// Name of the flow.
    pub flow: &'a str,
    /// Number of the visit.
    pub visit: usize,
    /// Completion time of each completed run, with the number of the run, in their order.
    pub completions: Vec<(u64, f64)>,
    /// Mean time of each part, in the order of [`TIME_PARTS`].
    pub parts: Vec<f64>,
    /// Mean number of packets that were lost, by cause.
    pub losses: Losses,
}

/// Packets of a transfer that were lost: those of its data by cause, and those of the reverse
/// direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Losses {
    /// Lost by loss processes of links.
    pub channel: f64,
    /// Dropped by full queues or active queue management.
    pub queue: f64,
    /// Dropped by policers.
    pub policer: f64,
    /// Lost in handovers or without a route.
    pub routing: f64,
    /// Packets of the reverse direction, lost for whatever reason.
    pub reverse: f64,
}

impl Losses {
    /// Returns true if packets were dropped because there were too many: no start survives that,
    /// while some do not end at losses on the channel.
    pub(super) fn of_congestion(&self) -> bool {
        self.queue + self.policer > 0.0
    }

    /// Returns the most frequent cause in words, with its packets: the way to the sender, if
    /// no packet of the data was lost; `None` without any loss.
    pub(super) fn most(&self) -> Option<(&'static str, f64)> {
        let Self { channel, queue, policer, routing, reverse } = *self;
        let all = [
            ("on the channel", channel),
            ("at a full queue", queue),
            ("at the policer", policer),
            ("in route changes", routing),
        ];
        let most = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let reverse = ("on the way to the sender", reverse);
        [most?, reverse].into_iter().find(|(_, packets)| *packets > 0.0)
    }
}

impl Account<'_> {
    /// Returns the mean completion time in seconds.
    pub fn mean_s(&self) -> f64 {
        let sum: f64 = self.completions.iter().map(|(_, seconds)| seconds).sum();
        sum / self.completions.len().max(1) as f64
    }

    /// Returns the number of the run whose completion time is nearest to the median.
    pub fn typical_run(&self) -> Option<u64> {
        let mut sorted = self.completions.clone();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        sorted.get(sorted.len().saturating_sub(1) / 2).map(|(run, _)| *run)
    }

    /// Returns the parts that have time, with their mean times in seconds.
    pub fn times(&self) -> impl Iterator<Item = (&'static TimePart, f64)> {
        TIME_PARTS.iter().zip(self.parts.iter().copied()).filter(|(_, time)| *time > 0.0)
    }

    /// Returns the mean time of the part with this name, in seconds.
    pub fn time_s(&self, name: &str) -> f64 {
        self.times().find(|(part, _)| part.name == name).map_or(0.0, |(_, time)| time)
    }

    /// Returns the parts that have time, with their mean times, longest first: those that every
    /// transfer has if `needed`, or the causes of slowness.
    pub fn longest_parts(&self, needed: bool) -> Vec<(&'static TimePart, f64)> {
        let mut parts: Vec<_> = self.times().filter(|(part, _)| part.is_needed == needed).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }

    /// Returns the standard error of the mean completion time; `None` with fewer than two runs.
    pub(super) fn standard_error(&self) -> Option<f64> {
        let n = self.completions.len();
        let mean = self.mean_s();
        let squares: f64 = self.completions.iter().map(|(_, time)| (time - mean).powi(2)).sum();
        (n >= 2).then(|| (squares / (n - 1) as f64 / n as f64).sqrt())
    }
}

/// Returns the accounts of all measured visits with a time budget, in the order of the results.
pub fn accounts(results: &Results) -> Vec<Account<'_>> {
    let mut accounts: Vec<Account<'_>> = Vec::new();
    let mut index = BTreeMap::new();
    for run in &results.runs {
        for flow in &run.flows {
            let (Some(budget), Some(completion)) = (&flow.time_budget, flow.metrics.completion_s)
            else {
                continue;
            };
            let Flow { name, visit, .. } = flow;
            let key = (&run.variant, &run.point, name, *visit);
            let place = *index.entry(key).or_insert_with(|| {
                accounts.push(Account {
                    variant: &run.variant,
                    point: &run.point,
                    flow: name,
                    visit: *visit,
                    completions: Vec::new(),
                    parts: vec![0.0; TIME_PARTS.len()],
                    losses: Losses::default(),
                });
                accounts.len() - 1
            });
            if let Some(account) = accounts.get_mut(place) {
                account.completions.push((run.run, completion));
                let lost = &flow.metrics;
                account.losses.channel += lost.packets_lost_channel as f64;
                account.losses.queue += lost.packets_lost_queue as f64;
                account.losses.policer += lost.packets_lost_policer as f64;
                account.losses.routing += lost.packets_lost_routing as f64;
                account.losses.reverse += lost.reverse_packets_lost as f64;
                for (sum, part) in account.parts.iter_mut().zip(TIME_PARTS) {
                    *sum += (part.read)(budget);
                }
            }
        }
    }
    for account in &mut accounts {
        let n = account.completions.len().max(1) as f64;
        account.parts.iter_mut().for_each(|sum| *sum /= n);
        let Losses { channel, queue, policer, routing, reverse } = &mut account.losses;
        [channel, queue, policer, routing, reverse].into_iter().for_each(|sum| *sum /= n);
    }
    accounts
}

/// Groups accounts by flow and sweep point, in the order of the first of each.
pub fn groups<'r, 'a>(accounts: &'r [Account<'a>]) -> Vec<Vec<&'r Account<'a>>> {
    let mut groups: Vec<Vec<&Account<'_>>> = Vec::new();
    let mut index = BTreeMap::new();
    for account in accounts {
        let place = *index.entry((account.point, account.flow)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(account),
            None => groups.push(vec![account]),
        }
    }
    groups
}

/// Returns the pairs of a group's accounts to compare: each with the first variant's.
///
/// Visits with the same number are compared. If no other variant has the visits of the first, all
/// are compared with its first visit.
pub fn pairs_of<'r, 'a>(group: &[&'r Account<'a>]) -> Vec<(&'r Account<'a>, &'r Account<'a>)> {
    let Some(first) = group.first().copied() else { return Vec::new() };
    let of_first = group.iter().filter(|account| account.variant == first.variant);
    let visits: BTreeMap<usize, &Account<'_>> =
        of_first.map(|&account| (account.visit, account)).collect();
    let base = |account: &Account<'_>| match visits.get(&account.visit) {
        Some(same_visit) if account.variant != first.variant => *same_visit,
        // Later visits of the first variant, and visits that it does not have.
        _ => first,
    };
    let others = group.iter().skip(1);
    others.map(|&account| (base(account), account)).collect()
}

/// Returns the pairs of all groups.
pub fn pairs<'r, 'a>(accounts: &'r [Account<'a>]) -> Vec<(&'r Account<'a>, &'r Account<'a>)> {
    groups(accounts).iter().flat_map(|group| pairs_of(group)).collect()
}

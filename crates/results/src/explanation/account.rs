//! The time budget of a variant's median run.
//!
//! Tables show medians over the runs. Parts of a time add up to it in each run, and so do their
//! means over runs, but not their medians. The account of several runs is therefore that of the run
//! in the middle, or the mean of the two in the middle if their number is even: its parts add up,
//! and its metric is the median that the tables show.

use crate::document::Results;
use crate::flow_metrics::{FlowMetric, find_metric};
use crate::headline::{Headlines, WORKLOADS};
use crate::metrics::{Better, Row};
use crate::run::{Flow, Point};
use crate::time_budget::LossTime;
use bentpipe_timeseries::{LossPlace, TimePart};
use std::collections::BTreeMap;

/// The median of one visit of one flow, over the completed runs of a variant at a point of the
/// sweep: the metric that its workload is about, and the time budget.
#[derive(Debug, Clone)]
pub struct Account<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Value of each swept key.
    pub point: &'a Point,
    /// Name of the flow.
    pub flow: &'a str,
    /// Number of the visit.
    pub visit: usize,
    /// The metric that comparisons are of.
    pub row: Row,
    /// Its value in each completed run, with the number of the run, in their order.
    pub values: Vec<(u64, f64)>,
    /// Number of runs, whether they completed or not.
    pub runs: usize,
    /// Completion time of the median run in seconds, or the fixed duration of the visit.
    pub completion_s: f64,
    /// Time of each part in the median run, in the order of [`TimePart::ALL`]; empty if unknown,
    /// as for datagrams.
    pub parts: Vec<f64>,
    /// Number of packets that were lost in the median run, by cause.
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
    /// Seconds that losses cost at each place, in the order of [`LossPlace::ALL`]; zero if that is
    /// not known.
    pub cost_s: [f64; LossPlace::ALL.len()],
    /// The part of these that losses of the reverse direction cost.
    pub reverse_cost_s: f64,
}

impl Losses {
    /// Returns true if packets were dropped because there were too many: no start survives that,
    /// while some do not end at losses on the channel.
    pub(super) fn of_congestion(&self) -> bool {
        self.queue + self.policer > 0.0
    }

    /// Returns the place of the losses that cost the most time in words, with its packets.
    pub(super) fn costliest(&self) -> Option<(&'static str, f64)> {
        let costs = LossPlace::ALL.into_iter().zip(self.cost_s);
        let (place, cost) = costs.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let packets = self.packets(place);
        if cost <= 0.0 || packets <= 0.0 {
            return self.most();
        }
        // Lost acknowledgements are not counted by place.
        let of_reverse = self.reverse_cost_s > self.cost_s.iter().sum::<f64>() / 2.0;
        Some((place.words(), packets + if of_reverse { self.reverse } else { 0.0 }))
    }

    /// Adds a share of those of a flow.
    fn add(&mut self, flow: &Flow, share: f64) {
        let own = &flow.metrics;
        self.channel += own.packets_lost_channel as f64 * share;
        self.queue += own.packets_lost_queue as f64 * share;
        self.policer += own.packets_lost_policer as f64 * share;
        self.routing += own.packets_lost_routing as f64 * share;
        self.reverse += own.reverse_packets_lost as f64 * share;
        let LossTime { channel_s, queue_s, policer_s, routing_s, reverse_s } = flow.loss_time;
        self.reverse_cost_s += reverse_s * share;
        for (sum, cost) in self.cost_s.iter_mut().zip([channel_s, queue_s, policer_s, routing_s]) {
            *sum += cost * share;
        }
    }

    fn packets(&self, place: LossPlace) -> f64 {
        match place {
            LossPlace::Channel => self.channel,
            LossPlace::Queue => self.queue,
            LossPlace::Policer => self.policer,
            LossPlace::Routing => self.routing,
        }
    }

    /// Returns the most frequent place in words, with its packets: the way to the sender, if
    /// no packet of the data was lost; `None` without any loss.
    pub(super) fn most(&self) -> Option<(&'static str, f64)> {
        let all = LossPlace::ALL.map(|place| (place.words(), self.packets(place)));
        let most = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let reverse = ("on the way to the sender", self.reverse);
        [most?, reverse].into_iter().find(|(_, packets)| *packets > 0.0)
    }
}

impl<'a> Account<'a> {
    /// Returns the account of a transfer that did not complete, until it ended; `None` if it is not
    /// known what the time was spent on.
    pub(crate) fn until_failure(
        variant: &'a str,
        point: &'a Point,
        flow: &'a Flow,
    ) -> Option<Self> {
        let parts: Vec<f64> = flow.time_budget?.parts().map(|(_, seconds)| seconds).collect();
        let mut account = Self::single(variant, point, parts.iter().sum(), parts);
        account.losses.add(flow, 1.0);
        Some(account)
    }

    /// Returns the account of a single transfer of `completion_s` seconds.
    pub fn single(variant: &'a str, point: &'a Point, completion_s: f64, parts: Vec<f64>) -> Self {
        Self {
            variant,
            point,
            flow: "main",
            visit: 1,
            row: completion_row(),
            values: vec![(0, completion_s)],
            runs: 1,
            completion_s,
            parts,
            losses: Losses::default(),
        }
    }
}

/// Returns the row of the completion time.
fn completion_row() -> Row {
    let known = find_metric(WORKLOADS[0].headline).map(|metric| metric.row);
    let (unit, better) = ("s", Better::Lower);
    known.unwrap_or(Row { name: "", unit, better, label: "", about: "", detail: false })
}

impl Account<'_> {
    /// Returns the median of the metric.
    pub fn value(&self) -> f64 {
        let middle = middle(&self.values);
        middle.iter().map(|(_, value)| value).sum::<f64>() / middle.len().max(1) as f64
    }

    /// Returns true if some runs did not complete: the median is that of the others.
    pub(super) fn is_partial(&self) -> bool {
        self.values.len() < self.runs
    }

    /// Returns true if comparisons are of the time that the transfer takes.
    pub fn is_completion(&self) -> bool {
        self.row.name == WORKLOADS[0].headline
    }

    /// Returns the number of the run in the middle.
    pub fn typical_run(&self) -> Option<u64> {
        middle(&self.values).first().map(|(run, _)| *run)
    }

    /// Returns true if it is known what the time was spent on.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns the parts that have time, with their times in seconds.
    pub fn times(&self) -> impl Iterator<Item = (TimePart, f64)> {
        TimePart::ALL.into_iter().zip(self.parts.iter().copied()).filter(|(_, time)| *time > 0.0)
    }

    /// Returns the time of the part with this name, in seconds.
    pub fn time_s(&self, name: &str) -> f64 {
        self.times().find(|(part, _)| part.name() == name).map_or(0.0, |(_, time)| time)
    }

    /// Returns the parts that have time, with their times, longest first: those that every transfer
    /// has if `needed`, or the causes of slowness.
    pub fn longest_parts(&self, needed: bool) -> Vec<(TimePart, f64)> {
        let mut parts: Vec<_> =
            self.times().filter(|(part, _)| part.is_needed() == needed).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }

    /// Returns the standard error of the median; `None` with fewer than two runs. It is that of the
    /// mean times the root of pi/2, exact for large normal samples; values with long tails have a
    /// larger deviation, so that a difference counts as one later.
    pub(super) fn standard_error(&self) -> Option<f64> {
        let n = self.values.len();
        let mean = self.values.iter().map(|(_, value)| value).sum::<f64>() / n.max(1) as f64;
        let squares: f64 = self.values.iter().map(|(_, value)| (value - mean).powi(2)).sum();
        let of_mean = (n >= 2).then(|| (squares / (n - 1) as f64 / n as f64).sqrt());
        of_mean.map(|error| error * std::f64::consts::FRAC_PI_2.sqrt())
    }
}

/// Returns the run in the middle, or the two if their number is even, the smaller value first.
fn middle(values: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let n = sorted.len();
    sorted.get(n.saturating_sub(1) / 2..(n / 2 + 1).min(n)).unwrap_or_default().to_vec()
}

/// The completed runs of one case, before its median is known.
struct Case<'a> {
    account: Account<'a>,
    metric: FlowMetric,
    flows: Vec<(u64, &'a Flow)>,
}

impl<'a> Case<'a> {
    /// Returns the account of the run or runs in the middle; `None` if no run has the metric.
    fn finish(mut self) -> Option<Account<'a>> {
        let read = |(run, flow): &(u64, &'a Flow)| Some((*run, self.metric.read(flow)?));
        self.account.values = self.flows.iter().filter_map(read).collect();
        let middle = middle(&self.account.values);
        let share = 1.0 / middle.len().max(1) as f64;
        let chosen = |run: u64| middle.iter().any(|(number, _)| *number == run);
        let flows = self.flows.iter().filter(|(run, _)| chosen(*run)).map(|(_, flow)| *flow);
        let mut known = true;
        let mut parts = vec![0.0; TimePart::COUNT];
        for flow in flows {
            let own = &flow.metrics;
            self.account.completion_s += own.completion_s.unwrap_or_default() * share;
            self.account.losses.add(flow, share);
            let Some(budget) = &flow.time_budget else {
                known = false;
                continue;
            };
            for (sum, (_, seconds)) in parts.iter_mut().zip(budget.parts()) {
                *sum += seconds * share;
            }
        }
        self.account.parts = if known { parts } else { Vec::new() };
        (!middle.is_empty()).then_some(self.account)
    }
}

/// Returns the accounts of all measured visits that have completed, in the order of the results.
pub fn accounts(results: &Results) -> Vec<Account<'_>> {
    let headlines = Headlines::of(results);
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut index = BTreeMap::new();
    for run in &results.runs {
        for flow in &run.flows {
            let key = (&run.variant, &run.point, &flow.name, flow.visit);
            let Some(headline) = headlines.get(&flow.name, flow.visit) else { continue };
            let Some(metric) = find_metric(headline.row.name) else { continue };
            let place = *index.entry(key).or_insert_with(|| {
                let account = Account {
                    variant: &run.variant,
                    point: &run.point,
                    flow: &flow.name,
                    visit: flow.visit,
                    row: metric.row,
                    values: Vec::new(),
                    runs: 0,
                    completion_s: 0.0,
                    parts: Vec::new(),
                    losses: Losses::default(),
                };
                cases.push(Case { account, metric, flows: Vec::new() });
                cases.len() - 1
            });
            if let Some(case) = cases.get_mut(place) {
                case.account.runs += 1;
                if flow.metrics.completion_s.is_some() {
                    case.flows.push((run.run, flow));
                }
            }
        }
    }
    cases.into_iter().filter_map(Case::finish).collect()
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

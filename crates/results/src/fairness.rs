//! Fairness of competing flows, computed from the bytes that each receives over time.
//!
//! The figures cover the time in which all competing flows of a run are active, after a warm-up.
//! They are those of RFC 5166 §2.3: Jain's index, the ratio of the smallest share to the largest,
//! and a convergence time.

use crate::metrics::SharedMetrics;
use bentpipe_timeseries::TenthCounts;
use bentpipe_units::{Bytes, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Name of all flows together, in place of the name of a flow.
pub const ALL_FLOWS: &str = "all";
/// Interval in which received bytes are counted.
pub const TENTH: Span = Span::from_millis(100);
/// Divisor of the default warm-up: a fifth of the time in which all flows are active, which is
/// long enough for slow start in runs of usual duration.
const WARMUP_DIVISOR: u64 = 5;
/// Minimum time over which shares are computed, in tenths of a second: one second, a few RTTs.
const MIN_TENTHS: usize = 10;
/// Sliding window of the convergence time, in tenths of a second: two seconds, several RTTs even
/// of a geostationary path.
const WINDOW: usize = 20;
/// Maximum relative deficit of a converged flow from its final share: δ of RFC 5166 §2.3, with the
/// value of Bansal, Balakrishnan, Floyd and Shenker, "Dynamic behavior of slowly-responsive
/// congestion control algorithms", SIGCOMM 2001.
const DELTA: f64 = 0.1;
/// A link carries the data of a flow, not only its ACKs, if the bytes carried exceed this fraction
/// of the bytes received. ACKs are at most a twentieth of the data.
const DATA_FRACTION: f64 = 0.1;

/// Fairness of the competing flows of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// Share of each flow.
    pub flows: Vec<Share>,
    /// Start of the evaluated time, in seconds since the start of the run.
    pub from_s: f64,
    /// End of the evaluated time, in seconds since the start of the run.
    pub to_s: f64,
    /// Warm-up before `from_s`, in seconds.
    pub warmup_s: f64,
    /// Metrics of all flows together.
    #[serde(flatten)]
    pub metrics: SharedMetrics,
    /// Link that the flows compete for; `null` if there is none.
    pub bottleneck: Option<String>,
}

/// The share of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Name of the flow.
    pub flow: String,
    /// Goodput in the evaluated time.
    pub goodput_mbps: f64,
    /// Fraction of the bytes that all flows received.
    pub share: f64,
}

/// A competing flow.
#[derive(Debug, Clone)]
pub struct Contender<'a> {
    /// Name of the flow.
    pub name: &'a str,
    /// Index of the flow in the run.
    pub index: usize,
    /// Start of the flow.
    pub start: Time,
    /// End of the flow.
    pub end: Time,
    /// Bytes received.
    pub received: u64,
    /// Bytes received in each tenth of a second since the start of the run.
    pub received_by_tenth: &'a TenthCounts,
}

impl Contender<'_> {
    fn received(&self, tenths: Range<usize>) -> u64 {
        self.received_by_tenth.sum(tenths)
    }
}

/// Use of a link by the flows of a run.
#[derive(Debug, Clone)]
pub struct LinkUse<'a> {
    /// Name of the link.
    pub name: &'a str,
    /// Bytes carried, by index of the flow.
    pub carried: &'a [(usize, u64)],
    /// Fraction of time spent transmitting.
    pub utilisation: f64,
    /// Mean queueing delay.
    pub queue_mean: Span,
}

impl Fairness {
    /// Computes the figures of one run, after a warm-up of `warmup` since the start of the last
    /// flow.
    ///
    /// Returns `None` for fewer than two flows, if the flows are active together for less than a
    /// second after the warm-up, or if they receive nothing in that time.
    pub fn of(
        contenders: &[Contender<'_>],
        links: &[LinkUse<'_>],
        warmup: Option<Span>,
    ) -> Option<Self> {
        if contenders.len() < 2 {
            return None;
        }
        let begin = contenders.iter().map(|flow| flow.start).max()?;
        let end = contenders.iter().map(|flow| flow.end).min()?;
        let default = || Span::from_nanos(end.since(begin).as_nanos() / WARMUP_DIVISOR);
        let warmup = warmup.unwrap_or_else(default);
        let counted = tenths(begin + warmup, end);
        if counted.len() < MIN_TENTHS {
            return None;
        }
        let received: Vec<u64> =
            contenders.iter().map(|flow| flow.received(counted.clone())).collect();
        let shares = shares(&received)?;
        let span = TENTH * counted.len() as u64;
        let mbps = |bytes: u64| Rate::over(Bytes::new(bytes), span).as_mbps_f64();
        let (least, most) = (received.iter().min()?, received.iter().max()?);
        let bottleneck = bottleneck(contenders, links);
        let each = contenders.iter().zip(received.iter().zip(&shares));
        Some(Self {
            flows: each
                .map(|(flow, (&bytes, &share))| Share {
                    flow: flow.name.to_owned(),
                    goodput_mbps: mbps(bytes),
                    share,
                })
                .collect(),
            from_s: (TENTH * counted.start as u64).as_secs_f64(),
            to_s: (TENTH * counted.end as u64).as_secs_f64(),
            warmup_s: warmup.as_secs_f64(),
            metrics: SharedMetrics {
                jain_index: jain(&shares),
                min_max_ratio: *least as f64 / *most as f64,
                aggregate_goodput_mbps: mbps(received.iter().sum()),
                bottleneck_utilisation: bottleneck.map(|link| link.utilisation),
                bottleneck_queue_ms: bottleneck.map(|link| link.queue_mean.as_millis_f64()),
                convergence_s: convergence(contenders, &shares, begin, end).map(Span::as_secs_f64),
            },
            bottleneck: bottleneck.map(|link| link.name.to_owned()),
        })
    }
}

/// Returns the whole tenths of a second between two times.
fn tenths(from: Time, to: Time) -> Range<usize> {
    let nanos = TENTH.as_nanos();
    (from.as_nanos().div_ceil(nanos) as usize)..((to.as_nanos() / nanos) as usize)
}

/// Returns the fraction of each flow; `None` if nothing was received.
fn shares(received: &[u64]) -> Option<Vec<f64>> {
    let sum: u64 = received.iter().sum();
    (sum > 0).then(|| received.iter().map(|&bytes| bytes as f64 / sum as f64).collect())
}

/// Returns Jain's index (Σx)² / (n Σx²): Jain, Chiu and Hawe, DEC-TR-301, 1984.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// Returns the link that carries the data of the most flows; of several such links, the busiest.
fn bottleneck<'a>(
    contenders: &[Contender<'_>],
    links: &'a [LinkUse<'a>],
) -> Option<&'a LinkUse<'a>> {
    let crossing = |link: &LinkUse<'_>| {
        let crosses = |flow: &&Contender<'_>| {
            let data = flow.received as f64 * DATA_FRACTION;
            link.carried.iter().any(|&(index, bytes)| index == flow.index && bytes as f64 > data)
        };
        contenders.iter().filter(crosses).count()
    };
    let mut found: Option<(usize, &LinkUse<'_>)> = None;
    for link in links {
        let flows = crossing(link);
        let better = found.is_none_or(|(most, best)| {
            flows > most || (flows == most && link.utilisation > best.utilisation)
        });
        // Flows do not compete on a link that only one of them uses.
        if flows > 1 && better {
            found = Some((flows, link));
        }
    }
    found.map(|(_, link)| link)
}

/// Returns the part that flows with the indices `own`, which have `received` bytes together, have
/// in what the busiest link with their data carried, in percent. `None` without such a link.
pub fn link_share_percent(
    own: &BTreeSet<usize>,
    received: u64,
    links: &[LinkUse<'_>],
) -> Option<f64> {
    let (mut busiest, mut share) = (f64::NEG_INFINITY, None);
    for link in links {
        let mine = link.carried.iter().filter(|(index, _)| own.contains(index));
        let part: u64 = mine.map(|(_, bytes)| bytes).sum();
        let carries_data = part as f64 > received as f64 * DATA_FRACTION;
        if carries_data && link.utilisation > busiest {
            let whole: u64 = link.carried.iter().map(|(_, bytes)| bytes).sum();
            (busiest, share) = (link.utilisation, Some(part as f64 / whole as f64 * 100.0));
        }
    }
    share
}

/// Returns the time from the start of the last flow to the end of the first window in which every
/// flow has at least (1 - δ) of its final share.
///
/// This generalises the δ-fair convergence time of RFC 5166 §2.3, which assumes equal shares: flows
/// with different RTTs may converge to unequal shares. For two flows with equal final shares, both
/// definitions agree.
fn convergence(contenders: &[Contender<'_>], last: &[f64], begin: Time, end: Time) -> Option<Span> {
    let active = tenths(begin, end);
    let window = (active.start..active.end).map(|start| start..start + WINDOW).find(|window| {
        let received: Vec<u64> =
            contenders.iter().map(|flow| flow.received(window.clone())).collect();
        let inside = window.end <= active.end;
        inside
            && shares(&received).is_some_and(|shares| {
                shares.iter().zip(last).all(|(share, last)| *share >= last * (1.0 - DELTA))
            })
    })?;
    Some((Time::ZERO + TENTH * window.end as u64).since(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that each of two flows receives in each tenth of a second. The flows last
    /// 20 s, and the second starts after 10 s.
    fn run(a: fn(usize) -> u64, b: fn(usize) -> u64) -> [TenthCounts; 2] {
        let counts = |of: fn(usize) -> u64| {
            TenthCounts::from((0..300).map(of).collect::<Vec<_>>().as_slice())
        };
        [counts(a), counts(b)]
    }

    fn contenders(received: &[TenthCounts; 2]) -> Vec<Contender<'_>> {
        let flow = |index: usize, name, start: u64| Contender {
            name,
            index,
            start: Time::from_secs(start),
            end: Time::from_secs(start + 20),
            received: received[index].sum(0..300),
            received_by_tenth: &received[index],
        };
        vec![flow(0, "a", 0), flow(1, "b", 10)]
    }

    fn of(received: &[TenthCounts; 2], warmup: Option<u64>) -> Option<Fairness> {
        Fairness::of(&contenders(received), &[], warmup.map(Span::from_secs))
    }

    #[test]
    fn shares_cover_the_time_in_which_all_flows_are_active_after_the_warm_up() {
        // The rates differ before 12 s (the warm-up) and after 20 s (the first flow has ended).
        let received = run(
            |tenth| if (120..200).contains(&tenth) { 3_000 } else { 77 },
            |tenth| if (120..200).contains(&tenth) { 1_000 } else { 99_000 },
        );
        let found = of(&received, None).unwrap();
        assert_eq!(
            (found.from_s, found.to_s, found.warmup_s),
            (12.0, 20.0, 2.0),
            "a fifth of ten seconds"
        );
        assert_eq!(found.flows.iter().map(|flow| flow.share).collect::<Vec<_>>(), [0.75, 0.25]);
        // (3 + 1)² / (2 · (9 + 1))
        assert!((found.metrics.jain_index - 0.8).abs() < 1e-12);
        assert!((found.metrics.min_max_ratio - 1.0 / 3.0).abs() < 1e-12);
        // 4,000 bytes in a tenth of a second.
        assert!((found.metrics.aggregate_goodput_mbps - 0.32).abs() < 1e-9);
        let other = of(&received, Some(4)).unwrap();
        assert_eq!((other.from_s, other.warmup_s), (14.0, 4.0));
    }

    #[test]
    fn the_bottleneck_is_the_busiest_link_that_carries_the_data_of_all_flows() {
        let received = run(|_| 1_000, |_| 1_000);
        let link = |name, carried, utilisation| LinkUse {
            name,
            carried,
            utilisation,
            queue_mean: Span::from_millis(5),
        };
        let links = [
            link("narrow", &[(0, 60_000), (1, 60_000), (2, 60_000)][..], 0.9),
            link("acks", &[(0, 100), (1, 100)][..], 0.99),
            link("alone", &[(0, 60_000)][..], 1.0),
            link("wide", &[(0, 60_000), (1, 60_000)][..], 0.1),
        ];
        let found = Fairness::of(&contenders(&received), &links, None).unwrap();
        assert_eq!(found.bottleneck.as_deref(), Some("narrow"));
        let metrics = &found.metrics;
        assert_eq!(
            (metrics.bottleneck_utilisation, metrics.bottleneck_queue_ms),
            (Some(0.9), Some(5.0))
        );
        let apart = Fairness::of(&contenders(&received), &links[2..3], None).unwrap();
        assert_eq!(apart.bottleneck, None);
    }

    #[test]
    fn the_share_of_a_group_is_that_of_its_busiest_link_with_data() {
        let link = |carried, utilisation| LinkUse {
            name: "link",
            carried,
            utilisation,
            queue_mean: Span::ZERO,
        };
        let links = [
            link(&[(0, 30_000), (1, 30_000), (2, 20_000)][..], 0.9),
            // Acknowledgements of the group; and a link that is less busy.
            link(&[(0, 100), (1, 100), (3, 90_000)][..], 0.99),
            link(&[(0, 30_000), (1, 30_000)][..], 0.2),
        ];
        let own = BTreeSet::from([0, 1]);
        assert_eq!(link_share_percent(&own, 58_000, &links), Some(75.0));
        assert_eq!(link_share_percent(&own, 58_000, &links[1..2]), None);
        assert_eq!(link_share_percent(&own, 58_000, &[]), None);
    }

    #[test]
    fn convergence_is_the_end_of_the_first_window_with_the_final_shares() {
        let convergence = |received: &[TenthCounts; 2], warmup| {
            of(received, warmup).unwrap().metrics.convergence_s
        };
        // The second flow receives nothing for three seconds, then half. It has converged in a
        // window with data in n of 20 tenths if n / (20 + n) ≥ 0.9 · 0.5, so n = 17.
        let late = run(|_| 1_000, |tenth| if tenth < 130 { 0 } else { 1_000 });
        assert_eq!(convergence(&late, Some(5)), Some(4.7));
        let equal = run(|_| 1_000, |_| 1_000);
        assert_eq!(convergence(&equal, None), Some(2.0), "the length of a window");
        let bursts = run(|_| 1_000, |tenth| if tenth % 40 == 0 { 40_000 } else { 0 });
        assert_eq!(convergence(&bursts, None), None, "the shares never converge");
    }

    #[test]
    fn a_single_flow_separate_flows_and_flows_without_data_have_no_fairness() {
        let received = run(|_| 1_000, |_| 1_000);
        assert_eq!(of(&received, Some(10)), None, "no time after the warm-up");
        assert_eq!(Fairness::of(&contenders(&received)[..1], &[], None), None, "one flow");
        let mut apart = contenders(&received);
        apart[1].start = Time::from_secs(21);
        apart[1].end = Time::from_secs(30);
        assert_eq!(Fairness::of(&apart, &[], None), None, "the flows are never active together");
        assert_eq!(of(&run(|_| 0, |_| 0), None), None, "nothing received");
    }
}

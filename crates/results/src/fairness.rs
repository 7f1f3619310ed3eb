//! How competing flows share a path, from what each has received over time.
//!
//! The figures cover the time in which all competing flows of a run are active, without a warm-up
//! at its beginning. They are those of RFC 5166 §2.3: Jain's index, the ratio of the smallest share
//! to the largest, and a convergence time.

use crate::SharedMetrics;
use bentpipe_units::{Bytes, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Name that stands for all flows together where results name a flow.
pub const ALL_FLOWS: &str = "all";
/// Bytes received are counted in intervals of this length.
const TENTH: Span = Span::from_millis(100);
/// The default warm-up is this part of the time in which all flows are active: a fifth, long enough
/// for slow start to end in runs of a usual length.
const WARMUP: u64 = 5;
/// Shortest time, in tenths of a second, over which shares are computed: a second, some RTTs.
const SHORTEST: usize = 10;
/// Length, in tenths of a second, of the sliding window of the convergence time: two seconds,
/// several RTTs even of a geostationary path.
const WINDOW: usize = 20;
/// How far below its final share a flow may be that has converged, relatively: the δ of RFC 5166
/// §2.3, with the value of Bansal, Balakrishnan, Floyd and Shenker, "Dynamic behavior of
/// slowly-responsive congestion control algorithms", SIGCOMM 2001.
const DELTA: f64 = 0.1;
/// A link carries a flow's data, and not its ACKs, if it has carried more than this part of what
/// the flow received. ACKs amount to a twentieth of the data at most.
const DATA: f64 = 0.1;

/// How the competing flows of one run shared the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// The share of each flow.
    pub flows: Vec<Share>,
    /// Start of the time that is counted, since the start of the run.
    pub from_s: f64,
    /// End of the time that is counted.
    pub to_s: f64,
    /// Length of the warm-up before `from_s`.
    pub warmup_s: f64,
    /// The figures of all flows together.
    #[serde(flatten)]
    pub metrics: SharedMetrics,
    /// The link that the flows compete for.
    pub bottleneck: Option<String>,
}

/// The share of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Name of the flow.
    pub flow: String,
    /// Its goodput.
    pub goodput_mbps: f64,
    /// Its fraction of what all flows received.
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
    pub received_by_tenth: &'a [u64],
}

impl Contender<'_> {
    fn received(&self, tenths: Range<usize>) -> u64 {
        let all = self.received_by_tenth;
        let end = tenths.end.min(all.len());
        all.get(tenths.start.min(end)..end).unwrap_or_default().iter().sum()
    }
}

/// What a link carried.
#[derive(Debug, Clone)]
pub struct LinkUse<'a> {
    /// Name of the link.
    pub name: &'a str,
    /// Bytes by index of the flow.
    pub carried: &'a [(usize, u64)],
    /// Fraction of time spent transmitting.
    pub utilisation: f64,
    /// Mean queueing delay.
    pub queue_mean: Span,
}

impl Fairness {
    /// The figures of one run, after a warm-up of `warmup` since the start of the last flow.
    ///
    /// `None` with fewer than two flows, with less than a second in which all of them are active
    /// after the warm-up, or if nothing was received in it.
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
        let fifth = || Span::from_nanos(end.since(begin).as_nanos() / WARMUP);
        let warmup = warmup.unwrap_or_else(fifth);
        let counted = tenths(begin + warmup, end);
        if counted.len() < SHORTEST {
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

/// The whole tenths of a second between two times.
fn tenths(from: Time, to: Time) -> Range<usize> {
    let nanos = TENTH.as_nanos();
    (from.as_nanos().div_ceil(nanos) as usize)..((to.as_nanos() / nanos) as usize)
}

/// Fraction of each; `None` if nothing was received.
fn shares(received: &[u64]) -> Option<Vec<f64>> {
    let sum: u64 = received.iter().sum();
    (sum > 0).then(|| received.iter().map(|&bytes| bytes as f64 / sum as f64).collect())
}

/// (Σx)² / (n Σx²): Jain, Chiu and Hawe, DEC-TR-301, 1984. Shares sum to one.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// The link that carries the data of most flows; of several such links, the busiest.
fn bottleneck<'a>(
    contenders: &[Contender<'_>],
    links: &'a [LinkUse<'a>],
) -> Option<&'a LinkUse<'a>> {
    let crossing = |link: &LinkUse<'_>| {
        let crosses = |flow: &&Contender<'_>| {
            let data = flow.received as f64 * DATA;
            link.carried.iter().any(|&(place, bytes)| place == flow.index && bytes as f64 > data)
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

/// The δ-fair convergence time of RFC 5166 §2.3, generalised: the final share of each flow takes the
/// place of an equal share, because flows with different RTTs may settle at unequal ones. It is the
/// time from the start of the last flow to the end of the first window in which no flow has less
/// than (1 - δ) of its final share. For two flows with equal final shares it is the original.
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

    /// Two flows of 20 s of which the second starts after 10 s, with the bytes that each receives
    /// in each tenth of a second.
    fn run(a: fn(usize) -> u64, b: fn(usize) -> u64) -> [Vec<u64>; 2] {
        [(0..300).map(a).collect(), (0..300).map(b).collect()]
    }

    fn contenders(received: &[Vec<u64>; 2]) -> Vec<Contender<'_>> {
        let flow = |index: usize, name, start: u64| Contender {
            name,
            index,
            start: Time::from_secs(start),
            end: Time::from_secs(start + 20),
            received: received[index].iter().sum(),
            received_by_tenth: &received[index],
        };
        vec![flow(0, "a", 0), flow(1, "b", 10)]
    }

    fn of(received: &[Vec<u64>; 2], warmup: Option<u64>) -> Option<Fairness> {
        Fairness::of(&contenders(received), &[], warmup.map(Span::from_secs))
    }

    #[test]
    fn shares_cover_the_time_in_which_all_flows_are_active_after_the_warm_up() {
        // Before 12 s everything differs, and after 20 s too: the first flow has ended.
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
    fn convergence_is_the_end_of_the_first_window_with_the_final_shares() {
        let convergence =
            |received: &[Vec<u64>; 2], warmup| of(received, warmup).unwrap().metrics.convergence_s;
        // The second flow receives nothing for three seconds, then half. In a window, n of its 20
        // tenths with n / (20 + n) ≥ 0.9 · 0.5, so that 17 lie after 3 s.
        let late = run(|_| 1_000, |tenth| if tenth < 130 { 0 } else { 1_000 });
        assert_eq!(convergence(&late, Some(5)), Some(4.7));
        let equal = run(|_| 1_000, |_| 1_000);
        assert_eq!(convergence(&equal, None), Some(2.0), "the length of a window");
        let bursts = run(|_| 1_000, |tenth| if tenth % 40 == 0 { 40_000 } else { 0 });
        assert_eq!(convergence(&bursts, None), None, "it never settles");
    }

    #[test]
    fn one_flow_flows_apart_and_nothing_received_have_no_fairness() {
        let received = run(|_| 1_000, |_| 1_000);
        assert_eq!(of(&received, Some(10)), None, "no time is left");
        assert_eq!(Fairness::of(&contenders(&received)[..1], &[], None), None, "one flow");
        let mut apart = contenders(&received);
        apart[1].start = Time::from_secs(21);
        apart[1].end = Time::from_secs(30);
        assert_eq!(Fairness::of(&apart, &[], None), None, "one after the other");
        assert_eq!(of(&run(|_| 0, |_| 0), None), None, "nothing to share");
    }
}

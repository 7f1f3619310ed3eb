//! What came out, in the form that is written as `results.json` and read back by `bentpipe report`.
//!
//! `null` stands for what did not happen. Everything is in the order of the plan (points, variants,
//! runs), and floats are printed as the shortest text that gives them back, so that the same
//! scenario gives the same bytes.

use crate::fairness::{self, ALL_FLOWS, Fairness};
use crate::return_path::{Distribution, LayerMetric, ReturnBytes, percent};
use crate::scenario::{Direction, PublishedKind};
use crate::stats::Stats;
use crate::wall::Emulation;
use bentpipe_quic::congestion::SavedParameters;
use bentpipe_sim as sim;
use bentpipe_units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of each swept key, as text.
pub type Point = BTreeMap<String, String>;

/// Which clock ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Deterministic simulation.
    #[default]
    Virtual,
    /// Real time, with the kernel's own endpoints and programs.
    Real,
}

/// The results of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Which clock ran.
    pub clock: Clock,
    /// Version of Bentpipe.
    pub version: String,
    /// Every run.
    pub runs: Vec<Run>,
    /// Statistics over runs.
    pub summary: Vec<Summary>,
    /// What had to hold.
    pub expectations: Vec<Expectation>,
    /// Published figures beside ours.
    pub published: Vec<Comparison>,
}

/// One run of one variant at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The variant's name.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// Number of the run, from 0.
    pub run: u64,
    /// One entry for each reported visit of each flow.
    pub flows: Vec<Flow>,
    /// One entry for each direction of each hop.
    pub links: Vec<Link>,
    /// How flows that compete shared a link; null where there are no two. Results written before
    /// this was measured do not have it.
    #[serde(default)]
    pub fairness: Option<Fairness>,
    /// What the emulator did; left out under the virtual clock, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
}

/// One reported visit of one flow. Seconds count from its first packet, `start_s` from the run's
/// beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The flow's name.
    pub name: String,
    /// Which connection of the flow, from 1.
    pub visit: usize,
    /// `quic` or `tcp`; `cbr`, `on-off` or `ping`, which nothing controls.
    pub transport: String,
    /// The congestion controller; `none` for datagrams.
    pub congestion: String,
    /// Connections that the visit took; time series are of the first one's sender.
    #[serde(default = "one")]
    pub connections: u64,
    /// `download` or `upload`.
    pub direction: Direction,
    /// Application bytes that were to be transferred; received, where the visit lasts for a time.
    pub bytes: u64,
    /// True where all of them arrived.
    pub completed: bool,
    /// When the client sent its first packet.
    pub start_s: f64,
    /// When the handshake was confirmed to the client.
    pub handshake_s: Option<f64>,
    /// When the first byte reached the receiving application.
    pub first_byte_s: Option<f64>,
    /// When the last one did.
    pub completion_s: Option<f64>,
    /// `bytes` over `completion_s`, in Mbps.
    pub goodput_mbps: Option<f64>,
    /// Packets that the data sender sent.
    pub packets_sent: u64,
    /// Their bytes, IP headers included; results written before this was measured do not have it.
    #[serde(default)]
    pub bytes_sent: u64,
    /// Packets of the flow that a policer dropped; results written before there were policers do
    /// not have it.
    #[serde(default)]
    pub packets_lost_policer: u64,
    /// Packets of the flow that a full queue dropped.
    pub packets_lost_queue: u64,
    /// Packets of the flow that a loss process took.
    pub packets_lost_random: u64,
    /// Packets of the flow that a network of satellites lost, where no link was to blame: a link
    /// ended with them, or there was no way.
    #[serde(default)]
    pub packets_lost_route: u64,
    /// Packets that the data sender declared lost; of the kernel's TCP, segments sent again; null
    /// of programs.
    pub packets_declared_lost: Option<u64>,
    /// Time that the sender had data but no credit.
    pub flow_control_blocked_s: Option<f64>,
    /// The longest of that at a stretch. Results written before this was measured do not have it.
    #[serde(default)]
    pub flow_control_blocked_longest_s: Option<f64>,
    /// The most that the data's receiver held and its application had not taken; QUIC only.
    #[serde(default)]
    pub receive_held_most: Option<u64>,
    /// The most that it had promised: the limit announced less what its application had taken; QUIC
    /// only.
    #[serde(default)]
    pub receive_window_most: Option<u64>,
    /// Packets against the data.
    pub return_packets: u64,
    /// Bytes of those by layer (headers, then what QUIC filled) and in total.
    pub return_bytes: ReturnBytes,
    /// All of those in percent of `bytes_sent`.
    #[serde(default)]
    pub return_overhead_percent: Option<f64>,
    /// Packets against the data that acknowledge; null for datagrams.
    #[serde(default)]
    pub return_acks: Option<u64>,
    /// Of those, packets that do nothing else.
    #[serde(default)]
    pub return_acks_only: Option<u64>,
    /// Data packets that reached the receiver over packets that acknowledge.
    #[serde(default)]
    pub data_per_ack: Option<f64>,
    /// Sizes of ACK frames; of QUIC.
    #[serde(default)]
    pub ack_frame_bytes: Option<Distribution>,
    /// Bytes of options of the segments that only acknowledge; of TCP.
    #[serde(default)]
    pub ack_option_bytes: Option<Distribution>,
    /// Smallest round trip sampled by the data sender.
    pub rtt_min_ms: Option<f64>,
    /// Mean of the samples.
    pub rtt_mean_ms: Option<f64>,
    /// 99 % quantile of the samples.
    pub rtt_p99_ms: Option<f64>,
    /// What both ends knew of the path.
    #[serde(default)]
    pub path: PathView,
    /// The most that a proxy held for one connection, where connections pass one.
    #[serde(default)]
    pub pep_held_bytes: Option<u64>,
    /// Acknowledgements that a filter did not pass on, where connections pass one.
    #[serde(default)]
    pub pep_acks_dropped: Option<u64>,
    /// Each object that was transferred.
    pub objects: Vec<Object>,
    /// Why the flow ended early, where it did.
    pub error: Option<String>,
}

/// What both ends of a flow knew of the path. Windows are bytes in a round trip, those of QUIC
/// packets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PathView {
    /// What the data sender was offered when it began: the window.
    pub saved_window_bytes: Option<u64>,
    /// And the round trip.
    pub saved_rtt_ms: Option<f64>,
    /// What the data sender would save at the end: the window.
    pub observed_window_bytes: Option<u64>,
    /// And the smallest round trip.
    pub observed_rtt_ms: Option<f64>,
    /// What the receiver saw arrive in the best of its round trips.
    pub receiver_window_bytes: Option<u64>,
    /// The smallest of its smoothed round trips.
    pub receiver_rtt_ms: Option<f64>,
    /// Whether what was offered met congestion; null where nothing was offered.
    pub retreated: Option<bool>,
    /// `accepted`, why not, or `none`, where tokens are exchanged.
    pub token: Option<String>,
}

/// One object of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was asked for.
    pub start_s: f64,
    /// When all of it had arrived.
    pub completion_s: Option<f64>,
}

/// One direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// `hop/forward` or `hop/return`.
    pub name: String,
    /// Packets that it delivered.
    pub packets: u64,
    /// Bytes that it delivered, with IP headers.
    pub bytes: u64,
    /// Packets dropped by its policer; results written before there were policers do not have it.
    #[serde(default)]
    pub dropped_policer: u64,
    /// Packets dropped by its queue (full, or by active queue management).
    pub dropped_queue: u64,
    /// Packets taken by its loss process.
    pub dropped_loss: u64,
    /// Longest the queue has been.
    pub queue_max_bytes: u64,
    /// Share of its capacity that was used.
    pub utilisation: f64,
}

/// Statistics of one metric over the runs of one variant at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The variant's name.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// The flow's name, or `all` for a metric of all flows together.
    pub flow: String,
    /// Which connection of the flow.
    pub visit: usize,
    /// A metric of a flow, or of all flows together.
    pub metric: String,
    /// Runs in which it happened.
    pub n: u64,
    /// Half of the runs lie below.
    pub median: Option<f64>,
    /// 5 % of the runs lie below; null for one run.
    pub p5: Option<f64>,
    /// 95 % of the runs lie below; null for one run.
    pub p95: Option<f64>,
    /// The average.
    pub mean: Option<f64>,
    /// 95 % confidence interval of the median; null where there is none.
    pub ci95_low: Option<f64>,
    /// See `ci95_low`.
    pub ci95_high: Option<f64>,
}

/// Whether something that must hold does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// What must hold, in words.
    pub text: String,
    /// Whether it does; null where the runs it is about are missing.
    pub held: Option<bool>,
    /// The statistic or ratio that was compared.
    pub measured: Option<f64>,
}

/// A published figure beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Short heading.
    pub label: String,
    /// An aim, or a measurement.
    pub kind: PublishedKind,
    /// A metric of a flow.
    pub metric: String,
    /// The variant that is compared.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// The flow that is compared.
    pub flow: String,
    /// Its visit.
    pub visit: usize,
    /// The published figure.
    pub value: f64,
    /// Our median.
    pub measured: Option<f64>,
    /// Ours over the published one.
    pub ratio: Option<f64>,
    /// Where it was published.
    pub source: String,
}

type Reader = fn(&Flow) -> Option<f64>;

/// Every metric of a whole flow, by the name that scenarios and results use.
pub const METRICS: [(&str, Reader); 28] = [
    ("completion_s", |flow| flow.completion_s),
    ("goodput_mbps", |flow| flow.goodput_mbps),
    ("first_byte_s", |flow| flow.first_byte_s),
    ("handshake_s", |flow| flow.handshake_s),
    ("packets_sent", |flow| Some(flow.packets_sent as f64)),
    ("bytes_sent", |flow| Some(flow.bytes_sent as f64)),
    ("packets_lost_policer", |flow| Some(flow.packets_lost_policer as f64)),
    ("packets_lost_queue", |flow| Some(flow.packets_lost_queue as f64)),
    ("packets_lost_random", |flow| Some(flow.packets_lost_random as f64)),
    ("packets_lost_route", |flow| Some(flow.packets_lost_route as f64)),
    ("packets_declared_lost", |flow| flow.packets_declared_lost.map(|packets| packets as f64)),
    ("flow_control_blocked_s", |flow| flow.flow_control_blocked_s),
    ("flow_control_blocked_longest_s", |flow| flow.flow_control_blocked_longest_s),
    ("receive_held_most", |flow| flow.receive_held_most.map(|bytes| bytes as f64)),
    ("receive_window_most", |flow| flow.receive_window_most.map(|bytes| bytes as f64)),
    ("return_packets", |flow| Some(flow.return_packets as f64)),
    ("return_bytes", |flow| Some(flow.return_bytes.total as f64)),
    ("return_overhead_percent", |flow| flow.return_overhead_percent),
    ("return_acks", |flow| flow.return_acks.map(|acks| acks as f64)),
    ("return_acks_only", |flow| flow.return_acks_only.map(|acks| acks as f64)),
    ("data_per_ack", |flow| flow.data_per_ack),
    ("ack_frame_min_bytes", |flow| flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(sizes.min))),
    ("ack_frame_median_bytes", |flow| {
        flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(sizes.median))
    }),
    ("ack_frame_p99_bytes", |flow| flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(sizes.p99))),
    ("ack_frame_max_bytes", |flow| flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(sizes.max))),
    ("rtt_min_ms", |flow| flow.rtt_min_ms),
    ("rtt_mean_ms", |flow| flow.rtt_mean_ms),
    ("rtt_p99_ms", |flow| flow.rtt_p99_ms),
];

/// How a metric of a whole flow is read; none for a name that is no such metric.
pub fn metric(name: &str) -> Option<Reader> {
    METRICS.iter().find(|(known, _)| *known == name).map(|(_, read)| *read)
}

impl Run {
    /// The outcome of a run as it is written.
    pub fn new(
        variant: &str,
        point: &Point,
        run: u64,
        outcome: &sim::RunOutcome,
        fairness: Option<Fairness>,
    ) -> Self {
        Self {
            variant: variant.to_owned(),
            point: point.clone(),
            run,
            flows: outcome.flows.iter().map(Flow::new).collect(),
            links: outcome.links.iter().map(Link::new).collect(),
            fairness,
            emulation: None,
        }
    }
}

impl Flow {
    fn new(flow: &sim::FlowOutcome) -> Self {
        let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
        let millis = |span: Option<Span>| span.map(Span::as_millis_f64);
        let acknowledgements = flow.acknowledgements.as_ref();
        let sizes = |transport| {
            let told = acknowledgements.filter(|_| flow.transport == transport)?;
            Distribution::new(&told.sizes)
        };
        let (ack_frame_bytes, ack_option_bytes) = (sizes("quic"), sizes("tcp"));
        let completion = flow.completion.filter(|span| flow.completed && !span.is_zero());
        Self {
            name: flow.name.clone(),
            visit: flow.visit,
            transport: flow.transport.to_owned(),
            congestion: flow.congestion.clone(),
            connections: flow.connections as u64,
            direction: flow.direction.into(),
            bytes: flow.bytes,
            completed: flow.completed,
            start_s: flow.start.as_secs_f64(),
            handshake_s: seconds(flow.handshake),
            first_byte_s: seconds(flow.first_byte),
            completion_s: seconds(completion),
            goodput_mbps: completion.map(|span| goodput_mbps(Bytes::new(flow.bytes), span)),
            packets_sent: flow.packets_sent,
            bytes_sent: flow.bytes_sent,
            packets_lost_policer: flow.packets_lost_policer,
            packets_lost_queue: flow.packets_lost_queue,
            packets_lost_random: flow.packets_lost_random,
            packets_lost_route: flow.packets_lost_route,
            packets_declared_lost: flow.packets_declared_lost,
            flow_control_blocked_s: seconds(flow.flow_control_blocked),
            flow_control_blocked_longest_s: seconds(flow.flow_control_blocked_longest),
            receive_held_most: flow.credit.map(|credit| credit.max_held.get()),
            receive_window_most: flow.credit.map(|credit| credit.max_window.get()),
            return_packets: flow.return_packets,
            return_bytes: ReturnBytes::new(&flow.return_bytes),
            return_overhead_percent: percent(flow.return_bytes.total, flow.bytes_sent),
            return_acks: acknowledgements.map(|told| told.packets),
            return_acks_only: acknowledgements.map(|told| told.only),
            data_per_ack: acknowledgements
                .filter(|told| told.packets > 0)
                .map(|told| told.data as f64 / told.packets as f64),
            ack_frame_bytes,
            ack_option_bytes,
            rtt_min_ms: millis(flow.rtt_min),
            rtt_mean_ms: millis(flow.rtt_mean),
            rtt_p99_ms: millis(flow.rtt_p99),
            path: PathView::new(&flow.path),
            pep_held_bytes: flow.pep.map(|pep| pep.max_buffered),
            pep_acks_dropped: flow.pep.and_then(|pep| pep.acks_dropped),
            objects: flow
                .objects
                .iter()
                .map(|object| Object {
                    name: object.name.clone(),
                    bytes: object.bytes,
                    start_s: object.start.as_secs_f64(),
                    completion_s: seconds(object.completion),
                })
                .collect(),
            error: flow.error.clone(),
        }
    }
}

impl PathView {
    fn new(path: &sim::PathOutcome) -> Self {
        let window = |saved: Option<SavedParameters>| saved.map(|saved| saved.window.get());
        let rtt = |saved: Option<SavedParameters>| saved.map(|saved| saved.rtt.as_millis_f64());
        Self {
            saved_window_bytes: window(path.saved),
            saved_rtt_ms: rtt(path.saved),
            observed_window_bytes: window(path.observed),
            observed_rtt_ms: rtt(path.observed),
            receiver_window_bytes: window(path.receiver),
            receiver_rtt_ms: rtt(path.receiver),
            retreated: path.retreated,
            token: path.token.map(str::to_owned),
        }
    }
}

impl Flow {
    /// `download` or `upload`.
    pub fn direction_name(&self) -> &'static str {
        match self.direction {
            Direction::Download => "download",
            Direction::Upload => "upload",
        }
    }
}

/// What results of QUIC alone do not say.
fn one() -> u64 {
    1
}

fn goodput_mbps(bytes: Bytes, span: Span) -> f64 {
    bytes.get() as f64 * 8.0 / span.as_secs_f64() / 1e6
}

impl Link {
    fn new(link: &sim::LinkOutcome) -> Self {
        let counters = &link.counters;
        Self {
            name: link.name.clone(),
            packets: counters.packets_out,
            bytes: counters.bytes_out,
            dropped_policer: counters.dropped_policer.packets,
            dropped_queue: counters.dropped_queue.packets + counters.dropped_aqm.packets,
            dropped_loss: counters.dropped_loss.packets,
            queue_max_bytes: counters.queue_max_bytes,
            utilisation: link.utilisation,
        }
    }
}

/// Statistics of every metric for each variant, point, flow and visit, in the order of `runs`; of
/// the many metrics of one layer, of `layers` only.
pub fn summarise(runs: &[Run], layers: &[&str]) -> Vec<Summary> {
    let mut summary = Vec::new();
    for group in runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point) {
        for (flow, visit) in visits(group) {
            for name in METRICS.iter().map(|(name, _)| *name).chain(layers.iter().copied()) {
                let values = values(group, &flow, visit, name);
                summary.push(Summary::new(&group[0], &flow, visit, name, &values));
            }
        }
        if group.iter().any(|run| run.fairness.is_some()) {
            for (name, _) in fairness::METRICS {
                let values = values(group, ALL_FLOWS, 1, name);
                summary.push(Summary::new(&group[0], ALL_FLOWS, 1, name, &values));
            }
        }
    }
    summary
}

/// The flows and visits that occur in `runs`, in order of first appearance.
pub(crate) fn visits(runs: &[Run]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for flow in runs.iter().flat_map(|run| &run.flows) {
        if !found.iter().any(|(name, visit)| *name == flow.name && *visit == flow.visit) {
            found.push((flow.name.clone(), flow.visit));
        }
    }
    found
}

/// The values of a metric over `runs`, of those in which it happened.
pub(crate) fn values(runs: &[Run], flow: &str, visit: usize, name: &str) -> Vec<f64> {
    if let Some(read) = fairness::metric(name) {
        return runs.iter().filter_map(|run| run.fairness.as_ref()).filter_map(read).collect();
    }
    let layer = LayerMetric::named(name);
    let whole = metric(name);
    runs.iter()
        .flat_map(|run| &run.flows)
        .filter(|candidate| candidate.name == flow && candidate.visit == visit)
        .filter_map(|flow| layer.map_or_else(|| whole?(flow), |layer| layer.read(flow)))
        .collect()
}

impl Summary {
    fn new(run: &Run, flow: &str, visit: usize, metric: &str, values: &[f64]) -> Self {
        let stats = Stats::of(values);
        let quantiles = stats.and_then(|stats| stats.p5_p95);
        let interval = stats.and_then(|stats| stats.ci95);
        Self {
            variant: run.variant.clone(),
            point: run.point.clone(),
            flow: flow.to_owned(),
            visit,
            metric: metric.to_owned(),
            n: values.len() as u64,
            median: stats.map(|stats| stats.median),
            p5: quantiles.map(|(p5, _)| p5),
            p95: quantiles.map(|(_, p95)| p95),
            mean: stats.map(|stats| stats.mean),
            ci95_low: interval.map(|(low, _)| low),
            ci95_high: interval.map(|(_, high)| high),
        }
    }
}

impl Results {
    /// The document as it is written: indented JSON with a newline at its end.
    ///
    /// # Errors
    /// Never for results of a run; serde's own error type otherwise.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// True where every expectation held.
    pub fn all_held(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.held == Some(true))
    }
}

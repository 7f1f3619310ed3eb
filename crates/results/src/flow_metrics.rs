//! All metrics of a flow: stored ones, those computed from its stored fields, and the layers of its
//! reverse direction. To add a computed metric, add a row to `COMPUTED`.

use crate::call::{self, OF_STREAMS, StreamMetric};
use crate::metrics::{
    Better, CALL, CallMetrics, FLOW, FlowMetrics, LINK, Metric, PAGE, PLAYER, POPULATION,
    PageMetrics, PlayerMetrics, PopulationMetrics, RESPONSIVENESS, ResponsivenessMetrics, Row,
    SHARED, SharedMetrics,
};
use crate::reverse::{LAYERS, Layer, ReverseBytes};
use crate::run::{Distribution, Flow};
use bentpipe_timeseries::TimePart;
use serde_json::{Value, json};

/// A metric of a flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowMetric {
    /// Name, unit and meaning.
    pub row: Row,
    reader: Reader,
}

#[derive(Debug, Clone, Copy)]
enum Reader {
    Stored(fn(&FlowMetrics) -> Option<f64>),
    Computed(fn(&Flow) -> Option<f64>),
    LayerBytes(fn(&ReverseBytes) -> u64),
    LayerPercent(fn(&ReverseBytes) -> u64),
    TimePart(TimePart),
    Player(fn(&PlayerMetrics) -> Option<f64>),
    Page(fn(&PageMetrics) -> Option<f64>),
    Responsiveness(fn(&ResponsivenessMetrics) -> Option<f64>),
    Call(&'static Metric<CallMetrics>),
    /// Of a stream of a call, by its number.
    CallStream(usize, &'static Metric<CallMetrics>),
}

impl FlowMetric {
    /// Reads the value; `None` if it was not measured.
    pub fn read(&self, flow: &Flow) -> Option<f64> {
        match self.reader {
            Reader::Stored(read) => read(&flow.metrics),
            Reader::Computed(read) => read(flow),
            Reader::LayerBytes(read) => Some(read(&flow.reverse_bytes) as f64),
            Reader::TimePart(part) => flow.time_budget.map(|budget| budget.get(part)),
            Reader::Player(read) => read(&flow.player.as_ref()?.metrics),
            Reader::Page(read) => read(&flow.page.as_ref()?.metrics),
            Reader::Responsiveness(read) => read(flow.responsiveness.as_ref()?),
            Reader::Call(metric) => call::of_call(flow, metric),
            Reader::CallStream(index, metric) => call::of_stream(flow, index, metric),
            Reader::LayerPercent(read) => {
                let sent = flow.metrics.bytes_sent;
                (sent > 0).then(|| read(&flow.reverse_bytes) as f64 / sent as f64 * 100.0)
            }
        }
    }

    fn time_part(part: TimePart) -> Self {
        let row = Row {
            name: part.metric(),
            unit: "s",
            better: Better::Lower,
            label: part.label(),
            about: part.about(),
            detail: true,
        };
        Self { row, reader: Reader::TimePart(part) }
    }

    /// Returns false if it describes calls, players, pages or tests, and the flow is none.
    pub(crate) fn concerns(&self, flow: &Flow) -> bool {
        match self.reader {
            Reader::Player(_) => flow.player.is_some(),
            Reader::Page(_) => flow.page.is_some(),
            Reader::Responsiveness(_) => flow.responsiveness.is_some(),
            Reader::Call(_) | Reader::CallStream(..) => !flow.call.is_empty(),
            _ => true,
        }
    }

    /// Returns false if a flow of `results.json` has the value as a field, in one way or another.
    pub fn is_derived(&self) -> bool {
        match self.reader {
            Reader::Computed(_) => {
                !self.row.name.starts_with("ack_frame_") && self.row.name != "reverse_bytes"
            }
            Reader::Player(_) | Reader::Page(_) | Reader::Call(_) | Reader::CallStream(..) => true,
            _ => false,
        }
    }

    /// Returns true if it describes one stream of a call.
    pub(crate) fn is_of_stream(&self) -> bool {
        matches!(self.reader, Reader::CallStream(..))
    }

    /// Returns a metric of all streams of a call together.
    fn of_call(metric: &'static Metric<CallMetrics>) -> Self {
        Self { row: metric.row, reader: Reader::Call(metric) }
    }

    /// Returns a metric of one stream of a call.
    fn of_stream(of: &StreamMetric) -> Self {
        Self { row: of.row, reader: Reader::CallStream(of.stream, of.metric) }
    }

    fn layer(layer: &Layer, percent: bool) -> Self {
        let ((name, label), unit, reader) = if percent {
            (layer.percent, "%", Reader::LayerPercent(layer.read))
        } else {
            (layer.bytes, "bytes", Reader::LayerBytes(layer.read))
        };
        let better = Better::Neither;
        Self { row: Row { name, unit, better, label, about: layer.about, detail: true }, reader }
    }
}

/// A metric that is computed from the stored fields of a flow.
struct Computed {
    row: Row,
    read: fn(&Flow) -> Option<f64>,
}

const fn computed(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    read: fn(&Flow) -> Option<f64>,
) -> Computed {
    Computed { row: Row { name, unit, better: Better::Neither, label, about, detail: false }, read }
}

const fn lower(metric: Computed) -> Computed {
    Computed { row: Row { better: Better::Lower, ..metric.row }, ..metric }
}

const fn detail(metric: Computed) -> Computed {
    Computed { row: Row { detail: true, ..metric.row }, ..metric }
}

fn ack_frames(flow: &Flow, read: fn(&Distribution) -> u32) -> Option<f64> {
    flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(read(sizes)))
}

/// Returns the time of each segment of a video from its request until it is complete; `None` if one
/// is missing, or for another workload.
fn segment_times(flow: &Flow) -> Option<Vec<f64>> {
    if flow.workload != "video" || flow.objects.is_empty() {
        return None;
    }
    flow.objects.iter().map(|segment| Some(segment.completion_s? - segment.start_s)).collect()
}

/// Returns a quantile of the times from a request of a probe until its answer is complete, in ms;
/// `None` if an answer is missing, or for another workload. The first request opens the connection
/// and does not count.
fn response_ms(flow: &Flow, quantile: f64) -> Option<f64> {
    if flow.workload != "probe" {
        return None;
    }
    let answers = flow.objects.get(1..)?.iter();
    let times: Option<Vec<f64>> =
        answers.map(|answer| Some((answer.completion_s? - answer.start_s) * 1e3)).collect();
    let mut times = times.filter(|times| !times.is_empty())?;
    times.sort_by(f64::total_cmp);
    // The smallest time that at least this share does not exceed.
    let rank = (quantile * times.len() as f64).ceil() as usize;
    times.get(rank.saturating_sub(1)).copied()
}

fn float(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64)
}

/// Metrics of a flow that are computed from its stored fields.
const COMPUTED: &[Computed] = &[
    lower(computed(
        "reverse_bytes",
        "Reverse bytes",
        "bytes",
        "Bytes of the reverse direction, IP headers included.",
        |flow| Some(flow.reverse_bytes.total as f64),
    )),
    lower(computed(
        "send_overhead_percent",
        "Send overhead",
        "%",
        "Bytes sent beyond those of the application, in percent of the latter: headers, \
         retransmissions and the handshake.",
        |flow| {
            let beyond = flow.metrics.bytes_sent as f64 - flow.bytes as f64;
            (flow.bytes > 0).then(|| beyond / flow.bytes as f64 * 100.0)
        },
    )),
    lower(computed(
        "lost_percent",
        "Lost",
        "%",
        "Packets of the flow that a policer, a queue, the channel or routing dropped or lost, in \
         percent of those sent; of a ping also replies.",
        |flow| {
            let lost = &flow.metrics;
            // The packets of proxies that forward data are among those lost and not among those
            // sent.
            if lost.pep_buffer_max_bytes.is_some_and(|bytes| bytes > 0) {
                return None;
            }
            let sum = lost.packets_lost_policer
                + lost.packets_lost_queue
                + lost.packets_lost_channel
                + lost.packets_lost_routing;
            (lost.packets_sent > 0).then(|| sum as f64 / lost.packets_sent as f64 * 100.0)
        },
    )),
    lower(computed(
        "segment_mean_s",
        "Mean segment time",
        "s",
        "Mean time from the request of a segment of a video until it is complete; `video` only.",
        |flow| {
            let times = segment_times(flow)?;
            Some(times.iter().sum::<f64>() / times.len() as f64)
        },
    )),
    lower(computed(
        "segment_max_s",
        "Longest segment time",
        "s",
        "Longest time from the request of a segment of a video until it is complete; `video` only.",
        |flow| segment_times(flow)?.into_iter().max_by(f64::total_cmp),
    )),
    lower(computed(
        "stall_s",
        "Stalls",
        "s",
        "Time for which a player stalls that begins with the first segment, plays each for the \
         interval between requests, and waits for a segment that is late, of a `video`; those \
         of the player of `abr`.",
        |flow| {
            if let Some(player) = &flow.player {
                return Some(player.stall_s);
            }
            let times = segment_times(flow)?;
            Some(times.iter().copied().fold(0.0, f64::max) - times.first()?)
        },
    )),
    lower(computed(
        "response_p50_ms",
        "Response time, median",
        "ms",
        "Median time from a request of a probe until its answer is complete, without the request \
         that opens the connection; `probe` only.",
        |flow| response_ms(flow, 0.5),
    )),
    lower(computed(
        "response_p95_ms",
        "Response time, 95th percentile",
        "ms",
        "95th percentile of the times from a request of a probe until its answer is complete; \
         `probe` only.",
        |flow| response_ms(flow, 0.95),
    )),
    lower(computed(
        "response_p99_ms",
        "Response time, 99th percentile",
        "ms",
        "99th percentile of the times from a request of a probe until its answer is complete; \
         `probe` only.",
        |flow| response_ms(flow, 0.99),
    )),
    computed(
        "ack_frame_min_bytes",
        "Smallest ACK frame",
        "bytes",
        "Size of the smallest ACK frame; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.min),
    ),
    computed(
        "ack_frame_median_bytes",
        "Median ACK frame",
        "bytes",
        "Median size of ACK frames; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.median),
    ),
    computed(
        "ack_frame_p99_bytes",
        "ACK frame, 99th percentile",
        "bytes",
        "99th percentile of the size of ACK frames; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.p99),
    ),
    computed(
        "ack_frame_max_bytes",
        "Largest ACK frame",
        "bytes",
        "Size of the largest ACK frame; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.max),
    ),
    detail(computed(
        "path.saved_window_bytes",
        "Saved window",
        "bytes",
        "Congestion window of the saved path that was offered to the sender.",
        |flow| float(flow.path.saved_window_bytes),
    )),
    detail(computed(
        "path.saved_rtt_ms",
        "Saved RTT",
        "ms",
        "RTT of the saved path that was offered to the sender.",
        |flow| flow.path.saved_rtt_ms,
    )),
    detail(computed(
        "path.observed_window_bytes",
        "Observed window",
        "bytes",
        "Congestion window that the sender would save.",
        |flow| float(flow.path.observed_window_bytes),
    )),
    detail(computed(
        "path.observed_rtt_ms",
        "Observed RTT",
        "ms",
        "Minimum RTT that the sender would save.",
        |flow| flow.path.observed_rtt_ms,
    )),
    detail(computed(
        "path.receiver_window_bytes",
        "Window seen by the receiver",
        "bytes",
        "Maximum of the bytes that arrived at the receiver within one of its RTTs.",
        |flow| float(flow.path.receiver_window_bytes),
    )),
    detail(computed(
        "path.receiver_rtt_ms",
        "RTT seen by the receiver",
        "ms",
        "Minimum of the receiver's smoothed RTT.",
        |flow| flow.path.receiver_rtt_ms,
    )),
];

/// Returns every metric of a flow: stored metrics, computed ones, those of players, pages, tests of
/// responsiveness and of calls, of which `STREAM.METRIC` is one of a single stream,
/// `reverse_bytes.LAYER` and `reverse_overhead_percent.LAYER` for each layer, then
/// `time_budget.PART` for each part.
pub fn flow_metrics() -> impl Iterator<Item = FlowMetric> {
    let stored = FLOW
        .iter()
        .map(|metric| FlowMetric { row: metric.row, reader: Reader::Stored(metric.read) });
    let computed = COMPUTED
        .iter()
        .map(|metric| FlowMetric { row: metric.row, reader: Reader::Computed(metric.read) });
    let player = PLAYER
        .iter()
        .map(|metric| FlowMetric { row: metric.row, reader: Reader::Player(metric.read) });
    let pages =
        PAGE.iter().map(|metric| FlowMetric { row: metric.row, reader: Reader::Page(metric.read) });
    let tests = RESPONSIVENESS
        .iter()
        .map(|metric| FlowMetric { row: metric.row, reader: Reader::Responsiveness(metric.read) });
    let calls = CALL.iter().map(FlowMetric::of_call);
    let streams = OF_STREAMS.iter().map(FlowMetric::of_stream);
    let bytes = LAYERS.iter().map(|layer| FlowMetric::layer(layer, false));
    let percent = LAYERS.iter().map(|layer| FlowMetric::layer(layer, true));
    let times = TimePart::ALL.into_iter().map(FlowMetric::time_part);
    stored
        .chain(computed)
        .chain(player)
        .chain(pages)
        .chain(tests)
        .chain(calls)
        .chain(streams)
        .chain(bytes)
        .chain(percent)
        .chain(times)
}

/// Returns the metric of a flow called `name`.
pub fn find_metric(name: &str) -> Option<FlowMetric> {
    flow_metrics().find(|metric| metric.row.name == name)
}

/// Returns the reader of the metric of all competing flows called `name`.
pub fn find_shared(name: &str) -> Option<fn(&SharedMetrics) -> Option<f64>> {
    SHARED.iter().find(|metric| metric.row.name == name).map(|metric| metric.read)
}

/// Returns the reader of the metric of a population called `name`.
pub fn find_population(name: &str) -> Option<fn(&PopulationMetrics) -> Option<f64>> {
    POPULATION.iter().find(|metric| metric.row.name == name).map(|metric| metric.read)
}

/// Returns the rows of all metrics that scenarios can name: those of a flow, of all competing
/// flows, and of a population.
fn rows() -> impl Iterator<Item = Row> {
    flow_metrics()
        .map(|metric| metric.row)
        .chain(SHARED.iter().map(|metric| metric.row))
        .chain(POPULATION.iter().map(|metric| metric.row))
}

/// Returns the row of the metric called `name`: of a flow, of all competing flows or of a
/// population.
pub fn find_row(name: &str) -> Option<Row> {
    rows().find(|row| row.name == name)
}

/// Returns the names of all metrics that scenarios can name: those of a flow, then those of all
/// competing flows, then those of a population.
pub fn metric_names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name)
}

/// Metrics of the short table beside a scenario's text. The report has all.
pub const MAIN_METRICS: [&str; 6] = [
    "completion_s",
    "goodput_mbps",
    "first_byte_s",
    "packets_lost_queue",
    "rtt_p99_ms",
    "reverse_bytes",
];

/// Returns all rows as JSON objects, for the schema.
pub fn metrics_schema() -> Value {
    let object = |scope: &str, row: Row| {
        let better = match row.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "neither",
        };
        json!({
            "name": row.name, "scope": scope, "unit": row.unit, "better": better,
            "label": row.label, "about": row.about.trim(), "detail": row.detail,
        })
    };
    let flow = flow_metrics().map(|metric| object("flow", metric.row));
    let shared = SHARED.iter().map(|metric| object("shared", metric.row));
    let link = LINK.iter().map(|metric| object("link", metric.row));
    let population = POPULATION.iter().map(|metric| object("population", metric.row));
    flow.chain(shared).chain(population).chain(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_metrics_are_metrics() {
        for name in MAIN_METRICS {
            assert!(metric_names().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_carry_their_units() {
        let mut all: Vec<&str> = metric_names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let ends =
            [("s", "_s"), ("ms", "_ms"), ("Mbps", "_mbps"), ("%", "percent"), ("kbps", "_kbps")];
        for row in flow_metrics().map(|metric| metric.row).filter(|row| !row.detail) {
            for (_, end) in ends.iter().filter(|(unit, _)| *unit == row.unit) {
                assert!(row.name.ends_with(end), "{} in {}", row.name, row.unit);
            }
        }
    }

    #[test]
    fn every_row_has_a_label_and_a_meaning() {
        for row in metrics_schema().as_array().unwrap() {
            let text = |key: &str| row[key].as_str().unwrap();
            assert!(!text("label").is_empty() && text("about").ends_with('.'), "{row}");
        }
    }

    /// The page shows each alone, as a tip.
    #[test]
    fn a_meaning_refers_to_no_other() {
        for row in metrics_schema().as_array().unwrap() {
            let about = row["about"].as_str().unwrap();
            let mut words = about.split(|c: char| !c.is_alphanumeric());
            assert!(!words.any(|word| ["these", "These", "This"].contains(&word)), "{about}");
            assert!(!about.starts_with("The same"), "{about}");
        }
    }

    #[test]
    fn losses_behind_proxies_are_no_part_of_what_the_sender_sent() {
        let lost = |pep_buffer_max_bytes| {
            let mut flow = Flow::default();
            (flow.metrics.packets_sent, flow.metrics.packets_lost_channel) = (1389, 1999);
            flow.metrics.pep_buffer_max_bytes = pep_buffer_max_bytes;
            find_metric("lost_percent").unwrap().read(&flow)
        };
        assert_eq!(lost(Some(40_000)), None);
        // A proxy that only filters acknowledgements forwards no data.
        assert!(lost(Some(0)).is_some() && lost(None).is_some());
    }

    #[test]
    fn a_metric_is_found_by_its_name() {
        for name in ["completion_s", "reverse_bytes", "reverse_bytes.ack", "path.saved_rtt_ms"] {
            assert_eq!(find_metric(name).map(|metric| metric.row.name), Some(name));
        }
        assert!(find_metric("reverse_bytes.syn").is_none() && find_metric("jain_index").is_none());
        assert!(find_shared("jain_index").is_some());
    }
}

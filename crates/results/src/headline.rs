//! The metric that a comparison is of. A scenario may name it; otherwise the workload decides.
//!
//! [`WORKLOADS`] is the only place that knows which metric a workload is about. Tables, sentences,
//! notes, the report and `bentpipe explain` ask [`Headlines`]. To add a workload, add a row.

use crate::document::Results;
use crate::flow_metrics::find_metric;
use crate::metrics::Row;
use crate::run::{Flow, Media};

/// What a workload is about.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Its key in scenarios.
    pub name: &'static str,
    /// The metric that its comparisons are of.
    pub headline: &'static str,
    /// Metrics that a table shows beside it.
    pub beside: &'static [&'static str],
    /// True if it takes what it can get of a path, so that its share says how fair the path was.
    pub contends: bool,
    /// True if it asks at its own times, whatever the path: a sender that has nothing to send for
    /// a time is no reason for doubt.
    pub paced: bool,
}

const fn transfer(name: &'static str) -> Workload {
    let beside = &["first_byte_s", "goodput_mbps"];
    Workload { name, headline: "completion_s", beside, contends: true, paced: false }
}

/// All workloads. The first stands for an unknown one.
pub const WORKLOADS: &[Workload] = &[
    transfer("download"),
    transfer("upload"),
    transfer("objects"),
    Workload {
        name: PAGE,
        headline: "onload_s",
        beside: &["first_render_s", "byte_index_s", "goodput_mbps"],
        contends: true,
        paced: false,
    },
    transfer("external"),
    Workload {
        name: "video",
        headline: "segment_mean_s",
        beside: &["segment_max_s", "stall_s", "goodput_mbps"],
        contends: true,
        paced: true,
    },
    Workload {
        name: "abr",
        headline: "qoe_linear",
        beside: &["mean_bitrate_kbps", "stall_s", "switches", "startup_s"],
        contends: true,
        paced: true,
    },
    Workload {
        name: "bulk",
        headline: "goodput_mbps",
        beside: &["rtt_mean_ms", "queue_delay_mean_ms"],
        contends: true,
        paced: false,
    },
    Workload {
        name: "cbr",
        headline: "lost_percent",
        beside: &["delay_mean_ms", "queue_delay_mean_ms", "goodput_mbps"],
        contends: false,
        paced: false,
    },
    Workload {
        name: "probe",
        headline: "response_p50_ms",
        beside: &["response_p95_ms", "response_p99_ms"],
        contends: false,
        paced: true,
    },
    Workload {
        name: "responsiveness",
        headline: "responsiveness_rpm",
        beside: &["idle_rpm", "loaded_p50_ms", "idle_p50_ms", "self_p50_ms"],
        contends: true,
        paced: false,
    },
    Workload {
        name: CALL,
        headline: "mos",
        beside: &["frame_delay_p99_ms", "frames_late_percent", "freeze_percent"],
        contends: false,
        paced: false,
    },
    Workload {
        name: "ping",
        headline: "rtt_mean_ms",
        beside: &["rtt_p99_ms", "lost_percent"],
        contends: false,
        paced: false,
    },
];

/// Metrics that follow from where the time of a transfer went.
const OF_TIME: [&str; 18] = [
    "completion_s",
    "onload_s",
    "first_render_s",
    "byte_index_s",
    "object_index_s",
    "goodput_mbps",
    SHARE,
    "first_byte_s",
    "handshake_s",
    "segment_mean_s",
    "segment_max_s",
    "stall_s",
    "startup_s",
    "mean_bitrate_kbps",
    "qoe_linear",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
];

/// Returns true if the time budget explains this metric: how fast data came, but not how long its
/// packets waited in queues, or how many were lost.
pub(crate) fn follows_from_time(row: &Row) -> bool {
    OF_TIME.contains(&row.name)
}

/// Returns true if the workload of this name takes what it can get of a path.
pub fn contends(workload: &str) -> bool {
    named(workload).contends
}

/// Returns the workload of this name.
fn named(name: &str) -> Workload {
    WORKLOADS.iter().find(|workload| workload.name == name).copied().unwrap_or(WORKLOADS[0])
}

/// Returns true if the workload of this name asks at its own times, whatever the path.
pub(crate) fn is_paced(workload: &str) -> bool {
    named(workload).paced
}

/// What [`BULK`] flows are about that compete with each other.
const SHARE: &str = "share_percent";
/// The workload that competes for as long as it lasts.
const BULK: &str = "bulk";

/// The workload that is a transfer like others if nothing is known of its objects, as of pages of
/// earlier versions and on the real clock.
const PAGE: &str = "web_page";

/// The workload whose headline is about its audio.
const CALL: &str = "call";
/// What a call without audio is about.
const SILENT_CALL: &str = "frame_delay_p99_ms";

/// The metrics of the comparisons of one visit of one flow.
#[derive(Debug, Clone)]
pub struct Headline {
    /// Name of the flow.
    pub flow: String,
    /// Number of the visit.
    pub visit: usize,
    /// The metric that comparisons are of.
    pub row: Row,
    /// Metrics that a table shows beside it.
    pub beside: Vec<Row>,
}

impl Headline {
    fn new(flow: &Flow) -> Option<Self> {
        let mut workload = workload(flow);
        if workload.name == PAGE && flow.page.is_none() {
            workload = transfer(PAGE);
        }
        let Workload { name, headline, beside, .. } = workload;
        let row = find_metric(headline)?.row;
        let mut own = Self {
            flow: flow.name.clone(),
            visit: flow.visit,
            row,
            beside: beside.iter().filter_map(|name| find_metric(name)).map(|m| m.row).collect(),
        };
        let is_silent = !flow.call.iter().any(|stream| stream.media == Media::Audio);
        if name == CALL && is_silent && !flow.call.is_empty() {
            own.lead_with(find_metric(SILENT_CALL)?.row);
            own.beside.retain(|beside| beside.name != headline);
        }
        Some(own)
    }

    /// Makes the headline that of `row`, and shows the other beside it.
    fn lead_with(&mut self, row: Row) {
        if self.row.name != row.name {
            self.beside.retain(|other| other.name != row.name);
            self.beside.insert(0, self.row);
            self.row = row;
        }
    }

    /// Returns true if the headline is a time that a transfer takes as a whole, so that variants
    /// are faster or slower than others.
    pub fn is_completion(&self) -> bool {
        [WORKLOADS[0].headline, "onload_s"].contains(&self.row.name)
    }

    /// Returns true if the headline is the flow's share of what competing flows receive.
    pub fn is_share(&self) -> bool {
        self.row.name == SHARE
    }
}

/// The headlines of all flows and visits of results, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub struct Headlines(Vec<Headline>);

impl Headlines {
    /// Returns the headlines of `results`.
    pub fn of(results: &Results) -> Self {
        let mut all: Vec<Headline> = Vec::new();
        for flow in results.runs.iter().flat_map(|run| &run.flows) {
            let same = |one: &Headline| one.flow == flow.name && one.visit == flow.visit;
            if !all.iter().any(same) {
                all.extend(Headline::new(flow));
            }
            let shares = flow.metrics.share_percent.is_some() && workload(flow).name == BULK;
            if let (true, Some(metric)) = (shares, find_metric(SHARE)) {
                all.iter_mut().filter(|one| same(one)).for_each(|one| one.lead_with(metric.row));
            }
        }
        // A metric of all flows, or of users, has no row of its own in a flow's table.
        if let Some(metric) = results.headline.as_deref().and_then(find_metric) {
            all.iter_mut().for_each(|one| one.lead_with(metric.row));
        }
        Self(all)
    }

    /// Returns the headline of a visit of a flow; `None` if no run has it.
    pub fn get(&self, flow: &str, visit: usize) -> Option<&Headline> {
        self.0.iter().find(|one| one.flow == flow && one.visit == visit)
    }

    /// Returns all headlines.
    pub fn iter(&self) -> impl Iterator<Item = &Headline> {
        self.0.iter()
    }
}

/// Returns the workload of a flow. Results of earlier versions do not name it.
fn workload(flow: &Flow) -> Workload {
    let name = match flow.transport.as_str() {
        _ if !flow.workload.is_empty() => &flow.workload,
        "cbr" | "on-off" => "cbr",
        "ping" => "ping",
        _ => "",
    };
    named(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(headline: Option<&str>, flows: serde_json::Value) -> Results {
        serde_json::from_value(json!({
            "scenario": "t", "seed": 1, "clock": "virtual", "version": "0.1.0",
            "headline": headline,
            "runs": [{ "variant": "a", "point": {}, "run": 0, "flows": flows, "links": [] }],
            "summary": [], "expectations": [], "published": [],
        }))
        .unwrap()
    }

    fn flow(name: &str, workload: &str, transport: &str, share: Option<f64>) -> serde_json::Value {
        json!({
            "name": name, "visit": 1, "workload": workload, "transport": transport,
            "congestion": "cubic", "connections": 1, "direction": "download", "bytes": 1,
            "completed": true, "start_s": 0.0, "completion_s": 300.0, "reverse_bytes": {},
            "objects": [], "error": null, "share_percent": share,
        })
    }

    fn metrics(results: &Results) -> Vec<&'static str> {
        Headlines::of(results).iter().map(|one| one.row.name).collect()
    }

    #[test]
    fn every_workload_names_metrics_that_exist() {
        for workload in WORKLOADS {
            for name in workload.beside.iter().chain([&workload.headline]) {
                assert!(find_metric(name).is_some(), "{}: {name}", workload.name);
            }
        }
        assert!(find_metric(SHARE).is_some());
        assert!(WORKLOADS.iter().any(|workload| workload.name == BULK));
    }

    #[test]
    fn each_flow_is_compared_by_what_its_workload_is_about() {
        let all = results(
            None,
            json!([
                flow("a", "download", "tcp", None),
                flow("b", "bulk", "quic", None),
                flow("c", "cbr", "cbr", None),
                flow("d", "ping", "ping", None),
                flow("e", "video", "quic", None),
            ]),
        );
        let expected =
            ["completion_s", "goodput_mbps", "lost_percent", "rtt_mean_ms", "segment_mean_s"];
        assert_eq!(metrics(&all), expected);
    }

    #[test]
    fn flows_that_compete_are_compared_by_their_shares() {
        let two = results(
            None,
            json!([flow("a", "bulk", "quic", Some(79.0)), flow("b", "bulk", "quic", Some(21.0))]),
        );
        assert_eq!(metrics(&two), ["share_percent", "share_percent"]);
        let download = results(None, json!([flow("a", "download", "quic", Some(50.0))]));
        assert_eq!(metrics(&download), ["completion_s"]);
    }

    #[test]
    fn a_scenario_can_name_the_metric() {
        let named = results(Some("rtt_p99_ms"), json!([flow("a", "bulk", "quic", None)]));
        let found = Headlines::of(&named);
        let one = found.get("a", 1).unwrap();
        assert_eq!((one.row.name, one.beside[0].name), ("rtt_p99_ms", "goodput_mbps"));
    }

    #[test]
    fn a_call_is_compared_by_its_audio_if_it_has_any() {
        let call = |media: &str| {
            let mut flow = flow("call", "call", "udp", None);
            flow["call"] = json!([{ "media": media, "direction": "download" }]);
            results(None, json!([flow]))
        };
        assert_eq!(metrics(&call("audio")), ["mos"]);
        assert_eq!(metrics(&call("video")), [SILENT_CALL]);
    }

    #[test]
    fn results_without_workloads_are_recognised_by_their_transport() {
        let old = results(
            None,
            json!([
                flow("a", "", "on-off", None),
                flow("b", "", "ping", None),
                flow("c", "", "tcp", None),
            ]),
        );
        assert_eq!(metrics(&old), ["lost_percent", "rtt_mean_ms", "completion_s"]);
    }
}

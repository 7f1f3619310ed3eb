//! Transfers that did not complete: why, when, and the key that would help.

use crate::document::Results;
use crate::expect::point_text;
use crate::explanation::{Account, causes, in_days};
use crate::run::{Flow, Point};
use bentpipe_timeseries::TimePart;
use serde::Serialize;

/// The runs of one visit of one flow that did not complete, of a variant at a sweep point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Value of each swept key.
    pub point: &'a Point,
    /// Name of the flow.
    pub flow: &'a str,
    /// Number of the visit.
    pub visit: usize,
    /// Number of runs that did not complete.
    pub failed: u64,
    /// Number of runs.
    pub runs: u64,
    /// Why the first of them ended.
    pub reason: &'a str,
    /// Time from the client's first packet until it ended, in seconds; `null` if unknown.
    pub after_s: Option<f64>,
    /// What that time was lost to, in words: `57.0 s outages`; empty if that is not known.
    pub lost_to: String,
    /// The key that would help, in words; `null` if none is known.
    pub remedy: Option<&'static str>,
}

/// Returns the transfers that did not complete, in the order of the results.
pub fn failures(results: &Results) -> Vec<Failure<'_>> {
    let mut all: Vec<Failure<'_>> = Vec::new();
    for group in results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point) {
        let flows = || group.iter().flat_map(|run| &run.flows);
        for flow in flows().filter(|flow| !flow.completed) {
            let (variant, point) = (group[0].variant.as_str(), &group[0].point);
            let of_group = |one: &&mut Failure<'_>| {
                (one.variant, one.point) == (variant, point)
                    && (one.flow, one.visit) == (&flow.name, flow.visit)
            };
            if let Some(known) = all.iter_mut().rev().find(of_group) {
                known.failed += 1;
                continue;
            }
            let same = |other: &&Flow| other.name == flow.name && other.visit == flow.visit;
            all.push(Failure {
                variant,
                point,
                flow: &flow.name,
                visit: flow.visit,
                failed: 1,
                runs: flows().filter(same).count() as u64,
                reason: flow.error.as_deref().unwrap_or("no reason is recorded"),
                after_s: ended_after(flow),
                lost_to: Account::until_failure(variant, point, flow)
                    .map(|account| causes(&account))
                    .unwrap_or_default(),
                remedy: remedy(flow),
            });
        }
    }
    all
}

/// Returns the variants of which no measured transfer completed in any run, at any point.
pub(crate) fn never_completed(results: &[crate::run::Run], variant: &str) -> bool {
    let own = results.iter().filter(|run| run.variant == variant);
    let mut flows = own.flat_map(|run| &run.flows).peekable();
    flows.peek().is_some() && flows.all(|flow| !flow.completed)
}

/// Returns the time at which a visit was given up: that which its budget has spent.
fn ended_after(flow: &Flow) -> Option<f64> {
    let budget = flow.time_budget.as_ref()?;
    let sum = budget.total_s();
    (sum > 0.0).then_some(sum)
}

/// What helps against a kind of failure.
struct Remedy {
    /// Words of the error, in lower case.
    words: &'static str,
    /// Transport; any if empty.
    transport: &'static str,
    /// True if the handshake was complete; `None` if that does not matter.
    connected: Option<bool>,
    /// True if the path lost packets or was out; `None` if that does not matter.
    lossy: Option<bool>,
    advice: &'static str,
}

/// Errors are those of the simulator, of HTTP/3 and of programs.
const REMEDIES: &[Remedy] = &[
    Remedy {
        words: "no route",
        transport: "",
        connected: None,
        lossy: None,
        advice: "`bentpipe orbit` shows when there is a route; `path.orbit.start_time` and \
                 `time_limit` move and lengthen the run",
    },
    Remedy {
        words: "time limit",
        transport: "",
        connected: None,
        lossy: None,
        advice: "a longer `time_limit` lets it go on",
    },
    Remedy {
        words: "time",
        transport: "quic",
        connected: Some(false),
        lossy: Some(true),
        advice: "its handshake was not complete within the idle timeout, as the path did not carry \
                 its packets: a longer `quic.idle_timeout` gives it more tries",
    },
    Remedy {
        words: "time",
        transport: "quic",
        connected: Some(false),
        lossy: Some(false),
        advice: "its handshake was not complete: `quic.initial_rtt` must be near the RTT of the \
                 path if that is long, so that its first packets have time to be answered",
    },
    Remedy {
        words: "time",
        transport: "quic",
        connected: Some(true),
        lossy: None,
        advice: "nothing arrived for as long as the idle timeout allows: `quic.idle_timeout` must \
                 be longer than the longest gap and RTT of the path",
    },
    Remedy {
        words: "timed out",
        transport: "tcp",
        connected: Some(false),
        lossy: None,
        advice: "TCP gives up after a number of retransmissions, and no key changes that; QUIC \
                 has `quic.initial_rtt`",
    },
    Remedy {
        words: "timed out",
        transport: "tcp",
        connected: Some(true),
        lossy: None,
        advice: "TCP gives up after a number of retransmissions without an answer, and no key \
                 changes that: the gaps of the path must be shorter",
    },
];

fn remedy(flow: &Flow) -> Option<&'static str> {
    let error = flow.error.as_deref()?.to_lowercase();
    let connected = flow.metrics.handshake_s.is_some();
    let lossy = has_losses(flow);
    let found = REMEDIES.iter().find(|remedy| {
        error.contains(remedy.words)
            && (remedy.transport.is_empty() || remedy.transport == flow.transport)
            && remedy.connected.is_none_or(|needed| needed == connected)
            && remedy.lossy.is_none_or(|needed| needed == lossy)
    });
    found.map(|remedy| remedy.advice)
}

/// Returns true if the path lost packets of a flow, or carried nothing for a time.
fn has_losses(flow: &Flow) -> bool {
    let metrics = &flow.metrics;
    let lost = [metrics.packets_lost_channel, metrics.packets_lost_routing];
    lost.into_iter().any(|packets| packets > 0)
        || flow.time_budget.as_ref().is_some_and(|budget| budget.get(TimePart::Outage) > 0.0)
}

impl Failure<'_> {
    /// Returns the failure in words: `2 of 20 runs did not complete: the first ended after 30 s,
    /// HTTP/3: Timeout`, and the remedy.
    pub fn text(&self) -> String {
        let Self { failed, runs, .. } = self;
        let mut text = match (failed, runs) {
            (1, 1) => "did not complete: it ended".to_owned(),
            (failed, runs) if failed == runs => {
                format!("did not complete in any of {runs} runs: the first ended")
            }
            _ => format!("did not complete in {failed} of {runs} runs: the first ended"),
        };
        if let Some(after) = self.after_s {
            text += &format!(" after {} s{}", seconds(after), in_days(after));
        }
        // It stands in a line of its own, and may come from a program.
        let reason: String =
            self.reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // That it was given up after this time is said.
        let given_up = reason.strip_prefix("given up after ").filter(|_| self.after_s.is_some());
        let limit = given_up.and_then(|given_up| Some(given_up.split_once(", ")?.1));
        text += &format!(" ({})", limit.unwrap_or(reason.trim()));
        if !self.lost_to.is_empty() {
            text += &format!(", of which {}", self.lost_to);
        }
        if let Some(remedy) = self.remedy {
            text += &format!("; {remedy}");
        }
        text
    }

    /// Returns the variant, flow, visit and point that it is about.
    pub fn name(&self, several_flows: bool, several_visits: bool) -> String {
        let mut name = self.variant.to_owned();
        if several_visits {
            name += &format!(", visit {}", self.visit);
        }
        if several_flows {
            name += &format!(", flow {}", self.flow);
        }
        if !self.point.is_empty() {
            name += &format!(" at {}", point_text(self.point));
        }
        name
    }
}

fn seconds(time: f64) -> String {
    if time >= 10.0 { format!("{time:.0}") } else { format!("{time:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(flows: &[(&str, &str, Option<&str>, Option<f64>)]) -> Results {
        let runs: Vec<_> = flows
            .iter()
            .enumerate()
            .map(|(run, (variant, transport, error, handshake))| {
                json!({ "variant": variant, "point": {}, "run": run, "links": [], "flows": [{
                    "name": "main", "visit": 1, "workload": "download", "transport": transport,
                    "congestion": "cubic", "connections": 1, "direction": "download", "bytes": 1,
                    "completed": error.is_none(), "start_s": 0.0, "handshake_s": handshake,
                    "reverse_bytes": {}, "objects": [], "error": error,
                    "time_budget": { "handshake_s": 40.0, "timeout_s": 20.0 },
                }] })
            })
            .collect();
        serde_json::from_value(json!({
            "scenario": "t", "seed": 1, "clock": "virtual", "version": "0.1.0", "runs": runs,
            "summary": [], "expectations": [], "published": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_failure_has_its_reason_its_time_and_the_key_that_helps() {
        let all = results(&[("quic", "quic", Some("HTTP/3: Timeout"), None)]);
        let found = failures(&all);
        assert_eq!(found.len(), 1);
        let text = found[0].text();
        assert!(
            text.starts_with(
                "did not complete: it ended after 60 s (HTTP/3: Timeout), of which 20.0 s \
                 timeouts; its handshake was"
            ) && text.contains("`quic.initial_rtt`"),
            "{text}"
        );
    }

    #[test]
    fn a_handshake_that_the_path_lost_needs_more_time_and_not_another_rtt() {
        let mut all = results(&[("quic", "quic", Some("HTTP/3: Timeout"), None)]);
        let budget = [(TimePart::Timeout, 43.0), (TimePart::Outage, 17.0)];
        all.runs[0].flows[0].time_budget = Some(budget.into_iter().collect());
        let text = failures(&all)[0].text();
        assert!(text.contains("`quic.idle_timeout`") && !text.contains("initial_rtt"), "{text}");
    }

    #[test]
    fn runs_of_a_case_are_counted_together() {
        let all = results(&[
            ("a", "quic", None, Some(1.0)),
            ("a", "quic", Some("given up after 2 s, the time limit of 2 s"), Some(1.0)),
            ("a", "quic", Some("HTTP/3: Timeout"), Some(1.0)),
            ("b", "tcp", Some("connection 0 timed out"), None),
        ]);
        let found = failures(&all);
        assert_eq!(
            found.iter().map(|one| (one.failed, one.runs)).collect::<Vec<_>>(),
            [(2, 3), (1, 1)]
        );
        assert_eq!(found[0].remedy, Some("a longer `time_limit` lets it go on"));
        let text = found[0].text();
        let start =
            "did not complete in 2 of 3 runs: the first ended after 60 s (the time limit of";
        assert!(text.starts_with(start), "{text}");
        assert!(found[1].remedy.is_some_and(|remedy| remedy.contains("TCP gives up")));
        assert!(!never_completed(&all.runs, "a") && never_completed(&all.runs, "b"));
    }

    #[test]
    fn what_a_program_wrote_stays_in_one_line() {
        let all = results(&[("a", "program", Some("gone\u{1b}[31m\nagain"), None)]);
        let text = failures(&all)[0].text();
        assert!(text.contains("(gone [31m again)") && !text.contains('\u{1b}'), "{text}");
    }
}

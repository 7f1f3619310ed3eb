//! Shared test fixtures: a scenario, and a runner that returns at once.

use crate::execution::Threads;
use crate::execution::run_alone;
use crate::execution::{Options, ResultsOnly, execute};
use crate::plan::{Changes, Plan};
use crate::store::StoredRun;
use bentpipe_link::random::stream;
use bentpipe_quic::congestion::SavedParameters;
use bentpipe_results::Results;
use bentpipe_sim::{
    FlowOutcome, LinkOutcome, ObjectOutcome, PathOutcome, QlogFile, ReverseBytes, RunError,
    RunOutcome, RunSpec, Runner,
};
use bentpipe_timeseries::{RunSeries, Series, VisitSeries};
use bentpipe_units::{Bytes, Span, Time};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Two variants and two sweep points, with loss so that runs differ.
pub const TWO_VARIANTS: &str = r#"
name = "two"
repeat = 6
[path]
profile = "geo-50-10"
forward = { loss = 0.001 }
[workload]
download = "10 MB"
[[variant]]
name = "1rtt"
[[variant]]
name = "0rtt"
handshake = "0rtt"
[sweep]
"workload.download" = ["2 MB", "10 MB"]
[[expect]]
metric = "completion_s"
variant = "0rtt"
relative_to = "1rtt"
below = 1.0
[[published]]
label = "objective"
kind = "objective"
metric = "completion_s"
point = { "workload.download" = "2 MB" }
value = 3.0
source = "a test"
"#;

/// Parses `text` as a plan.
pub fn plan(text: &str) -> Plan {
    Plan::parse("test.toml", text, Path::new("."), &Changes::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runner whose transfers take a few RTTs, their transmission time at 50 Mbps, and a random time
/// below 0.5 s.
pub struct Fake;

impl Runner for Fake {
    fn run(&self, spec: &RunSpec, _: &str, _: &AtomicBool) -> Result<RunOutcome, RunError> {
        let mut outcome = RunOutcome {
            flows: vec![],
            links: vec![],
            trace: None,
            qlog: vec![],
            capture: None,
            events: 1,
            end: Time::ZERO,
            emulation: None,
        };
        for flow in &spec.flows {
            for (index, visit) in flow.visits.iter().enumerate().filter(|(_, visit)| visit.measured)
            {
                let bytes: u64 = visit.objects.iter().map(|object| object.bytes.get()).sum();
                let rtts = if visit.handshake == bentpipe_quic::Handshake::ZeroRtt { 6 } else { 7 };
                let random = stream(spec.seed, spec.run, &flow.name).below(1_000_000) * 500;
                let time = spec.base_rtt * rtts + Span::from_nanos(bytes * 160 + random);
                outcome.flows.push(flow_outcome(
                    &flow.name,
                    index + 1,
                    visit.direction,
                    bytes,
                    time,
                ));
            }
        }
        outcome.links.push(LinkOutcome {
            name: "access/forward".to_owned(),
            counters: Default::default(),
            utilisation: 0.5,
            queue_mean: Span::ZERO,
            carried: Vec::new(),
        });
        if spec.trace.is_some() {
            let points =
                (0..100u64).map(|i| (Time::from_millis(i * 40), (i * 20_000) as f64)).collect();
            let series = [Series { name: "received", unit: "B", points, downsampled: false }];
            let flows = outcome.flows.iter().map(|flow| VisitSeries {
                name: flow.name.clone(),
                visit: flow.visit,
                start: Time::ZERO,
                series: series.to_vec(),
                marks: vec![(Time::from_millis(650), "handshake".to_owned())],
                phases: vec![(Time::ZERO, "slow start")],
            });
            outcome.trace =
                Some(RunSeries { flows: flows.collect(), links: vec![], paths: vec![] });
        }
        if spec.qlog.any() {
            outcome.qlog.push(QlogFile {
                name: "main-1-server".to_owned(),
                current: b"\x1e{}\n".to_vec(),
                qvis: Vec::new(),
            });
        }
        Ok(outcome)
    }
}

/// Returns the outcome of a flow that completes after `time`.
pub fn flow_outcome(
    name: &str,
    visit: usize,
    direction: bentpipe_sim::Direction,
    bytes: u64,
    time: Span,
) -> FlowOutcome {
    FlowOutcome {
        name: name.to_owned(),
        visit,
        transport: "quic",
        congestion: "cubic".to_owned(),
        connections: 1,
        direction,
        bytes,
        received: bytes,
        completed: true,
        handshake: Some(Span::from_millis(650)),
        first_byte: Some(Span::from_millis(1300)),
        completion: Some(time),
        packets_sent: bytes / 1400,
        bytes_sent: bytes,
        packets_lost_channel: 1,
        packets_declared_lost: Some(1),
        reverse_packets: bytes / 2800,
        reverse_bytes: ReverseBytes {
            ip: 20,
            udp: 8,
            quic: 40,
            total: 68,
            ..ReverseBytes::default()
        },
        rtt_min: Some(Span::from_millis(650)),
        rtt_mean: Some(Span::from_millis(700)),
        rtt_p99: Some(Span::from_millis(900)),
        path: PathOutcome {
            saved: Some(SavedParameters::new(Bytes::from_mb(4), Span::from_millis(650))),
            retreated: Some(false),
            token: Some("accepted"),
            ..PathOutcome::default()
        },
        objects: vec![ObjectOutcome {
            name: "object".to_owned(),
            bytes,
            received: bytes,
            start: Span::ZERO,
            completion: Some(time),
        }],
        ..FlowOutcome::default()
    }
}

/// Returns the results of `plan` with [`Fake`] on two threads.
pub fn results(plan: &Plan) -> Results {
    let stop = AtomicBool::new(false);
    let executor = Threads { runner: &Fake, jobs: NonZeroUsize::new(2).unwrap() };
    let execution = execute(plan, &Options::new(&executor, &stop), &ResultsOnly);
    assert!(execution.complete, "{:?}", execution.failure);
    execution.into_results(plan).0
}

/// Returns the records of all runs of `plan` with [`Fake`].
pub fn records(plan: &Plan) -> Vec<StoredRun> {
    let stop = AtomicBool::new(false);
    let record =
        |&task| StoredRun { seconds: 0.0, ..run_alone(plan, &Fake, task, &stop).unwrap().unwrap() };
    plan.tasks.iter().map(record).collect()
}

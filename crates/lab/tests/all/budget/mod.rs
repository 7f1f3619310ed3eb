//! A transfer over a plain path, whose time budget follows from the path, and what tests read of
//! its account.

use bentpipe_lab::{Changes, Plan, Runner, Simulator, Task};
use bentpipe_sim::FlowOutcome;
use bentpipe_timeseries::TimePart;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// 12 Mbps and 100 ms each way, so that 1500 bytes take a millisecond and the RTT is 200 ms.
pub const LINK: &str = r#"rate = "12 Mbps", delay = "100 ms", queue = "50 MB""#;

/// TCP without TLS that sends everything at once: the handshake is one round trip, and segments
/// are 1448 bytes of content in 1500.
pub const AT_ONCE: &str = r#"
transport = "tcp"
http = "raw"
slow_start = "standard"
initial_window = 10000
tcp.receive_autotune = false
tcp.receive_buffer = "200 MB"
flow_control.send_buffer = "100 MB"
"#;

/// Segments of content, 1448 bytes each.
pub const fn segments(count: u64) -> u64 {
    1448 * count
}

#[derive(Clone)]
pub struct Case {
    pub forward: String,
    pub reverse: String,
    pub more: String,
    pub workload: String,
    pub defaults: String,
}

impl Case {
    /// A download of this many segments by TCP, all at once, over the plain path.
    pub fn at_once(count: u64) -> Self {
        Self {
            forward: LINK.to_owned(),
            reverse: LINK.to_owned(),
            more: String::new(),
            workload: format!("download = \"{} B\"", segments(count)),
            defaults: AT_ONCE.to_owned(),
        }
    }

    pub fn forward(self, link: &str) -> Self {
        Self { forward: link.to_owned(), ..self }
    }

    pub fn reverse(self, link: &str) -> Self {
        Self { reverse: link.to_owned(), ..self }
    }

    pub fn workload(self, workload: &str) -> Self {
        Self { workload: workload.to_owned(), ..self }
    }

    pub fn with(self, key: &str) -> Self {
        Self { defaults: format!("{}{key}\n", self.defaults), ..self }
    }

    pub fn flows(self, flows: &str) -> Self {
        Self { more: flows.to_owned(), workload: String::new(), ..self }
    }

    pub fn text(&self) -> String {
        let Self { forward, reverse, more, workload, defaults } = self;
        let workload =
            if workload.is_empty() { String::new() } else { format!("[workload]\n{workload}\n") };
        format!(
            "name = \"case\"\ntime_limit = \"5 min\"\n[path]\nforward = {{ {forward} }}\n\
             return = {{ {reverse} }}\n{workload}[defaults]\n{defaults}\n{more}"
        )
    }

    /// Runs the case, and returns the last visit of its first flow.
    pub fn run(&self) -> FlowOutcome {
        run_text(&self.text())
    }
}

/// Runs a scenario, and returns the last visit of its first flow.
pub fn run_text(text: &str) -> FlowOutcome {
    let plan = Plan::parse("case.toml", text, Path::new("."), &Changes::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let spec = plan.spec(Task { case: 0, run: 0 }).unwrap();
    let run = Simulator.run(&spec, "case", &AtomicBool::new(false)).unwrap();
    let name = run.flows[0].name.clone();
    let mut visits = run.flows.into_iter().filter(|flow| flow.name == name);
    visits.next_back().unwrap()
}

/// Returns the time of `part` in seconds.
pub fn time(flow: &FlowOutcome, part: TimePart) -> f64 {
    flow.time_budget.unwrap().get(part).as_secs_f64()
}

/// Returns all parts that have time, for messages.
pub fn parts(flow: &FlowOutcome) -> String {
    let parts = TimePart::ALL.iter().filter(|&&part| time(flow, part) > 0.0);
    parts.map(|&part| format!("{part:?} {:.4} s\n", time(flow, part))).collect()
}

/// Returns by how many seconds `flow` took longer than `plain`.
pub fn longer(flow: &FlowOutcome, plain: &FlowOutcome) -> f64 {
    let [flow, plain] = [flow, plain].map(|flow| flow.completion.unwrap().as_secs_f64());
    flow - plain
}

/// Checks that each part that is named has the expected time in seconds, within 1 %, and that the
/// others together have at most 1 % of the completion time.
#[track_caller]
pub fn check(flow: &FlowOutcome, expected: &[(TimePart, f64)]) {
    let budget = flow.time_budget.unwrap();
    assert_eq!(Some(budget.total()), flow.completion, "{}", parts(flow));
    let mut others = budget.total().as_secs_f64();
    for &(part, expected) in expected {
        let measured = time(flow, part);
        others -= measured;
        assert!(
            (measured - expected).abs() <= expected / 100.0,
            "{part:?}: {measured:.4} s, expected {expected:.4} s\n{}",
            parts(flow)
        );
    }
    let most = budget.total().as_secs_f64() / 100.0;
    assert!(others <= most, "other parts: {others:.4} s\n{}", parts(flow));
}

/// Share of the content in a segment, and of everything else.
pub const CONTENT: f64 = 1448.0 / 1500.0;
pub const HEADER: f64 = 1.0 - CONTENT;
/// The RTT without the transmission of packets.
pub const RTT: f64 = 0.2;

/// Handshake and request of one round trip each, and the data of [`Case::at_once`] for a download
/// of 2000 segments, which takes 2 s; together with `more`.
pub fn plain_and(more: &[(TimePart, f64)]) -> Vec<(TimePart, f64)> {
    let plain = [
        (TimePart::Handshake, RTT),
        (TimePart::Request, RTT),
        (TimePart::Serialisation, 2.0 * CONTENT),
        (TimePart::Headers, 2.0 * HEADER),
    ];
    let kept = plain.into_iter().filter(|(part, _)| !more.iter().any(|(other, _)| other == part));
    kept.chain(more.iter().copied()).filter(|&(_, time)| time > 0.0).collect()
}

/// QUIC with its bare streams, unlimited by windows, that sends `mbps` of QUIC packets.
pub fn at_rate(mbps: f64, segments_of_tcp: u64) -> Case {
    Case {
        defaults: format!(
            "preset = \"rfc\"\nhttp = \"raw\"\nslow_start = \"standard\"\n\
             congestion = \"fixed-rate\"\nparameters.fixed-rate.mbps = {mbps}\n\
             flow_control.stream_window = \"100 MB\"\nflow_control.connection_window = \"100 MB\"\n\
             flow_control.send_buffer = \"100 MB\"\n"
        ),
        ..Case::at_once(segments_of_tcp)
    }
}

/// Rate of QUIC packets of 1472 bytes that fills the link, with 28 bytes of headers each.
pub const FULL: f64 = 12.0 * 1472.0 / 1500.0;

/// A window of half a BDP.
pub fn half_window() -> Case {
    Case {
        defaults: AT_ONCE.replace("200 MB", &format!("{} B", 2 * segments(100))),
        ..Case::at_once(2000)
    }
}

/// The same over QUIC.
pub fn half_window_of_quic() -> Case {
    at_rate(FULL, 2000).with(&format!("max_window = \"{} B\"", segments(100)))
}

/// A chain of ten requests, each answered by one packet.
pub fn chain() -> String {
    let objects: Vec<String> = (0..10)
        .map(|number| match number {
            0 => "{ name = \"o0\", size = \"700 B\" }".to_owned(),
            _ => format!(
                "{{ name = \"o{number}\", size = \"700 B\", after = [\"o{}\"] }}",
                number - 1
            ),
        })
        .collect();
    format!("objects = [{}]", objects.join(", "))
}

//! Responsiveness under working conditions, with known answers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_media::responsiveness::{Outcome, Plan};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{DatagramTraffic, FlowSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run, run_spec};

const IDLE: Span = Span::from_secs(10);

fn timed(seconds: u64) -> Visit {
    let duration = Some(Span::from_secs(seconds));
    Visit { duration, objects: Vec::new(), ..download(0, Handshake::OneRtt) }
}

/// Returns a test of 60 s with a load of at most this many connections.
fn test(connections: u32) -> FlowSpec {
    test_from(connections, CongestionConfig::default())
}

/// Returns it with CUBIC, and with what else `congestion` says.
fn test_from(connections: u32, congestion: CongestionConfig) -> FlowSpec {
    let congestion = CongestionConfig { controller: "cubic".parse().unwrap(), ..congestion };
    let window = Bytes::from_mb(32);
    let settings = QuicSettings {
        http: Http::Raw,
        congestion,
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    };
    let plan = Plan { idle: IDLE, interval: Span::from_millis(200), connections };
    flow("test", Stack::quic(settings), vec![Visit { test: Some(plan), ..timed(60) }])
}

/// Runs the first flow, a test, over a path of 20 Mbps down with this RTT and queue.
fn measured(rtt: Span, forward: &str, flows: Vec<FlowSpec>) -> Outcome {
    let direction = |rate, patch| link(Rate::from_mbps(rate), rtt / 2, patch);
    let hops = vec![hop("link", direction(20, forward), direction(10, ""))];
    let outcome = run(&run_spec(rtt, hops, flows));
    assert_eq!(outcome.flows[0].error, None);
    outcome.flows[0].test.unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
}

#[test]
fn an_idle_path_has_the_round_trips_of_its_rtt() {
    // 1,000, 100 and 92 RPM, less the transmission of packets.
    for (ms, rpm) in [(60, 1_000.0), (600, 100.0), (650, 92.3)] {
        let outcome = measured(Span::from_millis(ms), "", vec![test(0)]);
        for phase in [outcome.idle, outcome.loaded] {
            near(phase.rpm().unwrap(), rpm, rpm * 0.03);
        }
    }
}

#[test]
fn a_full_queue_of_one_rtt_halves_responsiveness() {
    // Datagrams of twice the rate keep a queue of 600 ms full: 1,200 ms, 50 RPM.
    let rate = Rate::from_mbps(40);
    let load = Stack::DatagramTraffic(DatagramTraffic::Constant {
        rate,
        packet: Bytes::new(1_500),
        bursts: None,
    });
    let load = FlowSpec { start: IDLE, ..flow("load", load, vec![timed(50)]) };
    let rtt = Span::from_millis(600);
    // Half of all packets are lost, so that what arrives at all is asked.
    let outcome = measured(rtt, "queue = { limit = \"1 BDP\" }", vec![test(0), load]);
    let request = outcome.loaded.foreign.unwrap().quantiles[0];
    assert!(request >= Span::from_millis(1_190), "{request}");
    near(outcome.idle.rpm().unwrap(), 100.0, 3.0);
}

#[test]
fn a_load_of_its_own_costs_what_its_queue_holds() {
    let rtt = Span::from_millis(600);
    let outcome = measured(rtt, "queue = { limit = \"1 BDP\" }", vec![test(16)]);
    // A full queue doubles the RTT: half of 100 requests a minute at least, by the median.
    for latencies in [outcome.loaded.foreign.unwrap(), outcome.loaded.own.unwrap()] {
        let median = latencies.quantiles[0];
        let full = rtt * 2 + Span::from_millis(30);
        assert!((rtt..full).contains(&median), "{median}");
    }
    // Handshakes and requests that the full queue drops wait for a timeout, which a mean counts.
    let rpm = outcome.loaded.rpm().unwrap();
    assert!((35.0..100.0).contains(&rpm), "{rpm}");
    assert!(rpm < outcome.idle.rpm().unwrap() - 10.0);
}

/// R2: a full queue of one RTT has 50 RPM, an empty one 100.
#[test]
fn a_load_of_cubic_alone_leaves_half_of_the_round_trips() {
    let standard =
        CongestionConfig { slow_start: "standard".parse().unwrap(), ..CongestionConfig::default() };
    let queue = "queue = { limit = \"1 BDP\" }";
    let outcome = measured(Span::from_millis(600), queue, vec![test_from(16, standard)]);
    let (rpm, foreign) = (outcome.loaded.rpm().unwrap(), outcome.loaded.foreign_rpm().unwrap());
    assert!((50.0..100.0).contains(&foreign), "{foreign}");
    // Answers on a connection of the load also wait for room in the send buffer, which it fills.
    assert!(rpm < foreign, "{rpm}, {foreign}");
}

/// R4: without a queue, new connections are as fast as idle. Those of the load are not: the load
/// keeps the send buffer full, and what the policer drops is sent again.
#[test]
fn a_policer_adds_no_delay_to_new_connections() {
    let rtt = Span::from_millis(600);
    let policed = "policer = { rate = \"10 Mbps\", burst = \"64 kB\" }";
    let outcome = measured(rtt, policed, vec![test(1)]);
    let [idle, loaded] = [outcome.idle, outcome.loaded];
    // The policer is at half of the link's rate: a packet may wait for one of its burst.
    near(loaded.foreign_rpm().unwrap(), idle.foreign_rpm().unwrap(), 1.0);
    let own = loaded.own.unwrap();
    assert!(own.quantiles[0] > rtt, "{own:?}");
}

#[test]
fn a_queue_for_each_flow_keeps_new_connections_as_idle() {
    let rtt = Span::from_millis(60);
    let queue = "queue = { limit = \"1 BDP\", aqm = \"fq\", hash = \"exact\" }";
    let outcome = measured(rtt, queue, vec![test(4)]);
    let [idle, loaded] = [outcome.idle, outcome.loaded].map(|phase| phase.foreign.unwrap().mean);
    // A packet of the load, and those of the handshakes and requests of others.
    let packet = Rate::from_mbps(20).time_for(Bytes::new(1_500));
    assert!(loaded >= idle && loaded <= idle + packet * 2, "{loaded}, {idle}");
    // A request on the connection of the load waits in its queue.
    let own = outcome.loaded.own.unwrap().mean;
    assert!(own > loaded + packet * 4, "{own}, {loaded}");
}

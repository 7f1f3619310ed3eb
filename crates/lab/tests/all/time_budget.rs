//! Time budgets with known answers: one cause each, whose cost follows from the path.

#![allow(clippy::unwrap_used)]

use crate::budget;

use bentpipe_sim::FlowOutcome;
use bentpipe_timeseries::TimePart;
use budget::*;

#[test]
fn handshake_request_and_data_are_the_whole_of_an_unlimited_transfer() {
    check(&Case::at_once(2000).run(), &plain_and(&[]));
}

#[test]
fn tls_adds_a_round_trip_to_the_handshake() {
    let case = Case { defaults: AT_ONCE.replace("raw", "h1"), ..Case::at_once(2000) };
    // TLS records add to the headers.
    let flow = case.run();
    let handshake = time(&flow, TimePart::Handshake);
    assert!((handshake - 2.0 * RTT).abs() <= 2.0 * RTT / 100.0, "{}", parts(&flow));
}

#[test]
fn a_quic_handshake_is_one_round_trip() {
    let flow = at_rate(FULL, 2000).run();
    assert!((time(&flow, TimePart::Handshake) - RTT).abs() < RTT / 100.0, "{}", parts(&flow));
    assert!((time(&flow, TimePart::Request) - RTT).abs() < RTT / 100.0, "{}", parts(&flow));
}

#[test]
fn early_data_needs_no_handshake() {
    let flow = at_rate(FULL, 2000).with("handshake = \"0rtt\"").run();
    assert_eq!(time(&flow, TimePart::Handshake), 0.0, "{}", parts(&flow));
    assert!((time(&flow, TimePart::Request) - RTT).abs() < RTT / 100.0, "{}", parts(&flow));
}

#[test]
fn pacing_at_half_of_the_rate_leaves_the_link_idle_for_as_long_as_it_sends() {
    let flow = at_rate(FULL / 2.0, 4000).run();
    let sent = time(&flow, TimePart::Serialisation) + time(&flow, TimePart::Headers);
    let paced = time(&flow, TimePart::Pacing);
    assert!((paced - sent).abs() <= sent / 100.0, "{}", parts(&flow));
}

#[test]
fn a_receive_window_of_half_a_bdp_leaves_the_link_idle_for_half_of_each_round_trip() {
    // A window of 100 segments: 19 times it is sent in 100 ms and the rest of the RTT is idle, with
    // a millisecond for the segment that the first ACK answers.
    let case = Case {
        defaults: AT_ONCE.replace("200 MB", &format!("{} B", 2 * segments(100))),
        ..Case::at_once(2000)
    };
    check(&case.run(), &plain_and(&[(TimePart::FlowControl, 19.0 * (RTT + 0.002 - 0.1))]));
}

#[test]
fn a_maximum_window_is_the_congestion_window() {
    let case = Case {
        defaults: AT_ONCE.replace("10000", "100").replace("200 MB", "400 MB"),
        ..Case::at_once(2000)
    };
    let flow = case.with(&format!("max_window = \"{} B\"", segments(100))).run();
    check(&flow, &plain_and(&[(TimePart::CongestionWindow, 19.0 * (RTT + 0.002 - 0.1))]));
}

#[test]
fn slow_start_costs_what_its_windows_leave_idle() {
    // 10, 20 and 40 segments: the second and the third flight arrive an RTT after the one before.
    let case = Case { defaults: AT_ONCE.replace("10000", "10"), ..Case::at_once(70) };
    let flow = case.with("ack = \"1:1\"").run();
    check(
        &flow,
        &[
            (TimePart::Handshake, RTT),
            (TimePart::Request, RTT),
            (TimePart::Serialisation, 0.07 * CONTENT),
            (TimePart::Headers, 0.07 * HEADER),
            (TimePart::SlowStart, 2.0 * (RTT + 0.001) - 0.01 - 0.02),
        ],
    );
}

/// Two objects of 1000 segments, the second requested a second after the first is complete.
const PAUSE: &str = "objects = [{ name = \"a\", size = \"1448000 B\" }, \
    { name = \"b\", size = \"1448000 B\", after = [\"a\"], delay = \"1 s\" }]";

#[test]
fn a_pause_of_the_application_is_followed_by_the_round_trip_of_a_request() {
    let flow = Case::at_once(0).workload(PAUSE).run();
    check(&flow, &plain_and(&[(TimePart::Application, 1.0), (TimePart::Request, 2.0 * RTT)]));
}

#[test]
fn a_pause_of_the_application_is_seen_over_quic_too() {
    let flow = at_rate(FULL, 0).workload(PAUSE).run();
    assert!((time(&flow, TimePart::Application) - 1.0).abs() < 0.01, "{}", parts(&flow));
    assert!((time(&flow, TimePart::Request) - 2.0 * RTT).abs() < 0.004, "{}", parts(&flow));
}

#[test]
fn a_source_that_writes_in_pieces_pauses_between_them_and_waits_for_no_loss() {
    let pieces = "objects = [{ name = \"a\", size = \"100 kB\", \
        pieces = { size = \"10 kB\", interval = \"500 ms\" } }]";
    let flow = at_rate(FULL, 0).workload(pieces).run();
    // Ten pieces, each of which takes 7 ms on the link.
    let pauses = time(&flow, TimePart::Application);
    assert!((pauses - 9.0 * 0.493).abs() < 0.05, "{}", parts(&flow));
    assert!(time(&flow, TimePart::LossDetection) < 0.01, "{}", parts(&flow));
}

#[test]
fn a_chain_of_requests_costs_a_round_trip_for_each() {
    for case in [at_rate(FULL, 0), Case::at_once(0)] {
        let flow = case.workload(&chain()).run();
        let requests = time(&flow, TimePart::Request);
        assert!((requests - 10.0 * RTT).abs() <= 0.1 * RTT, "{}", parts(&flow));
        assert!(time(&flow, TimePart::Application) < 0.01 * requests, "{}", parts(&flow));
    }
}

const OUTAGE: &str = "rate = { schedule = [{ at = \"0 s\", rate = \"12 Mbps\" }, \
    { at = \"1 s\", rate = \"0 bps\" }, { at = \"3 s\", rate = \"12 Mbps\" }] }, \
    delay = \"100 ms\", queue = \"50 MB\"";

#[test]
fn an_outage_of_two_seconds_costs_two_seconds() {
    check(&Case::at_once(2000).forward(OUTAGE).run(), &plain_and(&[(TimePart::Outage, 2.0)]));
}

#[test]
fn an_outage_costs_quic_the_same() {
    let flow = at_rate(FULL, 2000).forward(OUTAGE).run();
    assert!((time(&flow, TimePart::Outage) - 2.0).abs() < 0.02, "{}", parts(&flow));
}

#[test]
fn a_path_that_becomes_longer_costs_the_difference_once() {
    let link = "rate = \"12 Mbps\", queue = \"50 MB\", delay = { schedule = \
        [{ at = \"0 s\", delay = \"100 ms\" }, { at = \"1 s\", delay = \"300 ms\" }] }";
    let flow = Case::at_once(2000).forward(link).run();
    check(&flow, &plain_and(&[(TimePart::PathChange, 0.2)]));
}

#[test]
fn a_lost_syn_costs_its_timeout() {
    let link = format!(
        "{LINK}, loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"0 s\", to = \"50 ms\" }}] }}"
    );
    check(&Case::at_once(2000).reverse(&link).run(), &plain_and(&[(TimePart::Timeout, 1.0)]));
}

#[test]
fn a_lost_last_segment_costs_the_probe_timeout() {
    // The SYN-ACK is packet 0, so the last segment is number 2000.
    let lossy = format!("{LINK}, loss = {{ model = \"periodic\", every = 100000, offset = 2000 }}");
    let plain = Case::at_once(2000).run();
    let flow = Case::at_once(2000).forward(&lossy).run();
    assert_eq!(flow.packets_lost_channel, 1);
    let more = longer(&flow, &plain);
    let found = time(&flow, TimePart::Timeout) + time(&flow, TimePart::LossDetection);
    assert!(found >= 0.99 * more && found <= more, "{found} s of {more} s\n{}", parts(&flow));
    assert!(time(&flow, TimePart::Timeout) > 0.9 * more, "{}", parts(&flow));
}

#[test]
fn lost_packets_cost_the_capacity_that_they_used() {
    let lossy = format!("{LINK}, loss = {{ model = \"periodic\", every = 10 }}");
    let flow = at_rate(FULL, 16_000).forward(&lossy).run();
    let lost = flow.packets_lost_channel as f64 * 0.001;
    let found = time(&flow, TimePart::LostPackets);
    assert!(
        flow.packets_lost_channel > 400 && (found - lost).abs() <= lost / 100.0,
        "{}",
        parts(&flow)
    );
}

#[test]
fn packets_of_a_competitor_that_were_first_cost_their_transmission() {
    // Both send 2 s of data at once; the first flow's is 10 ms later, behind the other's.
    let object = segments(2000);
    let flows = format!(
        "[[flow]]\nname = \"main\"\nstart_time = \"10 ms\"\ndownload = \"{object} B\"\n\
         [[flow]]\nname = \"cross\"\ndownload = \"{object} B\"\n"
    );
    let flow = Case::at_once(0).flows(&flows).run();
    check(&flow, &plain_and(&[(TimePart::OtherFlows, 2.0 - 0.01)]));
}

#[test]
fn a_competitor_that_comes_later_waits_and_costs_nothing() {
    let object = segments(2000);
    let flows = format!(
        "[[flow]]\nname = \"main\"\ndownload = \"{object} B\"\n\
         [[flow]]\nname = \"cross\"\nstart_time = \"100 ms\"\ndownload = \"{object} B\"\n"
    );
    check(&Case::at_once(0).flows(&flows).run(), &plain_and(&[]));
}

#[test]
fn behind_flow_queues_a_competitor_costs_what_it_sends_meanwhile() {
    // The first 100 packets are alone on the link. Then both take turns, so that the other flow
    // sends 1900 of its packets before the last of this one's, although they all came later.
    let object = segments(2000);
    let flows = format!(
        "[[flow]]\nname = \"main\"\ndownload = \"{object} B\"\n\
         [[flow]]\nname = \"cross\"\nstart_time = \"100 ms\"\ndownload = \"{object} B\"\n"
    );
    let link = LINK.replace(
        "queue = \"50 MB\"",
        "queue = { limit = \"50 MB\", aqm = \"fq\", hash = \"exact\" }",
    );
    let flow = Case::at_once(0).forward(&link).flows(&flows).run();
    check(&flow, &plain_and(&[(TimePart::OtherFlows, 1.9)]));
}

#[test]
fn an_upload_over_a_quarter_of_the_carrier_waits_for_capacity_three_quarters_of_the_time() {
    let link = format!("{LINK}, capacity_allocation = {{ cra = \"3 Mbps\" }}");
    let case = Case::at_once(0).reverse(&link);
    let flow = case.workload(&format!("upload = \"{} B\"", segments(2000))).run();
    let capacity = time(&flow, TimePart::Capacity);
    assert!((capacity - 6.0).abs() <= 0.06, "{}", parts(&flow));
}

#[test]
fn acknowledgements_that_wait_cost_what_they_delay() {
    // An upload that sends 300 segments at once, for 300 ms of the return link.
    let flows = format!(
        "[[flow]]\nname = \"main\"\ndownload = \"{} B\"\n\
         [[flow]]\nname = \"cross\"\nstart_time = \"1 s\"\nupload = \"{} B\"\n\
         tcp.receive_buffer = \"200 MB\"\n",
        segments(2000),
        segments(300)
    );
    let plain = half_window().run();
    let flow = half_window().flows(&flows).run();
    let more = longer(&flow, &plain);
    let found = time(&flow, TimePart::ReturnLink);
    assert!(more > 0.2, "{more} s");
    assert!((found - more).abs() <= more / 100.0, "{found} s of {more} s\n{}", parts(&flow));
}

#[test]
fn acknowledgements_that_wait_for_the_end_of_an_outage_cost_an_outage() {
    let outage = OUTAGE.replace("3 s", "1150 ms");
    let plain = half_window().run();
    let flow = half_window().reverse(&outage).run();
    let more = longer(&flow, &plain);
    let found = time(&flow, TimePart::Outage);
    assert!(more > 0.14, "{more} s");
    assert!((found - more).abs() <= more / 100.0, "{found} s of {more} s\n{}", parts(&flow));
    assert!(time(&flow, TimePart::ReturnLink) < more / 100.0, "{}", parts(&flow));
}

#[test]
fn timeouts_while_an_outage_holds_the_acknowledgements_are_the_outage() {
    // Acknowledgements that leave after 1 s wait until 6 s.
    for case in [half_window(), half_window_of_quic()] {
        let plain = case.run();
        let flow = Case { reverse: stopped(1000, 6000), ..case }.run();
        let more = longer(&flow, &plain);
        let found = time(&flow, TimePart::Outage);
        assert!(more > 4.9, "{more} s");
        assert!((found - more).abs() <= more / 100.0, "{found} s of {more} s\n{}", parts(&flow));
    }
}

/// The plain link, at rate zero between these times in milliseconds.
fn stopped(from: u32, to: u32) -> String {
    let first = if from == 0 { "" } else { "{ at = \"0 s\", rate = \"12 Mbps\" }, " };
    format!(
        "rate = {{ schedule = [{first}{{ at = \"{from} ms\", rate = \"0 bps\" }}, \
         {{ at = \"{to} ms\", rate = \"12 Mbps\" }}] }}, delay = \"100 ms\", queue = \"50 MB\""
    )
}

#[test]
fn an_outage_that_holds_a_syn_costs_the_wait_for_its_end() {
    // The SYN is sent at once, before the timer of a second expires.
    let flow = Case::at_once(2000).reverse(&stopped(0, 500)).run();
    check(&flow, &plain_and(&[(TimePart::Outage, 0.5)]));
}

#[test]
fn an_outage_that_holds_a_syn_ack_costs_the_wait_for_its_end() {
    // The SYN-ACK is sent after 100 ms. Repetitions of the SYN come through.
    let flow = Case::at_once(2000).forward(&stopped(50, 2100)).run();
    check(&flow, &plain_and(&[(TimePart::Outage, 2.0)]));
}

#[test]
fn an_outage_that_holds_a_quic_handshake_costs_the_wait_for_its_end() {
    for (case, waits) in [
        (at_rate(FULL, 2000).forward(&stopped(50, 2100)), 2.0),
        (at_rate(FULL, 2000).reverse(&stopped(0, 2000)), 2.0),
    ] {
        let flow = case.run();
        let found = time(&flow, TimePart::Outage);
        assert!((found - waits).abs() <= waits / 100.0, "{found} s\n{}", parts(&flow));
        assert_eq!(time(&flow, TimePart::Capacity), 0.0, "{}", parts(&flow));
    }
}

#[test]
fn an_outage_that_holds_a_request_costs_the_wait_for_its_end() {
    // The request is sent after 200 ms, together with the ACK of the handshake.
    let flow = Case::at_once(2000).reverse(&stopped(150, 700)).run();
    check(&flow, &plain_and(&[(TimePart::Outage, 0.5)]));
}

#[test]
fn a_path_that_loses_every_syn_costs_an_outage_and_then_a_timeout() {
    // SYNs at 0, 1 and 3 s are lost, and that at 7 s arrives.
    let link = format!(
        "{LINK}, loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"0 s\", to = \"5 s\" }}] }}"
    );
    let flow = Case::at_once(2000).reverse(&link).run();
    check(&flow, &plain_and(&[(TimePart::Outage, 3.0), (TimePart::Timeout, 4.0)]));
}

#[test]
fn losses_in_a_row_by_chance_are_no_outage() {
    let case = Case::at_once(2000).reverse(&format!("{LINK}, loss = 0.3"));
    let flows: Vec<FlowOutcome> =
        (1..=30).map(|seed| run_text(&format!("seed = {seed}\n{}", case.text()))).collect();
    for flow in &flows {
        assert_eq!(time(flow, TimePart::Outage), 0.0, "{}", parts(flow));
    }
    // Two SYNs in a row are lost in one of eleven runs: timeouts of 1 and 2 s.
    let twice = flows.iter().filter(|flow| time(flow, TimePart::Timeout) > 2.9).count();
    assert!(twice > 0);
}

#[test]
fn a_proxy_with_a_slow_server_starves() {
    let text = format!(
        r#"
name = "case"
time_limit = "5 min"
[[path.hop]]
name = "client"
forward = {{ rate = "1 Gbps", delay = "1 ms" }}
return = {{ rate = "1 Gbps", delay = "1 ms" }}
[[path.hop]]
name = "satellite"
forward = {{ {LINK} }}
return = {{ {LINK} }}
[[path.hop]]
name = "server"
forward = {{ rate = "3 Mbps", delay = "1 ms", queue = "50 MB" }}
return = {{ rate = "3 Mbps", delay = "1 ms" }}
[path.pep]
hop = "satellite"
[workload]
download = "{} B"
[defaults]
{AT_ONCE}
tcp.pep = "both"
"#,
        segments(2000)
    );
    let flow = run_text(&text);
    // The server's hop takes 8 s for what the satellite sends in 2 s.
    let starved = time(&flow, TimePart::Proxy);
    assert!((starved - 6.0).abs() <= 0.06, "{}", parts(&flow));
}

#[test]
fn reordering_costs_the_capacity_of_spurious_retransmissions() {
    let link = "rate = \"12 Mbps\", queue = \"50 MB\", \
        delay = { base = \"100 ms\", jitter = \"60 ms\", keep_order = false }";
    let case = Case { defaults: AT_ONCE.replace("10000", "200"), ..Case::at_once(4000) };
    let flow = case.with(&format!("max_window = \"{} B\"", segments(200))).forward(link).run();
    let repeated = flow.packets_sent.saturating_sub(4001) as f64 * 0.001;
    assert!(repeated > 0.1, "{repeated} s\n{}", parts(&flow));
    let found = time(&flow, TimePart::Duplicates);
    assert!((found - repeated).abs() <= 0.01 * repeated, "{repeated} s\n{}", parts(&flow));
}

#[test]
fn flow_control_of_http_is_flow_control() {
    // HTTP/2 with a window of 100 segments per stream, over a TCP without limits.
    let case = Case { defaults: AT_ONCE.replace("raw", "h2"), ..Case::at_once(2000) };
    let window = segments(100);
    let flow = case
        .with(&format!("flow_control.stream_window = \"{window} B\""))
        .with("flow_control.connection_window = \"100 MB\"")
        .run();
    let rest: f64 =
        [TimePart::Handshake, TimePart::Request, TimePart::Serialisation, TimePart::Headers]
            .map(|part| time(&flow, part))
            .iter()
            .sum();
    let idle = flow.completion.unwrap().as_secs_f64() - rest;
    let found = time(&flow, TimePart::FlowControl);
    assert!(idle > 1.0 && found >= 0.99 * idle, "{}", parts(&flow));
}

//! Time budgets with known answers: waits of packets and of acknowledgements, and what losses cost.

#![allow(clippy::unwrap_used)]

use crate::budget;

use bentpipe_timeseries::{LossPlace, TimePart};
use budget::*;

/// The plain link with frames of this length.
fn frames(milliseconds: u32) -> String {
    format!("{LINK}, frame = \"{milliseconds} ms\"")
}

#[test]
fn waits_for_frames_are_capacity_wherever_they_occur() {
    // The handshake, the request and each further request of a chain; in either direction.
    for case in [at_rate(FULL, 0), Case::at_once(0)] {
        for reverse in [false, true] {
            let case = case.clone().workload(&chain());
            let plain = case.run();
            let case =
                if reverse { case.reverse(&frames(700)) } else { case.forward(&frames(700)) };
            let flow = case.run();
            let (more, found) = (longer(&flow, &plain), time(&flow, TimePart::Capacity));
            assert!(more > 4.0, "{more} s");
            assert!((found - more).abs() <= more / 20.0, "{found} s of {more} s\n{}", parts(&flow));
            assert!(time(&flow, TimePart::Application) < 0.001, "{}", parts(&flow));
        }
    }
}

#[test]
fn a_rate_that_grows_costs_what_the_ceiling_would_have_saved() {
    // 24 Mbit from 6 Mbps on, growing by 0.6 Mbps each second: 3.416 s, and 2 s at 12 Mbps.
    let rate = "rate = { demand = { base = \"6 Mbps\", ceiling = \"12 Mbps\", rise = \"10 s\" } }";
    let flow = Case::at_once(2000).forward(&LINK.replace("rate = \"12 Mbps\"", rate)).run();
    let found = time(&flow, TimePart::Capacity);
    assert!((found - 1.416).abs() < 0.015, "{}", parts(&flow));
    assert!(time(&flow, TimePart::OtherFlows) < 0.001, "{}", parts(&flow));
}

#[test]
fn frames_longer_than_a_round_trip_are_no_longer_path() {
    let flow = half_window().forward(&frames(700)).run();
    let found = time(&flow, TimePart::Capacity);
    let more = longer(&flow, &half_window().run());
    assert!(more > 5.0 && (found - more).abs() <= more / 20.0, "{found} s of {more} s");
    assert_eq!(time(&flow, TimePart::PathChange), 0.0, "{}", parts(&flow));
}

#[test]
fn acknowledgements_that_the_receiver_holds_back_are_a_part_of_their_own() {
    let every = |ack: &str| {
        let case = half_window_of_quic().with(&format!("ack = \"{ack}\""));
        case.with("max_ack_delay = \"300 ms\"").run()
    };
    let (plain, flow) = (every("1:2"), every("1:1000"));
    let (more, found) = (longer(&flow, &plain), time(&flow, TimePart::HeldAcks));
    assert_eq!(time(&plain, TimePart::HeldAcks), 0.0, "{}", parts(&plain));
    assert!(more > 3.0, "{more} s");
    assert!((found - more).abs() <= more / 10.0, "{found} s of {more} s\n{}", parts(&flow));
}

#[test]
fn slow_start_after_a_timeout_is_the_losses_window() {
    // All that is sent between 0.6 and 1.1 s is lost: slow start has only begun.
    let link = format!(
        "{LINK}, loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"600 ms\", to = \"1100 ms\" }}] }}"
    );
    for case in [Case::at_once(2000), at_rate(FULL, 2000)] {
        let slow = case.defaults.replace("10000", "10").replace("fixed-rate\"", "newreno\"");
        let slow = slow.lines().filter(|line| !line.contains("fixed-rate.mbps"));
        let case = Case { defaults: slow.map(|line| format!("{line}\n")).collect(), ..case };
        let (plain, flow) = (case.run(), case.forward(&link).run());
        let [before, after] = [&plain, &flow].map(|flow| time(flow, TimePart::SlowStart));
        assert!(after < before + 2.0 * RTT, "{before} s and {after} s\n{}", parts(&flow));
        let window = time(&flow, TimePart::CongestionWindow);
        assert!(window > 0.5, "{window} s\n{}", parts(&flow));
        assert_eq!(time(&plain, TimePart::CongestionWindow), 0.0, "{}", parts(&plain));
    }
}

#[test]
fn losses_cost_time_at_the_place_of_those_that_caused_it() {
    // Slow start overshoots a queue; later, all that is sent for two seconds is lost.
    let link = "rate = \"12 Mbps\", delay = \"20 ms\", queue = \"30 kB\", \
        loss = { model = \"bernoulli\", ratio = 1, \
        active = [{ from = \"1 s\", to = \"3 s\" }] }";
    let case = Case { defaults: AT_ONCE.replace("10000", "100"), ..Case::at_once(2000) };
    let flow = case.forward(link).run();
    assert!(flow.packets_lost_queue > flow.packets_lost_channel, "{:?}", flow.packets_lost_queue);
    let [channel, queue] =
        [LossPlace::Channel, LossPlace::Queue].map(|place| flow.loss_times.get(place));
    assert!(channel > queue * 2, "{channel} and {queue}\n{}", parts(&flow));
}

#[test]
fn each_request_of_a_chain_waits_for_capacity_on_demand() {
    let allocation = "capacity_allocation = { rbdc = \"12 Mbps\", request_interval = \"700 ms\" }";
    let case = Case { defaults: AT_ONCE.replace("raw", "h2"), ..Case::at_once(0) };
    let case = case.workload(&chain());
    let plain = case.run();
    let flow = case.reverse(&format!("{LINK}, {allocation}")).run();
    let (more, found) = (longer(&flow, &plain), time(&flow, TimePart::ReturnLink));
    assert!(more > 4.0, "{more} s");
    assert!((found - more).abs() <= more / 20.0, "{found} s of {more} s\n{}", parts(&flow));
}

#[test]
fn a_thin_return_link_is_not_slow_start() {
    let case = Case { defaults: AT_ONCE.replace("10000", "10"), ..Case::at_once(1000) };
    let plain = case.run();
    let flow = case.reverse(&LINK.replace("12 Mbps", "16 kbps")).run();
    let (more, found) = (longer(&flow, &plain), time(&flow, TimePart::ReturnLink));
    assert!(more > 5.0, "{more} s");
    assert!((found - more).abs() <= more / 5.0, "{found} s of {more} s\n{}", parts(&flow));
}

#[test]
fn a_transfer_that_never_began_has_lost_its_time_to_the_losses() {
    let link = format!("{LINK}, loss = 1");
    let flow = at_rate(FULL, 2000).forward(&link).run();
    assert!(!flow.completed);
    let needed = time(&flow, TimePart::Handshake) + time(&flow, TimePart::Request);
    let lost = time(&flow, TimePart::Outage) + time(&flow, TimePart::Timeout);
    assert!(needed <= 2.0 * RTT && lost > 5.0, "{}", parts(&flow));
}

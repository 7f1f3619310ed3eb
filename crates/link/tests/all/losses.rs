//! Loss processes on a link: active times, several processes, and the effect on the link.

use crate::common;

use bentpipe_link::{DirectionConfig, DropCause, Ecn};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, link, run, steady};
use std::path::Path;

fn config(loss: &str) -> DirectionConfig {
    direction(&format!("rate = \"12 Mbps\"\ndelay = \"0 s\"\nloss = {loss}"))
}

/// Returns for each of `count` packets, sent at intervals of 1 ms on a link that is never full,
/// whether it is lost.
fn outcomes(loss: &str, seed: u64, count: u64) -> Vec<bool> {
    let mut outcomes: Vec<PacketOutcome> = run(
        &mut link(&config(loss), seed, 1),
        &steady(count, Span::from_millis(1), Ecn::NotEct),
        |_| (),
    );
    outcomes.sort_by_key(|outcome| outcome.packet);
    outcomes.iter().map(|outcome| outcome.lost.is_some()).collect()
}

#[test]
fn a_process_only_loses_packets_in_its_active_times() {
    // Packet n, from 0, leaves the transmitter at n + 1 ms.
    let lost = |windows: &str| -> Vec<usize> {
        let text = format!("{{ model = \"bernoulli\", ratio = 1, {windows} }}");
        outcomes(&text, 1, 60)
            .iter()
            .enumerate()
            .filter(|(_, lost)| **lost)
            .map(|(number, _)| number)
            .collect()
    };
    let once =
        "active = [{ from = \"10 ms\", to = \"12 ms\" }, { from = \"20 ms\", to = \"21 ms\" }]";
    assert_eq!(lost(once), [9, 10, 19]);
    assert_eq!(lost(&format!("{once}, repeat = \"25 ms\"")), [9, 10, 19, 34, 35, 44, 59]);
}

#[test]
fn several_processes_are_counted_separately_and_independent() {
    let two = "[0.02, { model = \"periodic\", every = 10 }]";
    let mut link = link(&config(two), 5, 1);
    let count = 20_000;
    let outcomes_of_two = run(&mut link, &steady(count, Span::from_millis(1), Ecn::NotEct), |_| ());
    let by = |index| {
        outcomes_of_two
            .iter()
            .filter(|outcome| outcome.lost == Some(DropCause::Loss(index)))
            .count() as u64
    };
    let tallies: Vec<u64> = link.loss_tallies().map(|tally| tally.packets).collect();
    assert_eq!(tallies, [by(0), by(1)]);
    assert_eq!(link.counters().dropped_loss.packets, by(0) + by(1));
    // The first process alone loses the same packets.
    let alone = outcomes("0.02", 5, count);
    for outcome in &outcomes_of_two {
        assert_eq!(outcome.lost == Some(DropCause::Loss(0)), alone[outcome.packet]);
    }
}

#[test]
fn a_lost_packet_uses_the_link_and_is_lost_when_it_leaves_the_transmitter() {
    let mut link = link(&config("1"), 1, 1);
    let outcomes = run(&mut link, &steady(3, Span::ZERO, Ecn::NotEct), |_| ());
    assert_eq!(
        outcomes.iter().map(|outcome| outcome.at).collect::<Vec<_>>(),
        [1, 2, 3].map(Time::from_millis)
    );
    assert_eq!(link.counters().busy, Span::from_millis(3));
}

#[test]
fn given_times_of_total_loss_are_outages() {
    let model = |loss: &str| config(loss).load(Path::new(".")).unwrap();
    let at = Time::from_millis;
    let active = "active = [{ from = \"10 ms\", to = \"12 ms\" }]";
    let total = format!("{{ model = \"bernoulli\", ratio = 1, {active}");
    let once = model(&format!("{total} }}"));
    assert_eq!(once.total_losses(at(99)).collect::<Vec<_>>(), [(at(10), at(12))]);
    assert_eq!(once.last_change(), Some(at(12)));
    let again = model(&format!("{total}, repeat = \"25 ms\" }}"));
    let times: Vec<_> = again.total_losses(at(40)).collect();
    assert_eq!(times, [(at(10), at(12)), (at(35), at(37))]);
    assert_eq!(again.last_change(), Some(Time::MAX));
    for other in [format!("{{ model = \"bernoulli\", ratio = 0.9, {active} }}"), "1".to_owned()] {
        assert_eq!(model(&other).total_losses(at(99)).count(), 0, "{other}");
    }
}

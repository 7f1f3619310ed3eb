//! Every controller on a path whose length changes, with and without hints of it, and on one that drifts.

mod bottleneck;

use bentpipe_congestion::catalogue::CONTROLLERS;
use bentpipe_congestion::{FastStart, HintFeed, HintUse, PathHint, Recipe, Setup, StartName};
use bentpipe_units::{Bytes, Rate, Span, Time};
use bottleneck::{MTU, Path, Run};
use std::fmt::Write;

const NONE: HintUse = HintUse { reset: false, hold: false, drain: false };
const RESET: HintUse = HintUse { reset: true, ..NONE };
const HOLD: HintUse = HintUse { hold: true, ..NONE };
const DRAIN: HintUse = HintUse { drain: true, ..NONE };
const ALL: HintUse = HintUse { reset: true, hold: true, drain: true };
const USES: [(&str, HintUse); 5] = [("none", NONE), ("reset", RESET), ("hold", HOLD), ("drain", DRAIN), ("all", ALL)];

const END: Time = Time::from_secs(60);
const SHORT: Span = Span::from_millis(40);
const LONG: Span = Span::from_millis(70);

/// A bottleneck of 20 Mbps whose queue holds the short path's bandwidth-delay product.
fn path(motion: fn(Time) -> Span) -> Path {
    Path { motion: Some(motion), ..Path::new(Rate::from_mbps(20), SHORT) }
}

/// 40 ms, 70 ms from 20 s on, and 40 ms again from 40 s on.
fn steps(at: Time) -> Span {
    if (20..40).contains(&(at.as_nanos() / 1_000_000_000)) { LONG } else { SHORT }
}

fn hint(at: Time, before: Span, after: Span) -> PathHint {
    PathHint { at, rtt_before: Some(before), rtt_after: Some(after), rate_after: None, silence: Span::ZERO }
}

/// What [`steps`] does, announced.
fn true_hints() -> Vec<PathHint> {
    vec![hint(Time::from_secs(20), SHORT, LONG), hint(Time::from_secs(40), LONG, SHORT)]
}

fn names() -> impl Iterator<Item = &'static str> {
    // It has no search that hints could help or mislead.
    CONTROLLERS.iter().map(|part| part.name).filter(|name| *name != "fixed-rate")
}

fn run(name: &str, uses: HintUse, hints: &[PathHint], motion: fn(Time) -> Span) -> Run {
    let recipe =
        Recipe { controller: name.parse().unwrap(), start: StartName::STANDARD, hints: uses, ..Recipe::default() };
    let setup = Setup { now: Time::ZERO, mtu: MTU, initial_window: Bytes::new(12_000), distance_m: Some(5_000_000) };
    let feed = HintFeed::new();
    hints.iter().for_each(|hint| feed.announce(*hint));
    let controller = recipe.prepare().unwrap().with_hints(feed).make(&setup, FastStart::Refused, None);
    let mut run = Run::new(path(motion), controller, 1);
    run.until(END);
    run
}

/// Share of the link between two seconds, in percent.
fn share(run: &Run, from: u64, to: u64) -> f64 {
    100.0 * run.utilisation(Time::from_secs(from), Time::from_secs(to))
}

/// Mean time in the queue, ms.
fn queueing(run: &Run) -> f64 {
    run.passed.1.as_millis_f64() / run.passed.0.max(1) as f64
}

#[test]
fn what_hints_do_for_each_controller_where_the_path_becomes_longer_and_shorter_again() {
    let mut table =
        String::from("controller  hints   share: 0-60 s   long   short again   queue, ms   declared lost\n");
    for name in names() {
        for (hints, uses) in USES {
            let run = run(name, uses, &true_hints(), steps);
            writeln!(
                table,
                "{name:<10}  {hints:<5}   {:>13.1}   {:>4.1}   {:>11.1}   {:>9.1}   {:>13}",
                share(&run, 0, 60),
                share(&run, 21, 40),
                share(&run, 41, 60),
                queueing(&run),
                run.declared_lost,
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// What LEO paths drift by between two changes of satellite: 84 µs a second.
const DRIFT_NANOS: u64 = 84_000;
/// How long a satellite serves.
const SLOT_NANOS: u64 = 15_000_000_000;

fn drifted(nanos: u64) -> Span {
    Span::from_nanos(nanos / 1_000_000 * DRIFT_NANOS / 1_000)
}

fn still(_: Time) -> Span {
    SHORT
}

fn rising(at: Time) -> Span {
    SHORT + drifted(at.as_nanos()) - drifted(END.as_nanos() / 2).min(SHORT)
}

fn falling(at: Time) -> Span {
    SHORT + drifted(END.as_nanos() / 2) - drifted(at.as_nanos().min(2 * END.as_nanos()))
}

fn rising_saw(at: Time) -> Span {
    SHORT + drifted(at.as_nanos() % SLOT_NANOS) - drifted(SLOT_NANOS / 2)
}

fn falling_saw(at: Time) -> Span {
    SHORT + drifted(SLOT_NANOS / 2) - drifted(at.as_nanos() % SLOT_NANOS)
}

#[test]
fn what_a_drifting_round_trip_costs_each_controller() {
    let motions: [(&str, fn(Time) -> Span); 5] = [
        ("still", still),
        ("rising", rising),
        ("falling", falling),
        ("rising saw", rising_saw),
        ("falling saw", falling_saw),
    ];
    let mut table = String::from("controller  round trip    share, 10-60 s   queue, ms   declared lost\n");
    for name in names() {
        for (label, motion) in motions {
            let run = run(name, NONE, &[], motion);
            writeln!(
                table,
                "{name:<10}  {label:<11}   {:>14.1}   {:>9.1}   {:>13}",
                share(&run, 10, 60),
                queueing(&run),
                run.declared_lost
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_filter_that_does_not_know_of_a_longer_path_gives_it_up_and_one_that_does_keeps_it() {
    // 1/9 and 1/1 of the long path, as measured; copa forgets after ten seconds by itself.
    let long = |name, uses| share(&run(name, uses, &true_hints(), steps), 21, 40);
    assert!(long("vegas", NONE) < 20.0);
    assert!(long("vegas", RESET) > 95.0);
    assert!(long("copa", NONE) < 95.0);
    assert!(long("copa", RESET) > 98.0);
}

#[test]
fn hints_that_cost_a_controller_anything_cost_little() {
    for name in names() {
        let without = share(&run(name, NONE, &true_hints(), steps), 0, 60);
        for (label, uses) in USES {
            let with = share(&run(name, uses, &true_hints(), steps), 0, 60);
            assert!(with > without - 1.0, "{name}, {label}: {with} against {without}");
        }
    }
}

#[test]
fn wrong_hints_do_no_lasting_harm() {
    // A change that never comes, either way and of a silence too; and what comes, announced the wrong way round.
    let never: Vec<PathHint> = [(20, SHORT, LONG), (30, LONG, SHORT)]
        .map(|(at, before, after)| PathHint {
            silence: Span::from_millis(100),
            ..hint(Time::from_secs(at), before, after)
        })
        .to_vec();
    let reversed = vec![hint(Time::from_secs(20), LONG, SHORT), hint(Time::from_secs(40), SHORT, LONG)];
    for name in names() {
        for (label, hints, motion) in [("never", &never, still as fn(Time) -> Span), ("reversed", &reversed, steps)] {
            let (without, with) = (run(name, NONE, &[], motion), run(name, ALL, hints, motion));
            let cost = share(&without, 0, 60) - share(&with, 0, 60);
            assert!(cost < 2.0, "{name}, {label}: {cost} % of the minute");
            let after = share(&without, 45, 60) - share(&with, 45, 60);
            assert!(after < 2.0, "{name}, {label}: {after} % long after");
        }
    }
}

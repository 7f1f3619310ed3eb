//! Paths whose round trip changes by steps or drifts, what is announced of them, and a flow over
//! one.

use super::{MTU, Motion, Path, Run};
use bentpipe_congestion::catalogue::CONTROLLERS;
use bentpipe_congestion::{
    CongestionConfig, ControllerConfig, FastStart, PathChangeFeed, PathChangeNotice,
    PathChangeResponse, SlowStartName,
};
use bentpipe_units::{Bytes, Rate, Span, Time};

pub const NONE: PathChangeResponse =
    PathChangeResponse { shift_rtt: false, suppress_loss: false, pre_drain: false };
pub const RESET: PathChangeResponse = PathChangeResponse { shift_rtt: true, ..NONE };
pub const HOLD: PathChangeResponse = PathChangeResponse { suppress_loss: true, ..NONE };
pub const DRAIN: PathChangeResponse = PathChangeResponse { pre_drain: true, ..NONE };
pub const ALL: PathChangeResponse =
    PathChangeResponse { shift_rtt: true, suppress_loss: true, pre_drain: true };
/// Every use of hints for itself, none and all.
pub const RESPONSES: [(&str, PathChangeResponse); 5] =
    [("none", NONE), ("reset", RESET), ("hold", HOLD), ("drain", DRAIN), ("all", ALL)];

/// How long a flow is watched.
pub const END: Time = Time::from_secs(60);
pub const SHORT: Span = Span::from_millis(40);
pub const LONG: Span = Span::from_millis(70);

/// How long a satellite serves (Starlink assigns by slots of 15 s).
pub const SLOT: Span = Span::from_secs(15);
/// Nothing passes from each change of satellite on for so long; what sets out meanwhile is lost.
pub const SILENCE: Span = Span::from_millis(20);

/// What a round trip over a satellite at 550 km drifts by at most in a second: four legs of 21 µs
/// each.
const DRIFT: Span = Span::from_micros(84);

/// The controllers that search: no notice helps or misleads the other.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|part| part.name).filter(|name| *name != "fixed-rate")
}

/// A bottleneck of 20 Mbps whose queue holds the short path's bandwidth-delay product.
pub fn path(motion: Motion) -> Path {
    Path { motion: Some(motion), ..Path::new(Rate::from_mbps(20), SHORT) }
}

/// 50 Mbps with a queue of 100 packets, 40 and 48 ms by turns of [`SLOT`], with a [`SILENCE`]
/// between.
pub fn handovers() -> Path {
    Path {
        buffer: Bytes::new(100 * MTU.get()),
        motion: Some(by_turns),
        silent: Some(|at| {
            at >= Time::ZERO + SLOT && at.as_nanos() % SLOT.as_nanos() < SILENCE.as_nanos()
        }),
        ..Path::new(Rate::from_mbps(50), SHORT)
    }
}

fn by_turns(at: Time) -> Span {
    if (at.as_nanos() / SLOT.as_nanos()) % 2 == 1 { Span::from_millis(48) } else { SHORT }
}

/// 40 ms, 70 ms from 20 s on, and 40 ms again from 40 s on.
pub fn steps(at: Time) -> Span {
    if (Time::from_secs(20)..Time::from_secs(40)).contains(&at) { LONG } else { SHORT }
}

/// No change at all.
pub fn still(_: Time) -> Span {
    SHORT
}

fn drifted(over: Span) -> Span {
    DRIFT.mul_f64(over.as_secs_f64())
}

/// Ever longer, and 40 ms in the middle.
pub fn rising(at: Time) -> Span {
    (SHORT + drifted(at.since_start())).saturating_sub(drifted(END.since_start() / 2))
}

/// Ever shorter, and 40 ms in the middle.
pub fn falling(at: Time) -> Span {
    (SHORT + drifted(END.since_start() / 2)).saturating_sub(drifted(at.since_start()))
}

/// Longer while a satellite serves, and back at once with the next.
pub fn rising_saw(at: Time) -> Span {
    (SHORT + drifted(Span::from_nanos(at.as_nanos() % SLOT.as_nanos())))
        .saturating_sub(drifted(SLOT / 2))
}

/// Shorter while a satellite serves.
pub fn falling_saw(at: Time) -> Span {
    (SHORT + drifted(SLOT / 2))
        .saturating_sub(drifted(Span::from_nanos(at.as_nanos() % SLOT.as_nanos())))
}

/// The motions to compare.
pub const DRIFTS: [(&str, Motion); 5] = [
    ("still", still),
    ("rising", rising),
    ("falling", falling),
    ("rising saw", rising_saw),
    ("falling saw", falling_saw),
];

/// A change at a time.
pub fn notice(at: Time, before: Span, after: Span) -> PathChangeNotice {
    PathChangeNotice {
        at,
        rtt_before: Some(before),
        rtt_after: Some(after),
        rate_after: None,
        outage: Span::ZERO,
    }
}

/// What [`steps`] does.
pub fn step_notices() -> Vec<PathChangeNotice> {
    vec![notice(Time::from_secs(20), SHORT, LONG), notice(Time::from_secs(40), LONG, SHORT)]
}

/// What [`handovers`] does.
pub fn handover_notices() -> Vec<PathChangeNotice> {
    let hints = (1..=8).map(|slot| {
        let at = Time::ZERO + SLOT * slot;
        let before = Time::from_nanos(at.as_nanos() - 1);
        PathChangeNotice { outage: SILENCE, ..notice(at, by_turns(before), by_turns(at)) }
    });
    hints.collect()
}

/// A minute of a flow with a controller of that name over `path`, told of `hints`, which count from
/// where the path's motion does.
pub fn run(
    path: Path,
    name: &str,
    response: PathChangeResponse,
    hints: &[PathChangeNotice],
) -> Run {
    let congestion = CongestionConfig {
        controller: name.parse().expect("a name of the catalogue"),
        slow_start: SlowStartName::STANDARD,
        path_change: response,
        ..CongestionConfig::default()
    };
    let config = ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(12_000),
        distance_m: Some(5_000_000),
        rtt: None,
    };
    let feed = PathChangeFeed::new();
    for notice in hints {
        feed.announce(PathChangeNotice {
            at: Time::ZERO + notice.at.since_start().saturating_sub(path.offset),
            ..*notice
        });
    }
    let factory =
        congestion.factory().expect("defaults are within their ranges").with_path_changes(feed);
    let mut run = Run::new(path, factory.make(&config, FastStart::Refused, None), 1);
    run.until(END);
    run
}

/// Share of the link between two seconds, in percent.
pub fn share(run: &Run, from: u64, to: u64) -> f64 {
    100.0 * run.utilisation(Time::from_secs(from), Time::from_secs(to))
}

/// Mean time in the queue, ms.
pub fn queueing(run: &Run) -> f64 {
    run.passed.1.as_millis_f64() / run.passed.0.max(1) as f64
}

//! Paths whose RTT changes in steps or drifts, the announcements of these changes, and a flow over
//! such a path.

use super::{MTU, Motion, Path, Run};
use bentpipe_congestion::catalogue::CONTROLLERS;
use bentpipe_congestion::{
    ChangeProbe, CongestionConfig, ControllerConfig, FastStart, PathChangeFeed, PathChangeNotice,
    PathChangeResponse, SlowStartName,
};
use bentpipe_units::{Bytes, Rate, Span, Time};

pub const NONE: PathChangeResponse = PathChangeResponse {
    shift_rtt: false,
    suppress_loss: false,
    pre_drain: false,
    probe: ChangeProbe::None,
};
pub const SHIFT_RTT: PathChangeResponse = PathChangeResponse { shift_rtt: true, ..NONE };
pub const SUPPRESS_LOSS: PathChangeResponse = PathChangeResponse { suppress_loss: true, ..NONE };
pub const PRE_DRAIN: PathChangeResponse = PathChangeResponse { pre_drain: true, ..NONE };
pub const ALL: PathChangeResponse =
    PathChangeResponse { shift_rtt: true, suppress_loss: true, pre_drain: true, ..NONE };
/// Each response alone, none, and all.
pub const RESPONSES: [(&str, PathChangeResponse); 5] = [
    ("none", NONE),
    ("shift-rtt", SHIFT_RTT),
    ("suppress-loss", SUPPRESS_LOSS),
    ("pre-drain", PRE_DRAIN),
    ("all", ALL),
];

/// Duration of a simulated flow.
pub const END: Time = Time::from_secs(60);
pub const SHORT: Span = Span::from_millis(40);
pub const LONG: Span = Span::from_millis(70);

/// Duration of service by one satellite (Starlink assigns slots of 15 s).
pub const SLOT: Span = Span::from_secs(15);
/// Outage at each handover. Packets sent during it are lost.
pub const OUTAGE: Span = Span::from_millis(20);

/// Maximum RTT drift per second of a path over a satellite at 550 km: four legs of 21 µs each.
const DRIFT: Span = Span::from_micros(84);

/// Names of the controllers that search for capacity; announcements have no effect on the other.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|part| part.name).filter(|name| *name != "fixed-rate")
}

/// Returns a bottleneck of 20 Mbps whose queue holds the bandwidth-delay product of the short path.
pub fn path(motion: Motion) -> Path {
    Path { motion: Some(motion), ..Path::new(Rate::from_mbps(20), SHORT) }
}

/// 50 Mbps with a queue of 100 packets. The RTT alternates between 40 and 48 ms every [`SLOT`],
/// with an outage of [`OUTAGE`] in between.
pub fn handovers() -> Path {
    Path {
        buffer: Bytes::new(100 * MTU.get()),
        motion: Some(alternating),
        is_outage: Some(|at| {
            at >= Time::ZERO + SLOT && at.as_nanos() % SLOT.as_nanos() < OUTAGE.as_nanos()
        }),
        ..Path::new(Rate::from_mbps(50), SHORT)
    }
}

fn alternating(at: Time) -> Span {
    if (at.as_nanos() / SLOT.as_nanos()) % 2 == 1 { Span::from_millis(48) } else { SHORT }
}

/// 40 ms, then 70 ms from 20 s on, and again 40 ms from 40 s on.
pub fn steps(at: Time) -> Span {
    if (Time::from_secs(20)..Time::from_secs(40)).contains(&at) { LONG } else { SHORT }
}

/// Returns a constant RTT.
pub fn still(_: Time) -> Span {
    SHORT
}

fn drifted(over: Span) -> Span {
    DRIFT.mul_f64(over.as_secs_f64())
}

/// Returns an RTT that always increases, 40 ms in the middle.
pub fn rising(at: Time) -> Span {
    (SHORT + drifted(at.since_start())).saturating_sub(drifted(END.since_start() / 2))
}

/// Returns an RTT that always decreases, 40 ms in the middle.
pub fn falling(at: Time) -> Span {
    (SHORT + drifted(END.since_start() / 2)).saturating_sub(drifted(at.since_start()))
}

/// Returns an RTT that increases while a satellite serves, and jumps back at each handover.
pub fn rising_saw(at: Time) -> Span {
    (SHORT + drifted(Span::from_nanos(at.as_nanos() % SLOT.as_nanos())))
        .saturating_sub(drifted(SLOT / 2))
}

/// Returns an RTT that decreases while a satellite serves.
pub fn falling_saw(at: Time) -> Span {
    (SHORT + drifted(SLOT / 2))
        .saturating_sub(drifted(Span::from_nanos(at.as_nanos() % SLOT.as_nanos())))
}

/// The compared drifts.
pub const DRIFTS: [(&str, Motion); 5] = [
    ("still", still),
    ("rising", rising),
    ("falling", falling),
    ("rising saw", rising_saw),
    ("falling saw", falling_saw),
];

/// Returns the announcement of a change of the RTT.
pub fn notice(at: Time, before: Span, after: Span) -> PathChangeNotice {
    PathChangeNotice {
        at,
        rtt_before: Some(before),
        rtt_after: Some(after),
        rate_after: None,
        outage: Span::ZERO,
    }
}

/// Returns the announcements for [`steps`].
pub fn step_notices() -> Vec<PathChangeNotice> {
    vec![notice(Time::from_secs(20), SHORT, LONG), notice(Time::from_secs(40), LONG, SHORT)]
}

/// Returns the announcements for [`handovers`].
pub fn handover_notices() -> Vec<PathChangeNotice> {
    let notices = (1..=8).map(|slot| {
        let at = Time::ZERO + SLOT * slot;
        let before = Time::from_nanos(at.as_nanos() - 1);
        PathChangeNotice { outage: OUTAGE, ..notice(at, alternating(before), alternating(at)) }
    });
    notices.collect()
}

/// Runs a flow of one minute with the named controller over `path` and the announcements `notices`,
/// whose times count from the start of the path's motion.
pub fn run(
    path: Path,
    name: &str,
    response: PathChangeResponse,
    notices: &[PathChangeNotice],
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
    for notice in notices {
        feed.announce(PathChangeNotice { at: notice.at.saturating_sub(path.offset), ..*notice });
    }
    let factory =
        congestion.factory().expect("defaults are within their ranges").with_path_changes(feed);
    let mut run = Run::new(path, factory.make(&config, FastStart::Refused, None), 1);
    run.until(END);
    run
}

/// Returns the link utilisation between two seconds, in percent.
pub fn share(run: &Run, from: u64, to: u64) -> f64 {
    100.0 * run.utilisation(Time::from_secs(from), Time::from_secs(to))
}

/// Returns the mean queueing delay in ms.
pub fn queueing(run: &Run) -> f64 {
    run.passed.1.as_millis_f64() / run.passed.0.max(1) as f64
}

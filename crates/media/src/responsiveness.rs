//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-09): round trips per
//! minute of small requests, idle and beside a load that grows until it fills the path.
//!
//! A *foreign* probe opens a connection and requests a byte; a *self* probe requests a byte over a
//! connection of the load. [`Test`] says when each is due and what they have measured. It does no
//! I/O.

use bentpipe_units::{Span, Time};

/// Time between two additions to the load, and over which its goodput is measured.
pub const INTERVAL: Span = Span::from_secs(5);
/// Intervals that are compared for stability, and at the end of which probes count (MAD).
pub const COMPARED: usize = 4;
/// Standard deviation of their goodputs over the mean below which the load is stable (SDT).
const STABLE: f64 = 0.05;
/// Share of the values, the best ones, that count for a trimmed mean.
const KEPT: f64 = 0.95;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Time before the load.
    pub idle: Span,
    /// Time between two probes of each kind.
    pub interval: Span,
    /// Most connections of the load; with 0, there is none.
    pub connections: u32,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A foreign probe with this number.
    Foreign(usize),
    /// A self probe with this number.
    Own(usize),
    /// A connection joins the load. The first is the one of the self probes.
    Load,
}

/// A small request.
#[derive(Debug, Clone, Copy)]
struct Probe {
    start: Time,
    /// When its connection had completed the handshake.
    connected: Option<Time>,
    answered: Option<Time>,
}

/// The state of a test.
///
/// Call [`Test::poll`] at the time of [`Test::due`] until it returns `None`.
#[derive(Debug)]
pub struct Test {
    plan: Plan,
    ends: Time,
    loads: Time,
    next_probes: Time,
    /// True once the connection of the self probes exists.
    is_ready: bool,
    /// True if the self probe of this time is still to be made.
    own_due: bool,
    next_interval: Time,
    connections: u32,
    /// Bytes of the load at the end of each interval.
    received: Vec<u64>,
    is_stable: bool,
    foreign: Vec<Probe>,
    own: Vec<Probe>,
}

/// Values of small requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies {
    /// Trimmed mean.
    pub mean: Span,
    /// Median, 95th and 99th percentile.
    pub quantiles: [Span; 3],
}

/// Latencies of one phase, each `None` without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phase {
    /// Handshakes of foreign probes.
    pub handshake: Option<Latencies>,
    /// Requests of foreign probes, without the handshake.
    pub foreign: Option<Latencies>,
    /// Self probes.
    pub own: Option<Latencies>,
}

/// What a test has measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Before the load.
    pub idle: Phase,
    /// In the last four intervals.
    pub loaded: Phase,
    /// Connections of the load at the end.
    pub connections: u32,
    /// True if the goodput of the load was stable before it had all its connections.
    pub is_stable: bool,
}

impl Test {
    /// Creates a test between two times.
    pub fn new(plan: Plan, (begun, ends): (Time, Time)) -> Self {
        let loads = begun + plan.idle;
        Self {
            plan,
            ends,
            loads,
            next_probes: begun,
            is_ready: false,
            own_due: false,
            next_interval: loads,
            connections: 0,
            received: Vec::new(),
            is_stable: false,
            foreign: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Returns when [`Test::poll`] is to be called; `None` after the end.
    pub fn due(&self) -> Option<Time> {
        let next = self.next_probes.min(self.next_interval);
        Some(next).filter(|next| *next < self.ends)
    }

    /// Returns what is to be done at `now`, by when `received` bytes of the load have arrived.
    pub fn poll(&mut self, now: Time, received: u64) -> Option<Action> {
        if std::mem::take(&mut self.own_due) {
            self.own.push(Probe::begin(now));
            return Some(Action::Own(self.own.len() - 1));
        }
        if self.next_probes <= now && now < self.ends {
            self.next_probes += self.plan.interval;
            self.own_due = self.is_ready;
            self.foreign.push(Probe::begin(now));
            return Some(Action::Foreign(self.foreign.len() - 1));
        }
        if self.next_interval <= now && now < self.ends {
            self.next_interval += INTERVAL;
            self.received.push(received);
            self.is_stable |= self.goodput_is_stable();
            if !self.is_stable && self.connections < self.plan.connections {
                self.connections += 1;
                return Some(Action::Load);
            }
        }
        None
    }

    /// Returns true if the load has begun.
    pub fn has_load(&self) -> bool {
        self.connections > 0
    }

    /// Returns true if the goodputs of the last intervals differ little.
    fn goodput_is_stable(&self) -> bool {
        let goodputs: Vec<f64> =
            self.received.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let Some(last) = goodputs.last_chunk::<COMPARED>() else { return false };
        let mean = last.iter().sum::<f64>() / COMPARED as f64;
        let square = last.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>();
        mean > 0.0 && libm::sqrt(square / COMPARED as f64) < STABLE * mean
    }

    /// Notes that the connection of the self probes exists: from now on, they are made.
    pub fn set_ready(&mut self) {
        self.is_ready = true;
    }

    /// Notes that a foreign probe has completed its handshake.
    pub fn connected(&mut self, number: usize, now: Time) {
        if let Some(probe) = self.foreign.get_mut(number) {
            probe.connected = Some(now);
        }
    }

    /// Notes the answer to a probe.
    pub fn answered(&mut self, action: Action, now: Time) {
        let probe = match action {
            Action::Foreign(number) => self.foreign.get_mut(number),
            Action::Own(number) => self.own.get_mut(number),
            Action::Load => None,
        };
        if let Some(probe) = probe {
            probe.answered = Some(now);
        }
    }

    /// Returns what was measured by the end, `now`.
    pub fn finish(&self, now: Time) -> Outcome {
        let from = now.since(Time::ZERO).saturating_sub(INTERVAL * COMPARED as u64);
        let from = (Time::ZERO + from).max(self.loads);
        Outcome {
            idle: self.phase(|probe| probe.answered.is_some_and(|at| at <= self.loads)),
            loaded: self.phase(|probe| probe.start >= from),
            connections: self.connections,
            is_stable: self.is_stable,
        }
    }

    fn phase(&self, counts: impl Fn(&Probe) -> bool) -> Phase {
        let of = |probes: &[Probe], value: fn(&Probe) -> Option<Span>| {
            Latencies::of(probes.iter().filter(|probe| counts(probe)).filter_map(value).collect())
        };
        let answer = |probe: &Probe| Some(probe.answered?.since(probe.connected?));
        Phase {
            handshake: of(&self.foreign, |probe| Some(probe.connected?.since(probe.start))),
            foreign: of(&self.foreign, answer),
            own: of(&self.own, |probe| Some(probe.answered?.since(probe.start))),
        }
    }
}

impl Probe {
    fn begin(start: Time) -> Self {
        Self { start, connected: None, answered: None }
    }
}

impl Phase {
    /// Returns the round trips per minute of foreign probes: the mean of handshake and request.
    /// QUIC's handshake is one round trip of transport and TLS together; our choice, as the draft
    /// has a formula for TCP alone.
    pub fn foreign_rpm(&self) -> Option<f64> {
        let (handshake, request) = (self.handshake?.mean, self.foreign?.mean);
        per_minute((handshake + request) / 2)
    }

    /// Returns the round trips per minute of self probes.
    pub fn own_rpm(&self) -> Option<f64> {
        per_minute(self.own?.mean)
    }

    /// Returns the responsiveness: the mean of both.
    pub fn rpm(&self) -> Option<f64> {
        Some((self.foreign_rpm()? + self.own_rpm()?) / 2.0)
    }
}

fn per_minute(round_trip: Span) -> Option<f64> {
    (!round_trip.is_zero()).then(|| 60.0 / round_trip.as_secs_f64())
}

impl Latencies {
    fn of(mut values: Vec<Span>) -> Option<Self> {
        values.sort_unstable();
        let most = *values.last()?;
        let at = |share: f64| {
            let place = libm::ceil(share * values.len() as f64) as usize;
            values.get(place.max(1) - 1).copied().unwrap_or(most)
        };
        Some(Self { mean: trimmed_mean(&values)?, quantiles: [at(0.5), at(0.95), at(0.99)] })
    }
}

/// Returns the mean of the smallest 95 % of sorted values, at least of one; `None` without any.
fn trimmed_mean(sorted: &[Span]) -> Option<Span> {
    let kept = libm::floor(sorted.len() as f64 * KEPT) as usize;
    let kept = sorted.get(..kept.max(1))?;
    let nanos: u128 = kept.iter().map(|one| u128::from(one.as_nanos())).sum();
    Some(Span::from_nanos(u64::try_from(nanos / kept.len() as u128).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan =
        Plan { idle: Span::from_secs(5), interval: Span::from_millis(100), connections: 16 };

    /// Runs a test of 60 s whose probes take `latency`, while the load has `goodput` bytes each
    /// second with this number of connections.
    fn run(plan: Plan, latency: Span, goodput: impl Fn(u32) -> u64) -> Outcome {
        let ends = Time::from_secs(60);
        let mut test = Test::new(plan, (Time::ZERO, ends));
        test.set_ready();
        let (mut received, mut before) = (0, Time::ZERO);
        while let Some(now) = test.due() {
            received += goodput(test.connections) * now.since(before).as_nanos() / 1_000_000_000;
            before = now;
            while let Some(action) = test.poll(now, received) {
                if let Action::Foreign(number) = action {
                    test.connected(number, now + latency);
                    test.answered(action, now + latency * 2);
                } else {
                    test.answered(action, now + latency);
                }
            }
        }
        test.finish(ends)
    }

    #[test]
    fn round_trips_per_minute_follow_from_the_rtt() {
        // R1: 1,000, 100 and 92 RPM.
        for (ms, rpm) in [(60, 1_000.0), (600, 100.0), (650, 92.3)] {
            let outcome = run(PLAN, Span::from_millis(ms), |_| 0);
            for phase in [outcome.idle, outcome.loaded] {
                let found = phase.rpm().unwrap();
                assert!((found - rpm).abs() < 0.05, "{ms} ms: {found}");
            }
        }
    }

    #[test]
    fn one_slow_probe_of_twenty_does_not_count() {
        // R5.
        let mut values = vec![Span::from_millis(100); 19];
        values.push(Span::from_secs(10));
        assert_eq!(trimmed_mean(&values), Some(Span::from_millis(100)));
        assert_eq!(trimmed_mean(&values[18..]), Some(Span::from_millis(100)));
        assert_eq!(trimmed_mean(&[]), None);
        let latencies = Latencies::of(values).unwrap();
        assert_eq!(latencies.quantiles[0], Span::from_millis(100));
        assert_eq!(latencies.quantiles[2], Span::from_secs(10));
    }

    #[test]
    fn the_load_grows_until_it_brings_no_more() {
        // Three connections fill the path; four equal intervals later it is stable.
        let outcome = run(PLAN, Span::from_millis(60), |n| 1_000_000 * u64::from(n.min(3)));
        assert!(outcome.is_stable);
        assert!((6..=7).contains(&outcome.connections), "{}", outcome.connections);
        // A load that always grows has all its connections.
        let few = Plan { connections: 4, ..PLAN };
        let outcome = run(few, Span::from_millis(60), |n| 1_000_000 << n.min(30));
        assert_eq!(outcome.connections, 4);
    }

    #[test]
    fn without_connections_there_is_no_load() {
        let outcome = run(Plan { connections: 0, ..PLAN }, Span::from_millis(60), |_| 0);
        assert_eq!((outcome.connections, outcome.is_stable), (0, false));
    }
}

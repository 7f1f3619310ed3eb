//! A minimal simulator of bulk transfers: senders with
//! [`SentPackets`](bentpipe_congestion::SentPackets) and a controller, one bottleneck, one return
//! link. A handshake is only an RTT, and packets are only numbers: it models no more than slow
//! starts observe.

#![allow(dead_code, reason = "several test binaries share this module, and none uses all of it")]

mod flow;
mod path;

pub use flow::Outcome;
pub use path::Path;

use bentpipe_congestion::catalogue::{CONTROLLERS, SLOW_STARTS, find};
use bentpipe_congestion::loss_filter::{self, ChanceFilter};
use bentpipe_congestion::resume::{self, CarefulResume, ResumeHandle, ResumeMode, SavedParameters};
use bentpipe_congestion::{Controller, ControllerConfig, ParameterValues, WithSlowStart};
use bentpipe_units::{Bytes, Span, Time};
use flow::Flow;
use path::Links;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of an IP packet that carries data. Headers take 4.6 %.
pub const PACKET: u64 = 1500;
/// The UDP payload.
pub const MTU: u64 = 1472;
/// Application data of a packet.
pub const PAYLOAD: u64 = 1434;
/// Bytes of an IP packet that carries an ACK.
pub const ACK: u64 = 75;

/// A transfer.
pub struct Transfer {
    /// Bytes to deliver.
    pub bytes: u64,
    /// Time at which the client's first packet leaves.
    pub at: Time,
    /// True if a handshake of one RTT comes first, which gives the sender its first sample.
    pub handshake: bool,
    /// Rate in bytes per second at which the application writes. `None` for unlimited data.
    pub written: Option<f64>,
    /// True to keep a log.
    pub logged: bool,
    /// Time from which [`Outcome::counted`] counts.
    pub counted_from: Time,
}

impl Transfer {
    /// Returns a download at time zero, after a handshake.
    pub fn of(bytes: u64) -> Self {
        Self {
            bytes,
            at: Time::ZERO,
            handshake: true,
            written: None,
            logged: false,
            counted_from: Time::ZERO,
        }
    }
}

/// Seeded pseudo-random numbers (SplitMix64; Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Draw(pub u64);

impl Draw {
    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number uniformly distributed from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number that is normally distributed, with mean 0 and variance 1 (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Returns a number from `low` to `high` whose logarithm is uniformly distributed.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * libm::exp(self.unit() * libm::log(high / low))
    }

    /// Returns a random element.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The client's first packet reaches the server.
    Greet,
    /// The handshake ends: the ACK of the server's first packet and the request arrive.
    Begin,
    /// A data packet reaches the receiver.
    Data(u64),
    /// The receiver's delayed ACK is due, unless an earlier one was sent.
    Delayed(usize),
    /// An ACK of the first arrivals, of this number, reaches the sender.
    Ack(usize),
    /// The pacer or the application allows another packet.
    Send,
    /// A loss or probe timer fires.
    Timer,
}

/// Runs the transfers until all are complete or `limit` has passed. Returns their outcomes.
pub fn run(
    path: &Path,
    transfers: Vec<(Transfer, Box<dyn Controller>)>,
    seed: u64,
    limit: Span,
) -> Vec<Outcome> {
    let mut links = Links::new(path, seed);
    let mut queue = BinaryHeap::new();
    let mut order = 0u64;
    let mut flows: Vec<Flow> = Vec::new();
    for (index, (transfer, controller)) in transfers.into_iter().enumerate() {
        let flow = Flow::new(path, transfer, controller);
        queue.push(Reverse((flow.greeted(path.rtt / 2), order, index, Event::Greet)));
        flows.push(flow);
        order += 1;
    }
    let mut open = flows.len();
    let mut made = Vec::new();
    while let Some(Reverse((now, _, index, event))) = queue.pop() {
        if open == 0 || now.since_start() > limit {
            break;
        }
        let flow = &mut flows[index];
        let was_complete = flow.is_complete();
        match event {
            Event::Greet => {
                made.push((flow.greet(now, path.rtt / 2, &mut links), Event::Begin));
            }
            Event::Begin => flow.begin(now, &mut links, &mut made),
            Event::Data(number) => flow.data(now, number, &mut links, &mut made),
            Event::Delayed(arrivals) => flow.delayed(now, arrivals, &mut links, &mut made),
            Event::Ack(arrivals) => flow.ack(now, arrivals, &mut links, &mut made),
            Event::Send => flow.send_timer(now, &mut links, &mut made),
            Event::Timer => flow.timer(now, &mut links, &mut made),
        }
        if !was_complete && flow.is_complete() {
            open -= 1;
        }
        for (at, event) in made.drain(..) {
            queue.push(Reverse((at, order, index, event)));
            order += 1;
        }
    }
    flows.into_iter().map(Flow::outcome).collect()
}

/// Runs a single transfer.
pub fn alone(path: &Path, bytes: u64, controller: Box<dyn Controller>, seed: u64) -> Outcome {
    run(path, vec![(Transfer::of(bytes), controller)], seed, Span::from_secs(3000)).remove(0)
}

fn config() -> ControllerConfig {
    ControllerConfig {
        now: Time::ZERO,
        mtu: Bytes::new(MTU),
        initial_window: Bytes::new(10 * MTU),
        distance_m: None,
        rtt: None,
    }
}

/// Returns the controller of that name in the catalogue, with its own slow start.
///
/// # Panics
///
/// If it does not exist.
pub fn controller(name: &str) -> Box<dyn Controller> {
    let part = find(CONTROLLERS, name).expect("the controller is in the catalogue");
    (part.make)(&config(), &ParameterValues::defaults(part.parameters))
}

/// Puts the named slow start with its parameters `values` in front of a controller; `standard` is
/// the controller's own.
///
/// # Panics
///
/// If the slow start or a parameter does not exist.
pub fn with_start(
    controller: Box<dyn Controller>,
    start: &str,
    values: &[(&str, f64)],
) -> Box<dyn Controller> {
    if start == "standard" {
        return controller;
    }
    let part = find(SLOW_STARTS, start).expect("the slow start is in the catalogue");
    let mut set = ParameterValues::defaults(part.parameters);
    for (name, value) in values {
        set.set(part.name, name, *value).expect("a valid parameter");
    }
    Box::new(WithSlowStart::new(controller, (part.make)(&config(), &set), None))
}

/// Returns CUBIC as Bentpipe has it, with a filter of losses by chance.
pub fn filtered() -> Box<dyn Controller> {
    let filter = ChanceFilter::new(controller("cubic"), &loss_filter::Parameters::default());
    with_start(Box::new(filter), "long-path", &[])
}

/// Returns `controller` with memory of `path`, whose RTT was `rtt` then.
///
/// # Panics
///
/// If that is no path to remember.
pub fn remembering(
    controller: Box<dyn Controller>,
    path: &Path,
    rtt: Span,
) -> (CarefulResume, ResumeHandle) {
    let handle = ResumeHandle::new();
    assert!(handle.offer(SavedParameters::new(path.bdp(), rtt)));
    let (mode, parameters) = (ResumeMode::Careful, resume::Parameters::default());
    let resume = CarefulResume::new(controller, mode, &config(), &parameters, handle.clone());
    (resume, handle)
}

/// Returns CUBIC with the named slow start and its parameters `values`, as [`with_start`] does.
pub fn cubic(start: &str, values: &[(&str, f64)]) -> Box<dyn Controller> {
    with_start(controller("cubic"), start, values)
}

/// Prints the lines that `work` makes of `jobs`, in their order; two threads work.
pub fn parallel<T: Sync>(jobs: &[T], work: impl Fn(&T) -> String + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let lines = std::sync::Mutex::new(vec![String::new(); jobs.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    let line = work(job);
                    if let Ok(mut lines) = lines.lock() {
                        lines[index] = line;
                    }
                }
            });
        }
    });
    for line in lines.into_inner().unwrap_or_default() {
        println!("{line}");
    }
}

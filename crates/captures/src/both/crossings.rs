//! The packets that passed between the ends of a connection, or did not.

use super::clocks::Clocks;
use super::packets::{Pair, pairs};
use crate::event::CapturedConnection;
use bentpipe_units::{Span, Time};

/// A packet that one end sent.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// Number of the packet in the file of its sender.
    pub number: u64,
    /// True if it has data.
    pub has_data: bool,
    /// When it was sent, by the clock of its sender.
    pub sent: Time,
    /// When it arrived, by the clock of its receiver, and for how much longer than the shortest
    /// of its direction it took; `None` if it did not arrive.
    pub arrived: Option<(Time, Span)>,
}

/// The packets of a connection that passed between its ends.
#[derive(Debug)]
pub struct Crossings {
    /// Those of the first file's end, in the order in which they were sent.
    pub there: Vec<Crossing>,
    /// Those of the second file's end.
    pub back: Vec<Crossing>,
    /// The shortest time there and back.
    pub rtt: Span,
    clocks: Clocks,
}

impl Crossings {
    /// Finds the packets of `near` that `far` received, and those of `far` that `near` did; `None`
    /// if those that pass do not align the clocks of the two files.
    pub fn find(near: &CapturedConnection, far: &CapturedConnection) -> Option<Self> {
        let [there, back] = [pairs(near, far), pairs(far, near)];
        let clocks = Clocks::align(&there, &back)?;
        let (there, back) = (crossings(&clocks, &there, true), crossings(&clocks, &back, false));
        Some(Self { there, back, rtt: clocks.rtt(), clocks })
    }

    /// Returns a time of the second file by the clock of the first one, in nanoseconds, which may
    /// be before its begin: as if both directions took the same time.
    pub fn near_nanos(&self, far: Time) -> i64 {
        self.clocks.near_nanos(far)
    }

    /// Returns by how many millionths the second clock runs faster.
    pub fn drift_ppm(&self) -> f64 {
        self.clocks.drift_ppm()
    }
}

/// Returns the packets of `pairs` with what they waited, up to the last that arrived: what was on
/// its way when the other file ended is only in one.
fn crossings(clocks: &Clocks, pairs: &[Pair], is_there: bool) -> Vec<Crossing> {
    let last = pairs.iter().rposition(|pair| pair.arrived.is_some());
    let crossing = |pair: &Pair| {
        let Pair { number, has_data, sent, arrived } = *pair;
        Crossing { number, has_data, sent, arrived: arrived.zip(clocks.wait(pair, is_there)) }
    };
    pairs.iter().take(last.map_or(0, |last| last + 1)).map(crossing).collect()
}

/// Returns true if two files have the same connection: it is known by the initial sequence numbers
/// of TCP, or the first connection ID of QUIC.
pub fn is_same_connection(one: &CapturedConnection, other: &CapturedConnection) -> bool {
    one.transport == other.transport && one.ids.iter().any(|id| other.ids.contains(id))
}

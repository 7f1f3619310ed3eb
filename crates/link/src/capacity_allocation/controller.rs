//! Who gets what of a frame.

use super::config::Dama;
use super::max_min::max_min;
use super::requests::Request;
use bentpipe_units::{Rate, Span};
use std::collections::VecDeque;

/// What a plan says of one terminal, in bytes of one frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Grant {
    pub requested: u64,
    pub allocated: u64,
    /// Of what is allocated, what was asked for as a volume.
    pub volume: u64,
    pub used: u64,
}

/// The controller of a carrier (in DVB-RCS2 the network control centre, NCC), as of the time at which its plans are used: a request that terminals send in frame
/// n is part of the plans from frame n + [`Dama::scheduling_frames`] on.
#[derive(Debug, Clone)]
pub struct Controller {
    /// Requests under way: from which frame on they count, of whom, and what.
    pending: VecDeque<(u64, usize, Request)>,
    bookings: Vec<TerminalDemand>,
    /// The demands of one kind, by terminal: kept for its memory.
    demands: Vec<u64>,
}

/// What the controller knows of one terminal.
#[derive(Debug, Clone, Default)]
struct TerminalDemand {
    /// The rate in force.
    rate: Rate,
    /// The frame in which it ends unless it is asked for again.
    until: u64,
    /// The volume not given yet, in bytes.
    volume: u64,
    constant: ByteAccumulator,
    dynamic: ByteAccumulator,
}

/// Turns a rate into whole bytes by frame, and keeps what is left over for the next.
#[derive(Debug, Clone, Default)]
struct ByteAccumulator(u128);

impl ByteAccumulator {
    fn bytes(&mut self, rate: Rate, span: Span) -> u64 {
        const BYTE: u128 = 8_000_000_000;
        let sum = self.0 + u128::from(rate.as_bps()) * u128::from(span.as_nanos());
        self.0 = sum % BYTE;
        u64::try_from(sum / BYTE).unwrap_or(u64::MAX)
    }
}

impl Controller {
    /// A controller that nobody has asked for anything.
    pub fn new(ports: usize) -> Self {
        Self { pending: VecDeque::new(), bookings: vec![TerminalDemand::default(); ports], demands: vec![0; ports] }
    }

    /// A request of `port` that counts from `frame` on; requests come in the order of these.
    pub fn receive(&mut self, frame: u64, port: usize, request: Request) {
        self.pending.push_back((frame, port, request));
    }

    /// Plans `frame`, which carries `capacity` bytes: constant rates first, then rates asked for, then volumes, then what is left, where it is given
    /// away. Each kind is shared max-min fairly of what those before it leave.
    pub fn plan(&mut self, dama: &Dama, frame: u64, mut capacity: u64, grants: &mut [Grant]) {
        self.accept(dama, frame);
        grants.fill(Grant::default());
        let first = (frame % self.bookings.len().max(1) as u64) as usize;
        let Self { bookings, demands, .. } = self;
        for kind in [Kind::Constant, Kind::Rate, Kind::Volume, Kind::Free] {
            for ((booking, demand), grant) in bookings.iter_mut().zip(demands.iter_mut()).zip(grants.iter_mut()) {
                *demand = match kind {
                    Kind::Constant => booking.constant.bytes(dama.cra, dama.frame),
                    Kind::Rate => booking.dynamic.bytes(booking.rate, dama.frame),
                    Kind::Volume => booking.volume,
                    Kind::Free if dama.fca => capacity,
                    Kind::Free => 0,
                };
                if kind != Kind::Free {
                    grant.requested = grant.requested.saturating_add(*demand);
                }
            }
            let mut shares: Vec<u64> = vec![0; demands.len()];
            capacity = max_min(capacity, demands, first, &mut shares);
            for ((booking, share), grant) in bookings.iter_mut().zip(shares).zip(grants.iter_mut()) {
                grant.allocated += share;
                if kind == Kind::Volume {
                    booking.volume -= share;
                    grant.volume = share;
                }
            }
        }
    }

    /// Takes in the requests that count from `frame` on, and ends rates that nobody has asked for again.
    fn accept(&mut self, dama: &Dama, frame: u64) {
        while self.pending.front().is_some_and(|(from, _, _)| *from <= frame) {
            let Some((_, port, request)) = self.pending.pop_front() else { break };
            let booking = &mut self.bookings[port];
            booking.rate = request.rate;
            booking.until = frame + dama.frames(dama.timeout);
            booking.volume += request.volume;
        }
        for booking in &mut self.bookings {
            if booking.until <= frame {
                booking.rate = Rate::ZERO;
            }
        }
    }

    /// Whether plans from `frame` on will hold nothing that was asked for.
    pub fn is_idle(&self, frame: u64) -> bool {
        self.pending.is_empty()
            && self
                .bookings
                .iter()
                .all(|booking| booking.volume == 0 && (booking.rate.is_zero() || booking.until <= frame))
    }

    /// Leaves out so many frames in which nothing is asked for.
    pub fn skip(&mut self, dama: &Dama, frames: u64) {
        for booking in &mut self.bookings {
            // Only the remainder matters, and none of these products is larger than one whole period of it.
            let span = u128::from(dama.frame.as_nanos()) * u128::from(frames) % 8_000_000_000;
            booking.constant.bytes(dama.cra, Span::from_nanos(span as u64));
        }
    }
}

/// The kinds of capacity in the order in which they are given.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Constant rate assignment, CRA.
    Constant,
    /// Rate-based dynamic capacity, RBDC.
    Rate,
    /// Volume-based dynamic capacity, VBDC.
    Volume,
    /// Free capacity assignment, FCA.
    Free,
}

//! Divides the capacity of a frame among terminals.

use super::dama::Dama;
use super::max_min::max_min;
use super::requests::Request;
use bentpipe_units::{Rate, Span};
use std::collections::VecDeque;

/// A terminal's part of a plan, in bytes of one frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Grant {
    pub requested: u64,
    pub allocated: u64,
    /// The part of `allocated` that was requested as a volume.
    pub volume: u64,
    pub used: u64,
}

/// The capacity controller of a carrier: the network control centre (NCC) of DVB-RCS2.
///
/// Its time is that at which its plans take effect: a request sent in frame n counts in the plans
/// from frame n + [`Dama::scheduling_frames`] on.
#[derive(Debug, Clone)]
pub struct Controller {
    /// Requests in flight: the frame from which they count, the terminal, and the request.
    pending: VecDeque<(u64, usize, Request)>,
    bookings: Vec<TerminalDemand>,
    /// Demands of one kind by terminal. The vector is kept to reuse its memory.
    demands: Vec<u64>,
}

/// The controller's view of one terminal.
#[derive(Debug, Clone, Default)]
struct TerminalDemand {
    /// The requested rate in force.
    rate: Rate,
    /// The frame in which that rate expires unless it is requested again.
    until: u64,
    /// Requested volume not yet granted, in bytes.
    volume: u64,
    constant: ByteAccumulator,
    dynamic: ByteAccumulator,
}

/// Converts a rate to whole bytes per frame and carries the remainder over to the next frame.
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
    /// Creates a controller without requests.
    pub fn new(ports: usize) -> Self {
        Self {
            pending: VecDeque::new(),
            bookings: vec![TerminalDemand::default(); ports],
            demands: vec![0; ports],
        }
    }

    /// Accepts a request of terminal `port` that counts from `frame` on. Requests arrive in the
    /// order of these frames.
    pub fn receive(&mut self, frame: u64, port: usize, request: Request) {
        self.pending.push_back((frame, port, request));
    }

    /// Plans `frame`, which carries `capacity` bytes: first constant rates, then requested rates,
    /// then requested volumes, then free capacity if enabled.
    ///
    /// Each kind is shared max-min fairly from the capacity that the previous kinds leave.
    pub fn plan(&mut self, dama: &Dama, frame: u64, mut capacity: u64, grants: &mut [Grant]) {
        self.accept(dama, frame);
        grants.fill(Grant::default());
        let first = (frame % self.bookings.len().max(1) as u64) as usize;
        let Self { bookings, demands, .. } = self;
        for kind in [Kind::Constant, Kind::Rate, Kind::Volume, Kind::Free] {
            for ((booking, demand), grant) in
                bookings.iter_mut().zip(demands.iter_mut()).zip(grants.iter_mut())
            {
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
            for ((booking, share), grant) in bookings.iter_mut().zip(shares).zip(grants.iter_mut())
            {
                grant.allocated += share;
                if kind == Kind::Volume {
                    booking.volume -= share;
                    grant.volume = share;
                }
            }
        }
    }

    /// Applies the requests that count from `frame` on, and ends expired rates.
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

    /// Returns true if plans from `frame` on contain nothing requested.
    pub fn is_idle(&self, frame: u64) -> bool {
        self.pending.is_empty()
            && self.bookings.iter().all(|booking| {
                booking.volume == 0 && (booking.rate.is_zero() || booking.until <= frame)
            })
    }

    /// Skips `frames` frames in which nothing is requested.
    pub fn skip(&mut self, dama: &Dama, frames: u64) {
        for booking in &mut self.bookings {
            // Only the remainder matters. None of these products exceeds one period of it.
            let span = u128::from(dama.frame.as_nanos()) * u128::from(frames) % 8_000_000_000;
            booking.constant.bytes(dama.cra, Span::from_nanos(span as u64));
        }
    }
}

/// The kinds of capacity, in the order in which they are granted.
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

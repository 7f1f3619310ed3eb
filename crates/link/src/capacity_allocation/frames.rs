//! Frames of a carrier with capacity allocation.

use super::controller::{Controller, Grant};
use super::dama::Dama;
use super::requests::Requests;
use crate::counters::PacketTotals;
use crate::model::DirectionModel;
use crate::queue::accepted::Accepted;
use crate::queue::disciplines::Refused;
use crate::queue::link_queue::Queue;
use crate::random::Stream;
use crate::rate::model::RateModel;
use bentpipe_units::{Bytes, Span, Time};

use std::collections::VecDeque;

/// One terminal's share of one frame, from
/// [`Link::take_frame_shares`](crate::Link::take_frame_shares).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShare {
    /// Start of the frame.
    pub begin: Time,
    /// Length of the frame.
    pub length: Span,
    /// The terminal.
    pub port: usize,
    /// The demand known to the controller when it plans the frame: the terminal's constant rate,
    /// its requested rate, and its outstanding volume.
    pub requested: Bytes,
    /// Bytes that the plan grants.
    pub allocated: Bytes,
    /// Bytes that the terminal has sent.
    pub used: Bytes,
}

/// Maximum number of recorded shares that have not been taken. The oldest are dropped.
const MAX_RECORDED: usize = 1 << 16;

/// The queue and requests of a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Terminal<P> {
    pub queue: Queue<P>,
    /// Bytes not yet sent of the packet at the front of the queue, once its transmission has
    /// started.
    ///
    /// A packet may take several frames, like fragments of RLE (ETSI TS 103 179), here without
    /// their headers.
    pub left: Option<u32>,
    requests: Requests,
}

/// State that a link needs only if its capacity is allocated.
#[derive(Debug, Clone)]
pub(crate) struct Allocation<P> {
    dama: Dama,
    rate: RateModel,
    /// Start of frame 0.
    phase: Span,
    /// Number of the next frame.
    next: u64,
    pub terminals: Vec<Terminal<P>>,
    /// Totals over the queues of all terminals.
    pub waiting: PacketTotals,
    controller: Controller,
    /// The current plan, by terminal.
    pub grants: Vec<Grant>,
    recorded: Option<VecDeque<FrameShare>>,
}

impl<P> Allocation<P> {
    /// Creates the allocation `dama` for `ports` terminals, with the queue that `queue` returns for
    /// each. `phase` draws the start of the frames, and `turns` the frames in which each terminal
    /// may send a request.
    pub fn new(
        model: &DirectionModel,
        dama: &Dama,
        ports: usize,
        queue: impl Fn(usize) -> Queue<P>,
        mut phase: Stream,
        mut turns: Stream,
    ) -> Self {
        let every = dama.frames(dama.request_interval);
        let terminal = |port| Terminal {
            queue: queue(port),
            left: None,
            requests: Requests::new(turns.below(every)),
        };
        Self {
            phase: Span::from_nanos(phase.below(dama.frame.as_nanos())),
            rate: model.rate.clone(),
            next: 0,
            terminals: (0..ports).map(terminal).collect(),
            waiting: PacketTotals::default(),
            controller: Controller::new(ports),
            grants: vec![Grant::default(); ports],
            recorded: None,
            dama: dama.clone(),
        }
    }

    /// Returns the start of the next frame.
    pub fn due(&self) -> Time {
        Time::ZERO + self.phase + self.dama.frame * self.next
    }

    /// Returns the number of the next frame.
    pub fn frame(&self) -> u64 {
        self.next
    }

    /// Returns true if no terminal has a packet, not even one that is partly sent.
    pub fn is_empty(&self) -> bool {
        self.terminals.iter().all(|terminal| terminal.queue.is_empty())
    }

    /// Returns the packets at terminals, including those that are partly sent, counted where they
    /// are.
    pub fn held(&self) -> u64 {
        self.terminals.iter().map(|terminal| terminal.queue.held()).sum()
    }

    /// Offers a packet to the queue of its terminal. Returns true if it was accepted and marked.
    pub fn enqueue(&mut self, held: Accepted<P>) -> Result<bool, Refused<P>> {
        let bytes = held.packet.bytes;
        let terminal = &mut self.terminals[held.port as usize];
        let enqueued = terminal.queue.enqueue(held);
        if enqueued.is_ok() {
            self.waiting.add(bytes);
            terminal.requests.arrived(bytes);
        }
        enqueued
    }

    /// Plans the next frame, which starts at `begin`.
    pub fn plan(&mut self, begin: Time) {
        // Rounded down, so that frames never carry more than the rate allows over any interval.
        let capacity = self.rate.capacity(begin, begin + self.dama.frame).get();
        self.controller.plan(&self.dama, self.next, capacity, &mut self.grants);
        for (terminal, grant) in self.terminals.iter_mut().zip(&self.grants) {
            terminal.requests.granted(grant.volume);
        }
    }

    /// Completes the start of a frame after its packets have left: terminals that may send a
    /// request in this frame do so.
    pub fn close(&mut self, begin: Time) {
        let effective = self.next + self.dama.scheduling_frames();
        for (port, terminal) in self.terminals.iter_mut().enumerate() {
            let backlog = terminal.queue.waiting().bytes + terminal.left.map_or(0, u64::from);
            if let Some(request) = terminal.requests.next_request(&self.dama, self.next, backlog) {
                self.controller.receive(effective, port, request);
            }
        }
        if let Some(recorded) = &mut self.recorded {
            let length = self.dama.frame;
            recorded.extend(self.grants.iter().enumerate().map(|(port, grant)| FrameShare {
                begin,
                length,
                port,
                requested: Bytes::new(grant.requested),
                allocated: Bytes::new(grant.allocated),
                used: Bytes::new(grant.used),
            }));
            recorded.drain(..recorded.len().saturating_sub(MAX_RECORDED));
        }
        self.next += 1;
    }

    /// Skips the frames that start by `now` if nothing is queued, requested or recorded. Returns
    /// true if it did.
    pub fn skip(&mut self, now: Time) -> bool {
        let quiet = self.recorded.is_none()
            && self.controller.is_idle(self.next)
            && self
                .terminals
                .iter()
                .all(|terminal| terminal.requests.is_idle(&self.dama, self.next));
        if quiet {
            let first = self.due();
            let frames =
                now.since(first).as_nanos() / self.dama.frame.as_nanos() + u64::from(now >= first);
            self.controller.skip(&self.dama, frames);
            self.next += frames;
        }
        quiet
    }

    /// Records the shares of all frames from now on.
    pub fn start_recording(&mut self) {
        self.recorded.get_or_insert_default();
    }

    /// Returns the recorded shares and forgets them.
    pub fn take_recorded(&mut self) -> impl Iterator<Item = FrameShare> {
        self.recorded.iter_mut().flat_map(|recorded| recorded.drain(..))
    }
}

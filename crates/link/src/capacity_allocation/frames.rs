//! Frames of a carrier with capacity allocation.

use super::config::Dama;
use super::controller::{Controller, Grant};
use super::requests::Requests;
use crate::counters::PacketTotals;
use crate::model::DirectionModel;
use crate::queue::fifo::{Accepted, Queue};
use crate::random::Stream;
use crate::rate::model::RateModel;
use bentpipe_units::{Bytes, Span, Time};

use std::collections::VecDeque;

/// What one terminal had of one frame, as [`Link::take_frame_shares`](crate::Link::take_frame_shares) tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShare {
    /// When the frame begins.
    pub begin: Time,
    /// How long it is.
    pub length: Span,
    /// The terminal.
    pub port: usize,
    /// What the terminal is due or has asked for, as far as the controller knows when it plans the frame: its constant rate, the rate it has asked for, and all
    /// of the volume that it has asked for and not got.
    pub requested: Bytes,
    /// What the plan gives it.
    pub allocated: Bytes,
    /// What it has sent.
    pub used: Bytes,
}

/// Most frames' shares that are kept for somebody who does not come for them.
const MAX_RECORDED: usize = 1 << 16;

/// A terminal.
#[derive(Debug, Clone)]
pub(crate) struct Terminal<P> {
    pub queue: Queue<P>,
    /// Of the packet at the queue's front, what is not sent yet, where it has been begun. A packet may take several frames: as fragments of
    /// RLE (ETSI TS 103 179), without their headers.
    pub left: Option<u32>,
    requests: Requests,
}

/// Everything of a link with allocation that a plain one does not have.
#[derive(Debug, Clone)]
pub(crate) struct Allocation<P> {
    dama: Dama,
    rate: RateModel,
    /// When frame 0 begins.
    phase: Span,
    /// The next frame, of which nothing has happened yet.
    next: u64,
    pub terminals: Vec<Terminal<P>>,
    /// What waits at all terminals together.
    pub waiting: PacketTotals,
    controller: Controller,
    /// The current frame's plan, by terminal.
    pub grants: Vec<Grant>,
    recorded: Option<VecDeque<FrameShare>>,
}

impl<P> Allocation<P> {
    /// An allocation of `dama` to so many `ports`; `phase` and `turns` draw when frames begin and in which frames each terminal may ask.
    pub fn new(
        model: &DirectionModel,
        dama: &Dama,
        rtt: Span,
        ports: usize,
        mut phase: Stream,
        mut turns: Stream,
    ) -> Self {
        let every = dama.frames(dama.sync);
        let terminal = |_| Terminal {
            queue: Queue::new(model.queue_limit(rtt), model.codel()),
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

    /// When the next frame begins.
    pub fn due(&self) -> Time {
        Time::ZERO + self.phase + self.dama.frame * self.next
    }

    /// The number of the next frame.
    pub fn frame(&self) -> u64 {
        self.next
    }

    /// Packets at terminals, one that is being sent in pieces included.
    pub fn held(&self) -> u64 {
        self.terminals.iter().map(|terminal| terminal.queue.held()).sum()
    }

    /// A packet joins the queue of the terminal it came to.
    pub fn arrive(&mut self, held: Accepted<P>) {
        let bytes = held.packet.bytes;
        self.waiting.add(bytes);
        let terminal = &mut self.terminals[held.port as usize];
        terminal.requests.arrived(bytes);
        terminal.queue.push(held);
    }

    /// Makes the plan of the next frame, which begins at `begin`.
    pub fn plan(&mut self, begin: Time) {
        // Whole bytes: frames never carry more than the rate allows over any time.
        let capacity = self.rate.capacity(begin, begin + self.dama.frame).get();
        self.controller.plan(&self.dama, self.next, capacity, &mut self.grants);
        for (terminal, grant) in self.terminals.iter_mut().zip(&self.grants) {
            terminal.requests.granted(grant.volume);
        }
    }

    /// Ends what happens at the beginning of the frame, once its packets are on their way: terminals whose turn it is ask.
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

    /// Where nothing is or will be under way unless a packet comes, leaves out the frames that begin up to `now`: nobody could tell. True where it did.
    pub fn skip(&mut self, now: Time) -> bool {
        let quiet = self.recorded.is_none()
            && self.controller.is_idle(self.next)
            && self.terminals.iter().all(|terminal| terminal.requests.is_idle(&self.dama, self.next));
        if quiet {
            let first = self.due();
            let frames = now.since(first).as_nanos() / self.dama.frame.as_nanos() + u64::from(now >= first);
            self.controller.skip(&self.dama, frames);
            self.next += frames;
        }
        quiet
    }

    /// From now on what happens in each frame is kept.
    pub fn start_recording(&mut self) {
        self.recorded.get_or_insert_default();
    }

    /// Hands out what has been kept.
    pub fn take_recorded(&mut self) -> impl Iterator<Item = FrameShare> {
        self.recorded.iter_mut().flat_map(|recorded| recorded.drain(..))
    }
}

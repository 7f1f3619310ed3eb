//! Capacity allocation: frames of a carrier, shared by terminals that ask a controller for capacity.
//!
//! Each port is a terminal with a queue of its own. Time is cut into frames; where the first one begins is drawn for each run. For every frame the
//! controller (the network control centre, NCC) has a plan: how many bytes of the frame belong to each terminal. A terminal sends in its part of the frame what
//! waited when the frame began; what it does not use of it is lost. Every so often a terminal may ask for more: the request travels to the
//! controller, the controller makes it part of its plans, and the first plan that knows of it travels back. Signalling is never lost
//! and takes none of the capacity.
//!
//! * `requests` is the terminal's side: what it asks for.
//! * `controller` is the other: who gets what of a frame.
//! * `shares` divides fairly.
//! * `presets` are allocations by name.
//! * [`Link`](crate::Link) sends the packets (`link/framed.rs`).

mod controller;
pub mod presets;
mod requests;
mod shares;

use crate::Dama;
use crate::counters::Tally;
use crate::model::{DirectionModel, RateModel};
use crate::queue::{Held, Queue};
use crate::random::Stream;
use bentpipe_units::{Bytes, Span, Time};
use controller::Controller;
use requests::Requests;
use std::collections::VecDeque;

/// What one terminal had of one frame, as [`Link::take_frames`](crate::Link::take_frames) tells.
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
const MOST_KEPT: usize = 1 << 16;

/// What a plan says of one terminal, in bytes of one frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Grant {
    pub requested: u64,
    pub allocated: u64,
    /// Of what is allocated, what was asked for as a volume.
    volume: u64,
    pub used: u64,
}

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
    pub waiting: Tally,
    controller: Controller,
    /// The current frame's plan, by terminal.
    pub grants: Vec<Grant>,
    kept: Option<VecDeque<FrameShare>>,
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
            waiting: Tally::default(),
            controller: Controller::new(ports),
            grants: vec![Grant::default(); ports],
            kept: None,
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
    pub fn arrive(&mut self, held: Held<P>) {
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
            if let Some(request) = terminal.requests.ask(&self.dama, self.next, backlog) {
                self.controller.receive(effective, port, request);
            }
        }
        if let Some(kept) = &mut self.kept {
            let length = self.dama.frame;
            kept.extend(self.grants.iter().enumerate().map(|(port, grant)| FrameShare {
                begin,
                length,
                port,
                requested: Bytes::new(grant.requested),
                allocated: Bytes::new(grant.allocated),
                used: Bytes::new(grant.used),
            }));
            kept.drain(..kept.len().saturating_sub(MOST_KEPT));
        }
        self.next += 1;
    }

    /// Where nothing is or will be under way unless a packet comes, leaves out the frames that begin up to `now`: nobody could tell. True where it did.
    pub fn skip(&mut self, now: Time) -> bool {
        let quiet = self.kept.is_none()
            && self.controller.is_quiet(self.next)
            && self.terminals.iter().all(|terminal| terminal.requests.are_quiet(&self.dama, self.next));
        if quiet {
            let first = self.due();
            let frames = now.since(first).as_nanos() / self.dama.frame.as_nanos() + u64::from(now >= first);
            self.controller.skip(&self.dama, frames);
            self.next += frames;
        }
        quiet
    }

    /// From now on what happens in each frame is kept.
    pub fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Hands out what has been kept.
    pub fn take_kept(&mut self) -> impl Iterator<Item = FrameShare> {
        self.kept.iter_mut().flat_map(|kept| kept.drain(..))
    }
}

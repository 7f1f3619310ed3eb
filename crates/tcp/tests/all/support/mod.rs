//! Two endpoints connected by two links, or only by delays, on one clock.

use bentpipe_congestion::catalogue::{CONTROLLERS, find};
use bentpipe_congestion::{Controller, ControllerConfig, ParameterValues, SenderMetrics};
use bentpipe_link::{
    DirectionConfig, Ecn, Enqueue, Event, Link, LinkContext, Packet, QueueConfig, QueueLimit,
};
use bentpipe_tcp::{Endpoint, MakeController, Segment, TcpSettings, Transmit};
use bentpipe_units::{Rate, Span, Time};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Index of the client.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// A segment that an endpoint has sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at: Time,
    pub from: usize,
    pub segment: Segment,
    pub ecn: Ecn,
}

/// The treatment of a segment before its link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Treatment {
    Pass,
    Drop,
    /// Passes with ECN-CE.
    Mark,
    /// Passes twice.
    Twice,
    /// Passes after this delay.
    Late(Span),
}

/// The behaviour of an application.
#[derive(Debug, Clone, Copy)]
pub struct Application {
    /// Bytes still to be written.
    pub to_write: u64,
    /// True if it finishes afterwards.
    pub finish: bool,
    /// True if it reads all data at once.
    pub reads: bool,
}

pub struct Pair {
    pub now: Time,
    pub ends: [Endpoint; 2],
    pub applications: [Application; 2],
    /// Sent segments, in order.
    pub log: Vec<Sent>,
    pub logs: bool,
    links: [Link<Segment>; 2],
    treatment: Box<dyn FnMut(&Sent) -> Treatment>,
    held: BTreeMap<(Time, u64), Sent>,
    count: u64,
}

/// Returns the named controller with its defaults.
pub fn controller(name: &str) -> MakeController {
    let part = find(CONTROLLERS, name).unwrap_or_else(|| panic!("{name}"));
    Arc::new(move |setup: &ControllerConfig| -> Box<dyn Controller> {
        (part.make)(setup, &ParameterValues::defaults(part.parameters))
    })
}

impl Pair {
    /// Creates a client that connects and a server that listens with the controller `name`.
    /// `directions` are those from the client and from the server.
    pub fn new(
        settings: [TcpSettings; 2],
        name: &str,
        directions: &[DirectionConfig; 2],
        seed: u64,
    ) -> Self {
        Self::probed(settings, name, directions, seed, None)
    }

    pub fn probed(
        settings: [TcpSettings; 2],
        name: &str,
        directions: &[DirectionConfig; 2],
        seed: u64,
        metrics: Option<SenderMetrics>,
    ) -> Self {
        Self::made(settings, controller(name), directions, seed, metrics)
    }

    pub fn made(
        settings: [TcpSettings; 2],
        make: MakeController,
        directions: &[DirectionConfig; 2],
        seed: u64,
        metrics: Option<SenderMetrics>,
    ) -> Self {
        let [client, server] = settings.map(Arc::new);
        let link = |index: usize| {
            let model =
                directions[index].load(Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
            let context =
                LinkContext { rtt: Span::from_millis(100), seed, run: 0, name: format!("{index}") };
            Link::new(&model, &context, 1)
        };
        let idle = Application { to_write: 0, finish: false, reads: true };
        Self {
            now: Time::ZERO,
            ends: [
                Endpoint::connect(Time::ZERO, client, controller("newreno"), None),
                Endpoint::listen(Time::ZERO, server, make, metrics),
            ],
            applications: [idle; 2],
            log: Vec::new(),
            logs: true,
            links: [link(0), link(1)],
            treatment: Box::new(|_| Treatment::Pass),
            held: BTreeMap::new(),
            count: 0,
        }
    }

    /// Returns a symmetric path without loss, with unlimited queues.
    pub fn path(mbps: u64, one_way: Span) -> [DirectionConfig; 2] {
        let queue = QueueConfig::drop_tail(QueueLimit::Packets(1 << 40));
        let one = DirectionConfig { queue, ..DirectionConfig::new(Rate::from_mbps(mbps), one_way) };
        [one.clone(), one]
    }

    /// Sets the treatment of segments before their link.
    pub fn set_treatment(&mut self, treatment: impl FnMut(&Sent) -> Treatment + 'static) {
        self.treatment = Box::new(treatment);
    }

    /// Lets the server write `bytes` and finish.
    pub fn download(&mut self, bytes: u64) {
        self.applications[SERVER].to_write = bytes;
        self.applications[SERVER].finish = true;
        self.applications[CLIENT].finish = true;
    }

    fn settle(&mut self) {
        for from in [CLIENT, SERVER] {
            let Application { to_write, finish, reads } = self.applications[from];
            if reads {
                let waiting = self.ends[from].received() - self.ends[from].consumed();
                if waiting > 0 {
                    self.ends[from].consume(self.now, waiting);
                }
            }
            if to_write > 0 {
                self.applications[from].to_write -= self.ends[from].write(self.now, to_write);
            }
            if self.applications[from].to_write == 0
                && finish
                && (from == SERVER || self.ends[from].peer_finished())
            {
                self.applications[from].finish = false;
                self.ends[from].finish(self.now);
            }
            while let Some(Transmit { segment, ecn }) = self.ends[from].poll_transmit(self.now) {
                let mut sent = Sent { at: self.now, from, segment, ecn };
                if self.logs {
                    self.log.push(sent);
                }
                match (self.treatment)(&sent) {
                    Treatment::Drop => {}
                    Treatment::Pass => self.launch(sent),
                    Treatment::Mark => {
                        sent.ecn = Ecn::Ce;
                        self.launch(sent);
                    }
                    Treatment::Twice => {
                        self.launch(sent);
                        self.launch(sent);
                    }
                    Treatment::Late(by) => {
                        self.count += 1;
                        self.held.insert((self.now + by, self.count), sent);
                    }
                }
            }
        }
    }

    fn launch(&mut self, sent: Sent) {
        let packet = Packet::new(sent.segment.bytes(), sent.ecn, sent.segment);
        let _: Enqueue<Segment> = self.links[sent.from].enqueue(self.now, 0, packet);
    }

    /// Processes one event. Returns false if there will never be another.
    pub fn step(&mut self, until: Time) -> bool {
        self.settle();
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        let times = [
            self.ends[0].next_timeout(),
            self.ends[1].next_timeout(),
            self.links[0].next_deadline(),
            self.links[1].next_deadline(),
            held,
        ];
        let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= until) else {
            self.now = self.now.max(until.min(self.now + Span::from_secs(1 << 30)));
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        for end in &mut self.ends {
            if end.next_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
        }
        for from in [CLIENT, SERVER] {
            while let Some(event) = self.links[from].poll(now) {
                if let Event::Delivered { packet, .. } = event {
                    self.ends[1 - from].handle_segment(now, &packet.payload, packet.ecn);
                    self.settle();
                }
            }
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let sent = entry.remove();
            self.launch(sent);
        }
        self.settle();
        true
    }

    /// Runs until that time.
    pub fn run(&mut self, until: Time) {
        while self.step(until) {}
    }

    /// Runs until both ends have ended, or until the given time. Returns true if both closed.
    pub fn finish(&mut self, until: Time) -> bool {
        let over = |pair: &Self| pair.ends.iter().all(|end| end.end().is_some());
        while !over(self) && self.step(until) {}
        self.ends.iter().all(|end| end.end() == Some(bentpipe_tcp::CloseReason::Closed))
    }

    /// Returns the data segments that the server sent, in order.
    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(|sent| sent.from == SERVER && sent.segment.len > 0)
    }
}

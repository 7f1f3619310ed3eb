//! Names: the client of a page asks for the address of each origin before it connects.
//!
//! The resolver is at the server's end of the path, or behind it. Over UDP an exchange is a packet
//! in each direction, and is repeated as a stub resolver does; over HTTPS it is a request on a
//! connection ([`NameQueries`]).

use super::current_visit::VisitStart;
use super::progress::FlowProgress;
use super::quic::NameQueries;
use super::shared::Shared;
use super::transport::{Aside, Outbox};
use crate::datagram::{Body, Datagram, Filler, FillerProtocol, PathDirection, Role};
use crate::error::SimError;
use crate::packet_arena::PacketId;
use crate::spec::Visit;
use crate::visit_progress::VisitProgress;
use bentpipe_link::{Ecn, Packet};
use bentpipe_tcp::http::Names;
use bentpipe_units::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Sizes of a question and an answer as IP packets: 52 and 172 bytes of DNS, with headers of 28.
const QUESTION: u32 = 80;
const ANSWER: u32 = 200;
/// Times from a question to its repetitions, and from the last to the end: those of glibc's and
/// musl's resolvers are 5 s, browsers' own begin with 1 s and double.
const WAITS: [Span; 4] =
    [Span::from_secs(1), Span::from_secs(2), Span::from_secs(4), Span::from_secs(8)];

/// Asks for the names of a flow's pages. What it has learned stays known for later visits.
#[derive(Default)]
pub struct Resolver {
    known: BTreeSet<String>,
    visit: Option<VisitProgress>,
    /// Questions over UDP without an answer: origin, repetitions, and when the next thing happens.
    open: Vec<(usize, usize, Time)>,
    /// What the client and the resolver have to send over UDP.
    questions: VecDeque<Filler>,
    answers: VecDeque<Filler>,
    /// The connection to the resolver, once a page has asked over HTTPS.
    https: Option<Box<NameQueries>>,
    /// Packets of the resolver that are still on their way to the end of the path.
    behind: VecDeque<(Time, Aside)>,
    /// Round trip between the end of the path and the resolver.
    rtt: Span,
}

impl Resolver {
    /// Returns the round trips that a visit begins with until it knows the address of its server.
    pub fn round_trips_first(&self, visit: &Visit) -> u32 {
        let Some(page) = &visit.page else { return 0 };
        let is_known = page.origins.first().is_none_or(|name| self.known.contains(name));
        match page.names {
            Names::Known => 0,
            _ if is_known => 0,
            Names::Udp => 1,
            Names::Https => {
                let connected = self.https.as_ref().is_some_and(|https| https.is_connected());
                if connected { 1 } else { 2 }
            }
        }
    }

    /// Begins a visit, which forgets the questions of the one before.
    ///
    /// # Errors
    /// TLS cannot be configured.
    pub fn begin(
        &mut self,
        start: &VisitStart,
        progress: &FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError> {
        (self.open, self.questions, self.answers) = Default::default();
        let mut state = start.progress.state();
        self.visit = state.page.is_some().then(|| start.progress.clone());
        let Some(page) = &mut state.page else { return Ok(()) };
        let whole = page.page().clone();
        self.rtt = whole.resolver_rtt;
        if whole.names == Names::Https && self.https.is_none() {
            self.https = Some(Box::new(NameQueries::new(progress, shared)?));
        }
        for (origin, name) in whole.origins.iter().enumerate() {
            if whole.names == Names::Known || self.known.contains(name) {
                page.known(origin, start.now);
            }
        }
        Ok(())
    }

    /// Ends the visit.
    pub fn end(&mut self) {
        (self.visit, self.open) = (None, Vec::new());
    }

    /// Asks what is due.
    pub fn act(&mut self, now: Time) {
        let Some(progress) = &self.visit else { return };
        let mut state = progress.state();
        let Some(page) = &mut state.page else { return };
        let due: Vec<usize> =
            page.to_ask().filter(|(_, due)| *due <= now).map(|(origin, _)| origin).collect();
        let over_https = page.page().names == Names::Https;
        let mut questions = Vec::new();
        for origin in due {
            page.asked(origin, now);
            match page.page().origins.get(origin) {
                Some(name) if over_https => questions.push(name.clone()),
                _ => self.open.push((origin, 0, now)),
            }
        }
        drop(state);
        if let Some(https) = &mut self.https {
            for name in questions {
                if let Err(error) = https.ask(now, &name) {
                    progress.failed(format!("no connection to the resolver: {error}"));
                }
            }
        }
        for (origin, repetitions, next) in &mut self.open {
            if *next > now {
                continue;
            }
            let Some(wait) = WAITS.get(*repetitions) else {
                progress.failed(format!("the name of origin {origin} got no answer in 15 s"));
                continue;
            };
            (*repetitions, *next) = (*repetitions + 1, now + *wait);
            self.questions.push_back(packet(*origin, now, QUESTION));
        }
    }

    /// Returns the time at which to call [`Resolver::act`], and to let the resolver send.
    pub fn next_action(&self) -> Option<Time> {
        let behind = self.behind.front().map(|(due, _)| *due);
        let Some(progress) = &self.visit else { return behind };
        let open = self.open.iter().map(|(.., next)| *next).min();
        let state = progress.state();
        let asks = state.page.as_ref().and_then(|page| page.to_ask().map(|(_, due)| due).min());
        open.into_iter().chain(asks).chain(behind).min()
    }

    /// Handles timers of the connection to the resolver that are due at `node`. Returns the
    /// origins whose addresses the client has learned by it.
    pub fn wake(&mut self, now: Time, node: u16) -> Vec<usize> {
        let Some(https) = &mut self.https else { return Vec::new() };
        https.wake(now, node);
        self.take_answers(now)
    }

    /// Returns the time at which to call [`Resolver::wake`] for an end.
    pub fn next_timeout(&self, side: Role) -> Option<Time> {
        self.https.as_ref()?.next_timeout(side)
    }

    /// Sends the next packet of the end at the node of `outbox`.
    pub fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>> {
        let side = outbox.side()?;
        if side == Role::Client {
            let aside = self.next_packet(side, outbox)?;
            return Some(outbox.send_aside(PathDirection::ToServer, aside));
        }
        while let Some(aside) = self.next_packet(side, outbox) {
            self.behind.push_back((outbox.now + self.rtt, aside));
        }
        let (due, _) = self.behind.front()?;
        if *due > outbox.now {
            return None;
        }
        let (_, aside) = self.behind.pop_front()?;
        Some(outbox.send_aside(PathDirection::ToClient, aside))
    }

    fn next_packet(&mut self, side: Role, outbox: &mut Outbox<'_>) -> Option<Aside> {
        let own = if side == Role::Client { &mut self.questions } else { &mut self.answers };
        if let Some(filler) = own.pop_front() {
            let body = Body::Filler(filler);
            return Some(Aside { bytes: filler.bytes, ecn: Ecn::NotEct, connection: 0, body });
        }
        self.https.as_mut()?.next_packet(outbox)
    }

    /// Returns true if a packet is one of a question or an answer.
    pub fn owns(&self, datagram: &Datagram) -> bool {
        match &datagram.body {
            Body::Filler(filler) => filler.protocol == FillerProtocol::Dns,
            // Visits count from 1.
            Body::Udp(_) => self.https.is_some() && datagram.visit == 0,
            Body::Tcp { .. } | Body::Media(_) => false,
        }
    }

    /// Handles a packet of its own. Returns the origins whose addresses the client has learned by
    /// it.
    pub fn deliver(
        &mut self,
        now: Time,
        node: u16,
        ecn: Ecn,
        datagram: &mut Datagram,
    ) -> Vec<usize> {
        let Body::Filler(filler) = datagram.body else {
            if let Some(https) = &mut self.https {
                https.deliver(now, node, ecn, datagram);
            }
            return self.take_answers(now);
        };
        let origin = filler.number as usize;
        if datagram.toward == PathDirection::ToServer {
            self.answers.push_back(packet(origin, filler.sent, ANSWER));
            return Vec::new();
        }
        let Some(open) = self.open.iter().position(|(other, ..)| *other == origin) else {
            return Vec::new();
        };
        self.open.swap_remove(open);
        self.learn(now, |_, number| number == origin)
    }

    /// Takes what the connection to the resolver has answered.
    fn take_answers(&mut self, now: Time) -> Vec<usize> {
        let Some(https) = &mut self.https else { return Vec::new() };
        match https.answered() {
            Ok(names) if names.is_empty() => Vec::new(),
            Ok(names) => {
                let learned = self.learn(now, |name, _| names.iter().any(|own| own == name));
                // Also those that a visit had asked for which has ended.
                self.known.extend(names);
                learned
            }
            Err(error) => {
                if let Some(progress) = &self.visit {
                    progress.failed(format!("the resolver: {error}"));
                }
                Vec::new()
            }
        }
    }

    /// Learns the addresses of the origins of the visit's page that are `meant`, by name and
    /// number. Returns their numbers.
    fn learn(&mut self, now: Time, meant: impl Fn(&str, usize) -> bool) -> Vec<usize> {
        let Some(progress) = &self.visit else { return Vec::new() };
        let mut state = progress.state();
        let Some(page) = &mut state.page else { return Vec::new() };
        let whole = page.page().clone();
        let mut learned = Vec::new();
        for (origin, name) in whole.origins.iter().enumerate() {
            if meant(name, origin) {
                page.known(origin, now);
                self.known.insert(name.clone());
                learned.push(origin);
            }
        }
        learned
    }
}

fn packet(origin: usize, sent: Time, bytes: u32) -> Filler {
    Filler { protocol: FillerProtocol::Dns, number: origin as u64, sent, bytes }
}

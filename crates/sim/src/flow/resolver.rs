//! Names: the client of a page asks for the address of each origin before it connects.
//!
//! The resolver is at the server's end of the path. An exchange is a packet in each direction,
//! and is repeated as a stub resolver does.

use super::current_visit::VisitStart;
use crate::datagram::{Datagram, Filler, FillerProtocol, PathDirection};
use crate::spec::Visit;
use crate::visit_progress::VisitProgress;
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
#[derive(Debug, Default)]
pub struct Resolver {
    known: BTreeSet<String>,
    visit: Option<VisitProgress>,
    /// Questions without an answer: origin, repetitions, and when the next thing happens.
    open: Vec<(usize, usize, Time)>,
    /// What the client and the resolver have to send.
    questions: VecDeque<Filler>,
    answers: VecDeque<Filler>,
}

impl Resolver {
    /// Returns true if a visit begins with a question.
    pub fn asks_first(&self, visit: &Visit) -> bool {
        let page = visit.page.as_ref().filter(|page| page.resolves_names);
        page.and_then(|page| page.origins.first()).is_some_and(|name| !self.known.contains(name))
    }

    /// Begins a visit, which forgets the questions of the one before.
    pub fn begin(&mut self, start: &VisitStart) {
        (self.open, self.questions, self.answers) = Default::default();
        let mut state = start.progress.state();
        self.visit = state.page.is_some().then(|| start.progress.clone());
        let Some(page) = &mut state.page else { return };
        let whole = page.page().clone();
        for (origin, name) in whole.origins.iter().enumerate() {
            if !whole.resolves_names || self.known.contains(name) {
                page.known(origin, start.now);
            }
        }
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
        for origin in due {
            page.asked(origin, now);
            self.open.push((origin, 0, now));
        }
        drop(state);
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

    /// Returns the time at which to call [`Resolver::act`].
    pub fn next_action(&self) -> Option<Time> {
        let progress = self.visit.as_ref()?;
        let open = self.open.iter().map(|(.., next)| *next).min();
        let state = progress.state();
        let asks = state.page.as_ref().and_then(|page| page.to_ask().map(|(_, due)| due).min());
        open.into_iter().chain(asks).min()
    }

    /// Returns the next packet of the client, if `at_client`, or of the resolver.
    pub fn next_packet(&mut self, at_client: bool) -> Option<(PathDirection, Filler)> {
        if at_client {
            Some((PathDirection::ToServer, self.questions.pop_front()?))
        } else {
            Some((PathDirection::ToClient, self.answers.pop_front()?))
        }
    }

    /// Handles a packet. Returns the origin whose address the client has learned by it.
    pub fn deliver(&mut self, now: Time, datagram: &Datagram, filler: &Filler) -> Option<usize> {
        let origin = filler.number as usize;
        if datagram.toward == PathDirection::ToServer {
            self.answers.push_back(packet(origin, filler.sent, ANSWER));
            return None;
        }
        let open = self.open.iter().position(|(other, ..)| *other == origin)?;
        self.open.swap_remove(open);
        let mut state = self.visit.as_ref()?.state();
        let page = state.page.as_mut()?;
        page.known(origin, now);
        self.known.insert(page.page().origins.get(origin)?.clone());
        Some(origin)
    }
}

fn packet(origin: usize, sent: Time, bytes: u32) -> Filler {
    Filler { protocol: FillerProtocol::Dns, number: origin as u64, sent, bytes }
}

//! The fast starts of the clients of one network: those under way, and what became of earlier ones.

use crate::path_memory::IpPrefix;
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Longest duration of a start. Our choice: a start over a geostationary satellite takes up to ten
/// RTTs, 7 s, and a connection that sends too little to ever end its start must not slow others
/// down.
pub(super) const LONGEST_START: Span = Span::from_secs(10);

/// Time for which a start tells something about later ones, and most starts that are remembered.
const MEMORY: Span = Span::from_secs(60);
const MOST_ENDED: usize = 64;

/// Fewest starts of other clients that tell something about the network, and fewest of them that
/// were crowded.
const FEWEST: usize = 8;
const FEWEST_CROWDED: usize = 2;

/// Fractions of crowded starts from which on first bursts become smaller, and at which they are
/// smallest.
const TOLERATED: f64 = 0.05;
const CROWDED: f64 = 0.1;

/// By how much a first burst is smaller then.
const SMALLEST: f64 = 6.0;

/// Starts under way that send whole first bursts at the same time.
const TOGETHER: u64 = 16;

/// A start under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) id: u64,
    pub(super) client: IpPrefix,
    pub(super) began: Time,
    /// True if the client has shown that it receives at its address.
    pub(super) confirmed: bool,
    /// True if it has lost so much that the link must be full.
    pub(super) crowded: bool,
}

impl Start {
    fn is_over(&self, now: Time) -> bool {
        now >= self.began + LONGEST_START
    }
}

/// The starts of one network.
#[derive(Debug, Default)]
pub(super) struct NetworkStarts {
    under_way: Vec<Start>,
    ended: VecDeque<Start>,
}

impl NetworkStarts {
    /// Adds a start.
    pub(super) fn enter(&mut self, start: Start) {
        self.under_way.push(start);
    }

    /// Returns the start `id`, if it is under way.
    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Start> {
        self.under_way.iter_mut().find(|start| start.id == id)
    }

    /// Ends the start `id`.
    pub(super) fn end(&mut self, id: u64) {
        if let Some(index) = self.under_way.iter().position(|start| start.id == id) {
            self.end_at(index);
        }
    }

    fn end_at(&mut self, index: usize) {
        let start = self.under_way.swap_remove(index);
        // First packets with forged addresses tell nothing about a network.
        if start.confirmed {
            if self.ended.len() == MOST_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(start);
        }
    }

    /// Ends starts that take too long, and forgets old ones. Returns false if none is left.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        let mut index = 0;
        while let Some(start) = self.under_way.get(index) {
            if start.is_over(now) {
                self.end_at(index);
            } else {
                index += 1;
            }
        }
        self.ended.retain(|start| now < start.began + MEMORY);
        !self.under_way.is_empty() || !self.ended.is_empty()
    }

    /// Returns by what the first burst of the start `id` of `client` is divided: the starts of the
    /// same client under way, or more if many of the network are, or if the network is crowded.
    pub(super) fn sharers(&self, id: u64, client: IpPrefix, now: Time) -> u64 {
        let others = || self.under_way.iter().filter(|start| start.id != id && !start.is_over(now));
        let of_client = 1 + count(others().filter(|start| start.client == client));
        let of_network = (1 + count(others())).div_ceil(TOGETHER);
        of_client.max(of_network).max(self.crowding(client, now))
    }

    /// Returns by what a first burst is divided since starts of other clients have lost much.
    fn crowding(&self, client: IpPrefix, now: Time) -> u64 {
        let others = || {
            self.ended.iter().filter(|other| other.client != client && now < other.began + MEMORY)
        };
        let (all, crowded) = (others().count(), others().filter(|other| other.crowded).count());
        if all < FEWEST || crowded < FEWEST_CROWDED {
            return 1;
        }
        let fraction = crowded as f64 / all as f64;
        let degree = ((fraction - TOLERATED) / (CROWDED - TOLERATED)).clamp(0.0, 1.0);
        (1.0 + (SMALLEST - 1.0) * degree).round() as u64
    }
}

/// Counts starts: those of clients that have not shown that they receive at their addresses count
/// as one together, since first packets with forged addresses could slow others down.
fn count<'a>(starts: impl Iterator<Item = &'a Start> + Clone) -> u64 {
    let confirmed = starts.clone().filter(|start| start.confirmed).count() as u64;
    confirmed + u64::from(starts.clone().any(|start| !start.confirmed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn client(number: u8) -> IpPrefix {
        IpPrefix::host(IpAddr::V4(Ipv4Addr::new(198, 18, number, 2)))
    }

    fn start(id: u64, began: Time) -> Start {
        Start { id, client: client(id as u8), began, confirmed: true, crowded: false }
    }

    /// Returns the divisor of a client whose network has seen `all` starts of others end, of which
    /// `crowded` were crowded.
    fn after(all: u64, crowded: u64, now: Time) -> u64 {
        let mut starts = NetworkStarts::default();
        for id in 0..all {
            starts.enter(Start { crowded: id < crowded, ..start(id, Time::ZERO) });
            starts.end(id);
        }
        starts.sharers(200, client(200), now)
    }

    #[test]
    fn first_bursts_are_smaller_the_more_starts_of_a_network_were_crowded() {
        let now = Time::from_secs(5);
        assert_eq!([0, 3, 4, 5, 6, 60].map(|crowded| after(60, crowded, now)), [1, 1, 3, 4, 6, 6]);
    }

    #[test]
    fn few_starts_prove_nothing_about_a_network() {
        let now = Time::from_secs(5);
        assert_eq!((after(7, 7, now), after(8, 1, now), after(8, 2, now)), (1, 1, 6));
    }

    #[test]
    fn what_starts_have_shown_is_forgotten_after_a_minute() {
        assert_eq!(after(20, 20, Time::from_secs(59)), 6);
        assert_eq!(after(20, 20, Time::from_secs(60)), 1);
    }

    #[test]
    fn a_clients_own_starts_do_not_show_that_others_crowd_it() {
        let mut starts = NetworkStarts::default();
        for id in 0..20 {
            starts.enter(Start { client: client(1), crowded: true, ..start(id, Time::ZERO) });
            starts.end(id);
        }
        assert_eq!(starts.sharers(20, client(1), Time::ZERO), 1);
        assert_eq!(starts.sharers(20, client(2), Time::ZERO), 6);
    }

    #[test]
    fn many_starts_at_once_share_their_first_bursts() {
        let mut starts = NetworkStarts::default();
        let mut sharers = Vec::new();
        for id in 0..64 {
            starts.enter(start(id, Time::ZERO));
            sharers.push(starts.sharers(id, client(id as u8), Time::ZERO));
        }
        assert_eq!([sharers[0], sharers[15], sharers[16], sharers[63]], [1, 1, 2, 4]);
        assert_eq!(starts.sharers(0, client(0), Time::from_secs(10)), 1, "they are over");
    }

    #[test]
    fn starts_with_forged_addresses_tell_nothing() {
        let mut starts = NetworkStarts::default();
        for id in 0..100 {
            starts.enter(Start { confirmed: false, crowded: true, ..start(id, Time::ZERO) });
        }
        assert_eq!(starts.sharers(200, client(200), Time::ZERO), 1);
        assert!(!starts.expire(Time::from_secs(10)), "nothing is left of them");
        assert_eq!(starts.sharers(200, client(200), Time::from_secs(10)), 1);
    }

    #[test]
    fn a_networks_memory_is_bounded() {
        let mut starts = NetworkStarts::default();
        for id in 0..10_000 {
            starts.enter(start(id, Time::ZERO));
            starts.end(id);
        }
        assert_eq!(starts.ended.len(), MOST_ENDED);
    }
}

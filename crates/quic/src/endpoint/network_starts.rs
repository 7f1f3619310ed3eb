//! The fast starts of the clients of one network: those under way, and what became of earlier ones.

use crate::path_memory::IpPrefix;
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Longest duration of a start. Our choice: a start over a geostationary satellite takes up to ten
/// RTTs, 7 s, and a connection that sends too little to ever end its start must not slow others
/// down.
const LONGEST_START: Span = Span::from_secs(10);

/// Time for which a start tells something about later ones, and most starts that are remembered.
const MEMORY: Span = Span::from_secs(60);
const MOST_ENDED: usize = 64;

/// Fewest starts of other clients that tell something about the network, and fewest of them that
/// met congestion.
const FEWEST: usize = 8;
const FEWEST_CONGESTED: usize = 2;

/// Fractions of starts with congestion from which on first bursts become smaller, and from which on
/// they are smallest.
const SOME_CONGESTED: f64 = 0.05;
const MANY_CONGESTED: f64 = 0.1;

/// Shares of a first burst that is smallest.
const MOST_SHARES: f64 = 6.0;

/// Most starts under way that send whole first bursts.
const MOST_WHOLE: u64 = 16;

/// A start under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) id: u64,
    pub(super) client: IpPrefix,
    pub(super) began: Time,
    /// True if the client has shown that it receives at its address.
    pub(super) confirmed: bool,
    /// True if it has lost so much that the link must be congested.
    pub(super) congested: bool,
}

impl Start {
    fn is_over(&self, now: Time) -> bool {
        now >= self.began + LONGEST_START
    }

    fn is_remembered(&self, now: Time) -> bool {
        now < self.began + MEMORY
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
        self.ended.retain(|start| start.is_remembered(now));
        !self.under_way.is_empty() || !self.ended.is_empty()
    }

    /// Returns the shares into which the first burst of the start `id` of `client` is divided: one
    /// for each start of this client under way, or more if many of the network are under way or met
    /// congestion.
    pub(super) fn shares(&self, id: u64, client: IpPrefix, now: Time) -> u64 {
        let others = || self.under_way.iter().filter(|start| start.id != id && !start.is_over(now));
        let of_client = 1 + count(others().filter(|start| start.client == client));
        let of_network = (1 + count(others())).div_ceil(MOST_WHOLE);
        of_client.max(of_network).max(self.shares_by_congestion(client, now))
    }

    /// Returns the shares of a first burst of `client`, given how many starts of others met
    /// congestion.
    fn shares_by_congestion(&self, client: IpPrefix, now: Time) -> u64 {
        let others =
            || self.ended.iter().filter(|other| other.client != client && other.is_remembered(now));
        let (all, congested) = (others().count(), others().filter(|other| other.congested).count());
        if all < FEWEST || congested < FEWEST_CONGESTED {
            return 1;
        }
        let excess = congested as f64 / all as f64 - SOME_CONGESTED;
        let degree = (excess / (MANY_CONGESTED - SOME_CONGESTED)).clamp(0.0, 1.0);
        (1.0 + (MOST_SHARES - 1.0) * degree).round() as u64
    }
}

/// Counts starts: those of clients that have not shown that they receive at their addresses count
/// as one together, since first packets with forged addresses could slow others down.
fn count<'a>(mut starts: impl Iterator<Item = &'a Start> + Clone) -> u64 {
    let confirmed = starts.clone().filter(|start| start.confirmed).count() as u64;
    confirmed + u64::from(starts.any(|start| !start.confirmed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn client(number: u8) -> IpPrefix {
        IpPrefix::host(IpAddr::V4(Ipv4Addr::new(198, 18, number, 2)))
    }

    fn start(id: u64, began: Time) -> Start {
        Start { id, client: client(id as u8), began, confirmed: true, congested: false }
    }

    /// Returns the shares for a client whose network has seen `all` starts of others end, of which
    /// `congested` met congestion.
    fn after(all: u64, congested: u64, now: Time) -> u64 {
        let mut starts = NetworkStarts::default();
        for id in 0..all {
            starts.enter(Start { congested: id < congested, ..start(id, Time::ZERO) });
            starts.end(id);
        }
        starts.shares(200, client(200), now)
    }

    #[test]
    fn first_bursts_are_smaller_the_more_starts_of_a_network_met_congestion() {
        let now = Time::from_secs(5);
        assert_eq!(
            [0, 3, 4, 5, 6, 60].map(|congested| after(60, congested, now)),
            [1, 1, 3, 4, 6, 6]
        );
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
    fn a_clients_own_starts_tell_nothing_about_others() {
        let mut starts = NetworkStarts::default();
        for id in 0..20 {
            starts.enter(Start { client: client(1), congested: true, ..start(id, Time::ZERO) });
            starts.end(id);
        }
        assert_eq!(starts.shares(20, client(1), Time::ZERO), 1);
        assert_eq!(starts.shares(20, client(2), Time::ZERO), 6);
    }

    #[test]
    fn many_starts_at_once_share_their_first_bursts() {
        let mut starts = NetworkStarts::default();
        let mut shares = Vec::new();
        for id in 0..64 {
            starts.enter(start(id, Time::ZERO));
            shares.push(starts.shares(id, client(id as u8), Time::ZERO));
        }
        assert_eq!([shares[0], shares[15], shares[16], shares[63]], [1, 1, 2, 4]);
        assert_eq!(starts.shares(0, client(0), Time::from_secs(10)), 1, "they are over");
    }

    #[test]
    fn starts_with_forged_addresses_tell_nothing() {
        let mut starts = NetworkStarts::default();
        for id in 0..100 {
            starts.enter(Start { confirmed: false, congested: true, ..start(id, Time::ZERO) });
        }
        assert_eq!(starts.shares(200, client(200), Time::ZERO), 1);
        assert!(!starts.expire(Time::from_secs(10)), "nothing is left of them");
        assert_eq!(starts.shares(200, client(200), Time::from_secs(10)), 1);
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

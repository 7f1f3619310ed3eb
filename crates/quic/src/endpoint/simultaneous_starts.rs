//! The fast starts of a server, by client prefix and by network.
//!
//! Several connections of one client share its link. Each of those that start at the same time
//! knows how many they are, and takes its share of the first burst.
//!
//! Clients of one operator may share a beam. Where their starts lose much, or many begin at once,
//! first bursts are smaller: see `docs/decisions/0053-starts-of-a-network.md`.

use super::network_starts::{NetworkStarts, Start};
use crate::path_memory::{IpPrefix, Prefixes};
use bentpipe_congestion::{FastStart, StartGuard, StartSlot};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fast starts of a server. Clones share them: there is one for each server, or for each farm
/// with shared memory.
#[derive(Debug, Clone, Default)]
pub struct SimultaneousStarts(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    networks: BTreeMap<IpPrefix, NetworkStarts>,
    next: u64,
    /// Last time that networks were forgotten.
    swept: Time,
}

/// Time between searches for networks to forget: otherwise, each start would go through all.
const SWEEP: Span = Span::from_secs(1);

impl SimultaneousStarts {
    /// Returns the lease of a connection of `client`.
    pub fn lease(&self, client: IpAddr) -> StartLease {
        let lease = self.lease_unconfirmed(client);
        lease.confirm();
        lease
    }

    /// Returns the lease of a connection of `client`, which has not shown yet that it receives at
    /// its address. Until [`StartLease::confirm`], all such starts together count as one for
    /// others.
    pub fn lease_unconfirmed(&self, client: IpAddr) -> StartLease {
        StartLease(Arc::new(Part {
            starts: self.clone(),
            client: Prefixes::default().of(client),
            network: Prefixes::OPERATOR.of(client),
            state: Mutex::new(PartState::default()),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's part in the [`SimultaneousStarts`] of a server. Clones are the same part.
#[derive(Clone)]
pub struct StartLease(Arc<Part>);

struct Part {
    starts: SimultaneousStarts,
    client: IpPrefix,
    network: IpPrefix,
    state: Mutex<PartState>,
}

#[derive(Default)]
struct PartState {
    confirmed: bool,
    /// Numbers of its starts.
    entered: Vec<u64>,
}

impl Debug for StartLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartLease").finish_non_exhaustive()
    }
}

impl StartLease {
    /// Enters a start that begins at `now`.
    pub fn enter(&self, now: Time) -> FastStart {
        let mut state = self.0.state();
        let id = self.0.enter(now, state.confirmed);
        state.entered.push(id);
        FastStart::Allowed(Some(StartSlot::new(Guard { part: self.0.clone(), id })))
    }

    /// Handles that the client's address is validated.
    pub fn confirm(&self) {
        let mut state = self.0.state();
        state.confirmed = true;
        for id in &state.entered {
            self.0.change(*id, |start| start.confirmed = true);
        }
    }

    /// Ends the start, because the connection has ended.
    pub fn leave(&self) {
        for id in self.0.state().entered.drain(..) {
            self.0.end(id);
        }
    }
}

impl Part {
    fn state(&self) -> MutexGuard<'_, PartState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a start that begins at `now`, and returns its number.
    fn enter(&self, now: Time, confirmed: bool) -> u64 {
        let mut entries = self.starts.lock();
        if now >= entries.swept + SWEEP {
            entries.swept = now;
            entries.networks.retain(|_, starts| starts.expire(now));
        }
        let id = entries.next;
        entries.next += 1;
        let starts = entries.networks.entry(self.network).or_default();
        starts.expire(now);
        starts.enter(Start { id, client: self.client, began: now, confirmed, congested: false });
        id
    }

    /// Calls `change` with the start `id`, if it is under way.
    fn change(&self, id: u64, change: impl FnOnce(&mut Start)) {
        let mut entries = self.starts.lock();
        let starts = entries.networks.get_mut(&self.network);
        if let Some(start) = starts.and_then(|starts| starts.get_mut(id)) {
            change(start);
        }
    }

    fn end(&self, id: u64) {
        if let Some(starts) = self.starts.lock().networks.get_mut(&self.network) {
            starts.end(id);
        }
    }
}

/// Counts a start until it is over.
struct Guard {
    part: Arc<Part>,
    id: u64,
}

impl StartGuard for Guard {
    fn shares(&self, now: Time) -> u64 {
        let Part { starts, client, network, .. } = &*self.part;
        let entries = starts.lock();
        entries.networks.get(network).map_or(1, |starts| starts.shares(self.id, *client, now))
    }

    fn on_congestion(&self) {
        self.part.change(self.id, |start| start.congested = true);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.part.end(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const A: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));
    const B: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 1, 2));
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 19, 1, 2));

    fn slot(start: FastStart) -> StartSlot {
        match start {
            FastStart::Allowed(Some(slot)) => slot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn starts_of_a_prefix_count_each_other_until_they_are_over() {
        let starts = SimultaneousStarts::default();
        let first = slot(starts.lease(A).enter(Time::ZERO));
        assert_eq!(first.shares(Time::ZERO), 1);
        let second = slot(starts.lease(A).enter(Time::ZERO));
        let other = slot(starts.lease(B).enter(Time::ZERO));
        let counts = || [&first, &other].map(|slot| slot.shares(Time::ZERO));
        assert_eq!((counts(), second.shares(Time::ZERO)), ([2, 1], 2));
        drop(second);
        assert_eq!(counts(), [1, 1]);
    }

    #[test]
    fn starts_of_unconfirmed_clients_count_as_one() {
        let starts = SimultaneousStarts::default();
        let leases: Vec<StartLease> = (0..50).map(|_| starts.lease_unconfirmed(A)).collect();
        let slots: Vec<StartSlot> =
            leases.iter().map(|lease| slot(lease.enter(Time::ZERO))).collect();
        let shares = || slots[0].shares(Time::ZERO);
        assert_eq!(shares(), 2);
        leases[0].confirm();
        assert_eq!(shares(), 2);
        leases[1].confirm();
        leases[2].confirm();
        assert_eq!(shares(), 4);
        leases[1].leave();
        assert_eq!(shares(), 3);
    }

    #[test]
    fn a_connection_that_ends_no_longer_counts() {
        let starts = SimultaneousStarts::default();
        let lease = starts.lease(A);
        let _first = lease.enter(Time::ZERO);
        let second = slot(starts.lease(A).enter(Time::ZERO));
        lease.leave();
        assert_eq!(second.shares(Time::ZERO), 1);
    }

    #[test]
    fn a_start_that_does_not_end_counts_only_for_a_while() {
        let starts = SimultaneousStarts::default();
        let _idle = starts.lease(A).enter(Time::ZERO);
        let second = slot(starts.lease(A).enter(Time::from_secs(9)));
        assert_eq!(second.shares(Time::from_secs(9)), 2);
        assert_eq!(second.shares(Time::from_secs(10)), 1);
        let third = slot(starts.lease(A).enter(Time::from_secs(30)));
        assert_eq!(third.shares(Time::from_secs(30)), 1);
    }

    #[test]
    fn networks_without_recent_starts_are_forgotten() {
        let starts = SimultaneousStarts::default();
        for second in 0..200 {
            for network in 0..50 {
                let client = IpAddr::V4(Ipv4Addr::new(10, network, 0, 2));
                drop(starts.lease(client).enter(Time::from_secs(10 * second)));
            }
        }
        let elsewhere = slot(starts.lease(ELSEWHERE).enter(Time::from_secs(3000)));
        assert_eq!((elsewhere.shares(Time::ZERO), starts.lock().networks.len()), (1, 1));
    }

    #[test]
    fn starts_that_met_congestion_make_those_of_others_in_their_network_smaller() {
        let starts = SimultaneousStarts::default();
        for _ in 0..8 {
            slot(starts.lease(A).enter(Time::ZERO)).on_congestion();
        }
        let shares = |client| slot(starts.lease(client).enter(Time::ZERO)).shares(Time::ZERO);
        assert_eq!([A, B, ELSEWHERE].map(shares), [1, 6, 1]);
    }
}

//! Who holds slots and who waits for one, and whose slots are taken back.

use super::{ClientSlot, SlotLimits, SlotRequest, Slots};
use crate::admission::activity::Activity;
use crate::admission::client::{SITE_CLIENTS, site_network};
use bentpipe_quic::path_memory::IpPrefix;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant};

/// Shortest time between two looks of one client, and of all clients at the slots of others. Our
/// choice: a look reads the state of many requests.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(50)];
/// Most slots that one look takes back, of the client itself and of others. Our choice: a client
/// that asks again for each that it loses costs little.
const AT_ONCE: [usize; 2] = [4, 16];

#[derive(Debug, Default)]
pub(super) struct State {
    /// Weight of all slots.
    pub held: u64,
    pub clients: BTreeMap<IpPrefix, Client>,
    /// Weight of the slots of each IPv6 /48.
    pub sites: BTreeMap<IpPrefix, u64>,
    /// Memory of all requests that wait, bytes.
    pub waiting: u64,
    /// Number of the next slot or waiting request.
    pub next: u64,
    /// When a client last looked for stalled slots of others.
    looked: Option<Instant>,
}

#[derive(Debug, Default)]
pub(super) struct Client {
    pub held: u64,
    /// Requests with a slot that was not taken back.
    pub holders: BTreeMap<u64, Holder>,
    pub waiting: VecDeque<Waiter>,
    /// Memory of the requests that wait, bytes.
    pub waiting_bytes: u64,
    /// When it last looked for stalled slots.
    looked: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Holder {
    weight: u64,
    activity: Arc<Activity>,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub number: u64,
    pub request: SlotRequest,
    pub granted: oneshot::Sender<ClientSlot>,
}

/// What keeps a request from a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Client,
    Site(IpPrefix),
    All,
}

impl State {
    /// Returns what keeps `client` from a slot of this weight, if anything does.
    ///
    /// A client gets at most as much as is left for the others, so that those who come late find
    /// room. If it holds nothing, only the total bounds it.
    pub fn bound(&self, limits: &SlotLimits, client: &IpPrefix, weight: u64) -> Option<Bound> {
        let free = limits.all.saturating_sub(self.held);
        let own = self.clients.get(client).map_or(0, |client| client.held);
        let wanted = own + weight;
        if weight > free && self.held > 0 {
            return Some(Bound::All);
        }
        if own == 0 {
            return None;
        }
        if wanted > limits.per_client {
            return Some(Bound::Client);
        }
        let site = site_network(client.address());
        if let Some(site) = site
            && self.sites.get(&site).is_some_and(|held| {
                held + weight > limits.per_client.saturating_mul(SITE_CLIENTS as u64)
            })
        {
            return Some(Bound::Site(site));
        }
        (wanted > free).then_some(Bound::All)
    }

    pub fn take(&mut self, slots: &Slots, client: IpPrefix, request: &SlotRequest) -> ClientSlot {
        let (number, weight) = (self.next, request.weight);
        self.next += 1;
        self.held += weight;
        if let Some(site) = site_network(client.address()) {
            *self.sites.entry(site).or_default() += weight;
        }
        let entry = self.clients.entry(client).or_default();
        entry.held += weight;
        entry.holders.insert(number, Holder { weight, activity: request.activity.clone() });
        ClientSlot { slots: slots.clone(), client, number, weight }
    }

    pub fn give_back(&mut self, client: &IpPrefix, weight: u64) {
        self.held -= weight;
        if let Some(site) = site_network(client.address())
            && let Some(held) = self.sites.get_mut(&site)
        {
            *held -= weight;
            if *held == 0 {
                self.sites.remove(&site);
            }
        }
        if let Some(entry) = self.clients.get_mut(client) {
            entry.held -= weight;
        }
        self.forget(client);
    }

    /// Forgets a client without slots and requests.
    pub fn forget(&mut self, client: &IpPrefix) {
        let idle = |client: &Client| client.held == 0 && client.waiting.is_empty();
        if self.clients.get(client).is_some_and(idle) {
            self.clients.remove(client);
        }
    }

    /// Returns the next request that gets a slot: the first one of the client that holds least.
    pub fn next_granted(&mut self, limits: &SlotLimits) -> Option<(IpPrefix, Waiter)> {
        if self.waiting == 0 {
            return None;
        }
        let fits = |client: &IpPrefix, first: &Waiter| {
            self.bound(limits, client, first.request.weight).is_none()
        };
        let waiting = self.clients.iter().filter(|(client, entry)| {
            entry.waiting.front().is_some_and(|first| fits(client, first))
        });
        let client = *waiting.min_by_key(|(_, entry)| entry.held)?.0;
        let entry = self.clients.get_mut(&client)?;
        let waiter = entry.waiting.pop_front()?;
        entry.waiting_bytes -= waiter.request.waiting;
        self.waiting -= waiter.request.waiting;
        Some((client, waiter))
    }

    /// Takes back stalled slots until the requests of `client` that wait would fit, the longest
    /// stalled first: its own, those of its IPv6 /48, or those of the client that holds most and
    /// more than it.
    pub fn take_back(&mut self, limits: &SlotLimits, client: &IpPrefix, now: Instant) {
        let is_soon = |looked: Option<Instant>, pause| {
            looked.is_some_and(|looked| now.saturating_duration_since(looked) < pause)
        };
        let Some(entry) = self.clients.get_mut(client) else { return };
        let Some(first) = entry.waiting.front().map(|first| first.request.weight) else { return };
        if is_soon(entry.looked, PAUSES[0]) {
            return;
        }
        entry.looked = Some(now);
        let (own, wanted): (_, u64) =
            (entry.held, entry.waiting.iter().map(|waiter| waiter.request.weight).sum());
        let Some(bound) = self.bound(limits, client, first) else { return };
        if bound != Bound::Client {
            if is_soon(self.looked, PAUSES[1]) {
                return;
            }
            self.looked = Some(now);
        }
        let mut victims = self.stalled(limits, client, bound, now);
        // Those of the client that holds most first, but for slots that count together.
        victims.sort_unstable_by_key(|victim| std::cmp::Reverse((victim.held, victim.stalled)));
        let (mut taken, mut left) = (0, BTreeMap::new());
        let mut count = AT_ONCE[usize::from(bound != Bound::Client)];
        for Victim { client: source, held, number, .. } in victims {
            if taken >= wanted || count == 0 {
                return;
            }
            let left = left.entry(source).or_insert(held);
            if bound == Bound::All && source != *client && *left <= own + taken {
                continue;
            }
            let holders = self.clients.get_mut(&source).map(|entry| &mut entry.holders);
            let Some(holder) = holders.and_then(|holders| holders.remove(&number)) else {
                continue;
            };
            holder.activity.revoke();
            (taken, count) = (taken + holder.weight, count - 1);
            *left = left.saturating_sub(holder.weight);
        }
    }

    /// Returns the stalled requests whose slots `client` may get when `bound` keeps it from one.
    fn stalled(
        &self,
        limits: &SlotLimits,
        client: &IpPrefix,
        bound: Bound,
        now: Instant,
    ) -> Vec<Victim> {
        let own = self.clients.get(client).map_or(0, |client| client.held);
        let mut victims = Vec::new();
        let mut add = |client: &IpPrefix, entry: &Client, held| {
            victims.extend(entry.holders.iter().filter_map(|(number, holder)| {
                let stalled = holder.activity.stalled_for(now)?;
                (stalled >= limits.stalled).then_some(Victim {
                    client: *client,
                    held,
                    stalled,
                    number: *number,
                })
            }));
        };
        match bound {
            Bound::Client => {
                if let Some(entry) = self.clients.get(client) {
                    add(client, entry, 0);
                }
            }
            Bound::Site(site) => {
                let in_site = |other: &IpPrefix| site_network(other.address()) == Some(site);
                let others = self.clients.iter().filter(|(other, _)| in_site(other));
                others.for_each(|(other, entry)| add(other, entry, 0));
            }
            Bound::All => {
                let eligible = |other: &IpPrefix, held| other == client || held > own;
                let others =
                    self.clients.iter().filter(|(other, entry)| eligible(other, entry.held));
                others.for_each(|(other, entry)| add(other, entry, entry.held));
            }
        }
        victims
    }
}

/// A stalled request whose slot may be taken back.
#[derive(Debug)]
struct Victim {
    client: IpPrefix,
    /// Weight of all slots of its client, or 0 if that does not matter.
    pub held: u64,
    stalled: Duration,
    pub number: u64,
}

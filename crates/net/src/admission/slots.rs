//! Slots for responses and for requests of an upstream, bounded in total, for each client and for
//! each IPv6 /48.
//!
//! A slot has a weight, so that small work takes little. Requests without a slot wait, first come,
//! first served within a client; the client that holds least is served first. While a request
//! waits, slots of requests that are stalled are taken back.

use super::activity::Activity;
use super::client::{CLIENT_SHARE, SITE_CLIENTS, client_network, site_network};
use bentpipe_quic::path_memory::IpPrefix;
use http::HeaderMap;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, timeout};

/// Time after which a stalled request may lose its slot to one that waits. Our choice: several RTTs
/// over a GEO satellite.
pub(crate) const STALLED: Duration = Duration::from_secs(5);
/// Interval at which a request that waits looks for stalled ones.
const LOOK: Duration = Duration::from_millis(500);

/// Bounds of [`Slots`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotLimits {
    /// Weight of all slots.
    pub all: u64,
    /// Weight of the slots of one client. The clients of an IPv6 /48 have twice as much
    /// together.
    pub per_client: u64,
    /// Memory of the requests of one client that wait, bytes. All clients have [`CLIENT_SHARE`]
    /// times as much.
    pub waiting: u64,
    /// Time after which a stalled request may lose its slot.
    pub stalled: Duration,
}

/// A request that needs a slot.
#[derive(Debug, Clone)]
pub(crate) struct SlotRequest {
    /// Address of its client.
    pub address: IpAddr,
    /// Weight of the slot.
    pub weight: u64,
    /// Memory that the request takes while it waits, bytes.
    pub waiting: u64,
    /// Whether it waits for its client. If it does for too long, it loses the slot.
    pub activity: Arc<Activity>,
}

/// Memory of a request that waits, beside its header fields, bytes. Our choice: what the library of
/// HTTP/2 and a task take.
const MEMORY_BESIDE: u64 = 4096;
/// Default of [`SlotLimits::waiting`]. Our choice: ten requests on each of a thousand connections.
pub(crate) const WAITING: u64 = 48 * 1024 * 1024;

/// Returns the memory that a request with these fields takes while it waits, bytes.
pub(crate) fn memory_of(headers: &HeaderMap) -> u64 {
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    MEMORY_BESIDE + fields.sum::<usize>() as u64
}

/// Slots. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: SlotLimits,
    state: Mutex<State>,
}

/// A slot of a client. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    slots: Slots,
    client: IpPrefix,
    number: u64,
    weight: u64,
}

/// A request in the queue. Dropping it leaves the queue.
#[derive(Debug)]
struct Queued<'a> {
    slots: &'a Slots,
    client: IpPrefix,
    number: u64,
    /// Whether it has left the queue with a slot.
    granted: bool,
}

impl Slots {
    pub fn new(limits: SlotLimits) -> Self {
        Self(Arc::new(Inner { limits, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a slot if one is free and no request of the client waits.
    pub fn try_slot(&self, request: &SlotRequest) -> Option<ClientSlot> {
        let client = client_network(request.address);
        let mut state = self.state();
        let queues = state.clients.get(&client).is_some_and(|entry| !entry.waiting.is_empty());
        if queues || state.bound(&self.0.limits, &client, request.weight).is_some() {
            return None;
        }
        Some(state.take(self, client, request))
    }

    /// Returns a slot, or `None` if none is free within `wait`, or if the requests that wait take
    /// too much memory.
    pub async fn slot(&self, request: &SlotRequest, wait: Duration) -> Option<ClientSlot> {
        if let Some(slot) = self.try_slot(request) {
            return Some(slot);
        }
        let (mut queued, mut granted) = self.enqueue(request)?;
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            queued.look();
            if let Ok(slot) = timeout(left.min(LOOK), &mut granted).await {
                queued.granted = true;
                return slot.ok();
            }
        }
    }

    fn enqueue(
        &self,
        request: &SlotRequest,
    ) -> Option<(Queued<'_>, oneshot::Receiver<ClientSlot>)> {
        let client = client_network(request.address);
        let limits = &self.0.limits;
        let mut state = self.state();
        let all = state.waiting.saturating_add(request.waiting);
        let own = state.clients.get(&client).map_or(0, |entry| entry.waiting_bytes);
        if own.saturating_add(request.waiting) > limits.waiting
            || all > limits.waiting.saturating_mul(CLIENT_SHARE as u64)
        {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.waiting = all;
        let (granted, receiver) = oneshot::channel();
        let entry = state.clients.entry(client).or_default();
        entry.waiting_bytes += request.waiting;
        entry.waiting.push_back(Waiter { number, request: request.clone(), granted });
        drop(state);
        Some((Queued { slots: self, client, number, granted: false }, receiver))
    }

    /// Gives free slots to the requests that wait.
    fn grant(&self) {
        loop {
            let mut state = self.state();
            let Some((client, waiter)) = state.next_granted(&self.0.limits) else { return };
            let slot = state.take(self, client, &waiter.request);
            drop(state);
            // The request may be gone by now. Its slot is then free again.
            drop(waiter.granted.send(slot));
        }
    }
}

impl Queued<'_> {
    /// Takes back stalled slots that keep the client from one.
    fn look(&self) {
        let limits = &self.slots.0.limits;
        self.slots.state().take_back(limits, &self.client, Instant::now());
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        if self.granted {
            return;
        }
        let mut state = self.slots.state();
        let Some(entry) = state.clients.get_mut(&self.client) else { return };
        let place = entry.waiting.iter().position(|waiter| waiter.number == self.number);
        let Some(waiter) = place.and_then(|place| entry.waiting.remove(place)) else { return };
        entry.waiting_bytes -= waiter.request.waiting;
        state.waiting -= waiter.request.waiting;
        state.forget(&self.client);
        drop(state);
        // The request behind it may need less.
        self.slots.grant();
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        if let Some(entry) = state.clients.get_mut(&self.client) {
            entry.holders.remove(&self.number);
        }
        state.give_back(&self.client, self.weight);
        drop(state);
        self.slots.grant();
    }
}

/// Shortest time between two looks of one client, and of all clients at the slots of others. Our
/// choice: a look reads the state of many requests.
const PAUSES: [Duration; 2] = [Duration::from_millis(400), Duration::from_millis(100)];
/// Most slots that one look takes back, of the client itself or its IPv6 /48, and of others. Our
/// choice: a client, or a host with many networks, that asks again for each that it loses costs
/// little.
const AT_ONCE: [usize; 2] = [4, 32];

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
        let site = site_network(client.address());
        let mut taken = 0;
        for (source, held) in self.sources(client, bound) {
            // Of others, only what they hold beyond this client.
            let spare = match bound {
                // At least one slot, if this client has none.
                Bound::All if source != *client => {
                    held.saturating_sub(own).saturating_add(u64::from(own == 0)) / 2
                }
                _ => u64::MAX,
            };
            let is_own =
                source == *client || site.is_some() && site_network(source.address()) == site;
            let at_once = AT_ONCE[usize::from(!is_own)];
            let Some(entry) = self.clients.get_mut(&source) else { continue };
            let mut left = spare;
            for number in entry.longest_stalled(limits, now, at_once) {
                if taken >= wanted || left == 0 {
                    break;
                }
                let Some(holder) = entry.holders.remove(&number) else { continue };
                holder.activity.revoke();
                taken += holder.weight;
                left = left.saturating_sub(holder.weight);
            }
            // One client at a time: the next look finds the next.
            if taken > 0 {
                return;
            }
        }
    }

    /// Returns the clients whose slots `client` may get when `bound` keeps it from one, those that
    /// hold most first, with the weight that each holds.
    fn sources(&self, client: &IpPrefix, bound: Bound) -> Vec<(IpPrefix, u64)> {
        let own = self.clients.get(client).map_or(0, |client| client.held);
        let eligible = |other: &IpPrefix, held: u64| match bound {
            Bound::Client => other == client,
            Bound::Site(site) => site_network(other.address()) == Some(site),
            Bound::All => other == client || held > own,
        };
        let mut sources: Vec<(IpPrefix, u64)> = if bound == Bound::Client {
            vec![(*client, own)]
        } else {
            let all = self.clients.iter().map(|(other, entry)| (*other, entry.held));
            all.filter(|(other, held)| eligible(other, *held)).collect()
        };
        sources.sort_unstable_by_key(|(_, held)| std::cmp::Reverse(*held));
        sources
    }
}

impl Client {
    /// Returns the numbers of the `count` slots that have been stalled for longest, if that is too
    /// long.
    fn longest_stalled(&self, limits: &SlotLimits, now: Instant, count: usize) -> Vec<u64> {
        let stalled = self.holders.iter().filter_map(|(number, holder)| {
            let time = holder.activity.stalled_for(now)?;
            (time >= limits.stalled).then_some((time, *number))
        });
        let mut stalled: Vec<(Duration, u64)> = stalled.collect();
        if stalled.len() > count {
            stalled.select_nth_unstable_by_key(count, |(time, _)| std::cmp::Reverse(*time));
            stalled.truncate(count);
        }
        stalled.sort_unstable_by_key(|(time, _)| std::cmp::Reverse(*time));
        stalled.into_iter().map(|(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests;

//! Slots for responses and for requests of an upstream, bounded in total, for each client and for
//! each IPv6 /48.
//!
//! A slot has a weight, so that small work takes little. Requests without a slot wait, first come,
//! first served within a client; the client that holds least is served first. While a request
//! waits, slots of requests that are stalled are taken back.

mod state;

use super::activity::Activity;
use super::client::{CLIENT_SHARE, client_network};
use bentpipe_quic::path_memory::IpPrefix;
use http::HeaderMap;
use state::{State, Waiter};
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

#[cfg(test)]
mod tests;

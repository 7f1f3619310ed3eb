//! Memory for response data that was sent and is not acknowledged, shared by all responses.

use super::client::{CLIENT_SHARE, SITE_CLIENTS, client_network, networks, site_network};
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::Bytes;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Smallest send buffer that every response may have, bytes.
const MIN_BUFFER: u64 = 128 * 1024;
/// Largest send buffer of a response, bytes: 850 Mbps over 600 ms.
const MAX_BUFFER: u64 = 64 * 1_000_000;
/// Initial send buffer of a response, bytes: enough for the first round trips of a fast start. A
/// smaller buffer would leave the congestion window unused, and an unused window neither grows nor
/// jumps (RFC 9002 §7.8, RFC 9959).
const INITIAL_BUFFER: u64 = 4 * 1024 * 1024;

/// Divides memory among responses. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct SendMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Memory for all responses, bytes.
    total: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: Shares,
    /// Of each client, and of each IPv6 /48.
    by_network: BTreeMap<IpPrefix, Shares>,
}

/// Responses and the memory granted to them.
#[derive(Debug, Default)]
struct Shares {
    responses: u64,
    /// Sum of their send buffers, bytes.
    granted: u64,
}

impl Shares {
    /// Largest buffer for one response that holds `granted` bytes now: an equal share of `memory`,
    /// and no more than the others leave free.
    fn room(&self, memory: u64, granted: u64) -> u64 {
        let share = memory / self.responses.max(1);
        share.min(memory.saturating_sub(self.granted - granted))
    }
}

impl State {
    fn grant(&mut self, client: &IpPrefix, bytes: u64) {
        self.all.granted += bytes;
        for network in networks(*client) {
            self.by_network.entry(network).or_default().granted += bytes;
        }
    }

    fn take_back(&mut self, client: &IpPrefix, bytes: u64) {
        self.all.granted -= bytes;
        for network in networks(*client) {
            if let Some(shares) = self.by_network.get_mut(&network) {
                shares.granted -= bytes;
            }
        }
    }

    /// Largest buffer for one response of `client` that holds `granted` bytes now, within the share
    /// of the client, `memory`, and that of its IPv6 /48.
    fn own_room(&self, client: &IpPrefix, memory: u64, granted: u64) -> u64 {
        let room = |network: &IpPrefix, memory| {
            self.by_network.get(network).map_or(0, |shares| shares.room(memory, granted))
        };
        let own = room(client, memory);
        site_network(client.address())
            .map_or(own, |site| own.min(room(&site, memory.saturating_mul(SITE_CLIENTS as u64))))
    }
}

impl SendMemory {
    pub fn new(total: Bytes) -> Self {
        Self(Arc::new(Inner { total: total.get(), state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a response to the client at `address`, until the grant is dropped.
    pub fn register(&self, address: IpAddr) -> SendBufferGrant {
        let client = client_network(address);
        let mut state = self.state();
        state.all.responses += 1;
        for network in networks(client) {
            state.by_network.entry(network).or_default().responses += 1;
        }
        drop(state);
        SendBufferGrant { memory: self.clone(), client, granted: 0, next: 0 }
    }
}

/// The send buffer of one response, until all of it is acknowledged. Call
/// [`SendBufferGrant::buffer`] before each piece and [`SendBufferGrant::written`] after it.
#[derive(Debug)]
pub(crate) struct SendBufferGrant {
    memory: SendMemory,
    client: IpPrefix,
    /// Bytes that the response may hold.
    granted: u64,
    /// Bytes that it may hold after the current piece is written to a buffer of this size.
    next: u64,
}

impl SendBufferGrant {
    /// Returns the send buffer from now on, bytes, for a congestion window: twice that, for the
    /// bytes in flight and as many again for an RTT in which it may double.
    pub fn for_window(&mut self, window: Option<Bytes>) -> u64 {
        self.buffer(window.map_or(0, Bytes::get).saturating_mul(2))
    }

    /// Returns the send buffer from now on, bytes, for a connection that can use `useful` bytes: at
    /// most an equal share of the memory of all responses and of the client's responses, and at
    /// most what the others leave free.
    fn buffer(&mut self, useful: u64) -> u64 {
        let total = self.memory.0.total;
        let of_client = (total / CLIENT_SHARE as u64).max(MAX_BUFFER).min(total);
        let mut state = self.memory.state();
        let all = state.all.room(total, self.granted);
        let own = state.own_room(&self.client, of_client, self.granted);
        let useful = useful.clamp(INITIAL_BUFFER, MAX_BUFFER);
        self.next = useful.min(all).min(own).max(MIN_BUFFER.min(useful));
        let more = self.next.saturating_sub(self.granted);
        state.grant(&self.client, more);
        self.granted += more;
        self.next
    }

    /// Gives back what a larger buffer held before, now that a piece was written to the smaller
    /// one.
    pub fn written(&mut self) {
        self.memory.state().take_back(&self.client, self.granted - self.next);
        self.granted = self.next;
    }

    /// Bytes that the response may hold.
    pub fn granted(&self) -> u64 {
        self.granted
    }
}

impl Drop for SendBufferGrant {
    fn drop(&mut self) {
        let mut state = self.memory.state();
        state.take_back(&self.client, self.granted);
        state.all.responses -= 1;
        for network in networks(self.client) {
            let Some(shares) = state.by_network.get_mut(&network) else { continue };
            shares.responses -= 1;
            if shares.responses == 0 {
                state.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn responses_share_the_memory() {
        let memory = SendMemory::new(Bytes::new(8 * 1024 * 1024));
        let mut first = memory.register(ip(1));
        assert_eq!(first.buffer(0), INITIAL_BUFFER);
        assert_eq!(first.buffer(u64::MAX), 8 * 1024 * 1024);
        let mut grants: Vec<SendBufferGrant> = (0..15).map(|_| memory.register(ip(1))).collect();
        let late: Vec<u64> = grants.iter_mut().map(|grant| grant.buffer(u64::MAX)).collect();
        assert_eq!(late, [MIN_BUFFER; 15], "the first response has all");
        assert_eq!(first.buffer(u64::MAX), 512 * 1024);
        assert_eq!(grants[0].buffer(u64::MAX), MIN_BUFFER, "the first may still hold it");
        first.written();
        assert_eq!(grants[0].buffer(u64::MAX), 512 * 1024);
        let more: Vec<SendBufferGrant> = (0..1000).map(|_| memory.register(ip(1))).collect();
        assert_eq!(grants[1].buffer(u64::MAX), MIN_BUFFER);
        drop((first, grants, more));
        let state = memory.state();
        assert_eq!((state.all.granted, state.by_network.len()), (0, 0));
    }

    #[test]
    fn one_client_gets_64_mb_and_leaves_the_rest_to_others() {
        let memory = SendMemory::new(Bytes::from_mb(512));
        assert_eq!(
            memory.register(ip(1)).buffer(u64::MAX),
            MAX_BUFFER,
            "one download gets all that it needs"
        );
        let mut heavy: Vec<SendBufferGrant> = (0..256).map(|_| memory.register(ip(1))).collect();
        heavy.iter_mut().for_each(|grant| _ = grant.buffer(u64::MAX));
        let granted = memory.state().all.granted;
        assert!(granted <= MAX_BUFFER, "{granted}");
        let mut other = memory.register(ip(2));
        assert_eq!(other.buffer(u64::MAX), 512_000_000 / 257, "an equal share of all");
    }

    #[test]
    fn an_ipv6_site_gets_two_shares() {
        let memory = SendMemory::new(Bytes::from_mb(1024));
        let network = |id: u16| IpAddr::from([0x2001, 0xdb8, 7, id << 8, 0, 0, 0, 1]);
        let mut grants: Vec<SendBufferGrant> =
            (0..64).map(|id| memory.register(network(id))).collect();
        let buffers: Vec<u64> = grants.iter_mut().map(|grant| grant.buffer(u64::MAX)).collect();
        assert_eq!(buffers, [4_000_000; 64], "a quarter of the memory together");
        drop(grants);
        assert!(memory.state().by_network.is_empty());
    }

    #[test]
    fn one_client_gets_an_eighth_of_a_large_memory() {
        let memory = SendMemory::new(Bytes::from_mb(1024));
        let mut grants: Vec<SendBufferGrant> = (0..4).map(|_| memory.register(ip(1))).collect();
        let buffers: Vec<u64> = grants.iter_mut().map(|grant| grant.buffer(u64::MAX)).collect();
        assert_eq!(buffers, [32_000_000; 4]);
    }

    #[test]
    fn grants_add_up_while_responses_come_and_go() {
        let total = 64 * 1024 * 1024;
        let memory = SendMemory::new(Bytes::new(total));
        let mut grants: Vec<SendBufferGrant> = Vec::new();
        for step in 0..2000u64 {
            match step % 5 {
                0 | 1 => grants.push(memory.register(ip((step % 3) as u8))),
                4 if step % 3 == 0 => drop(grants.swap_remove(step as usize * 7 % grants.len())),
                _ => {
                    let index = step as usize * 13 % grants.len();
                    grants[index].buffer(step.pow(2) * 1000);
                    if step % 2 == 0 {
                        grants[index].written();
                    }
                }
            }
            let held: u64 = grants.iter().map(SendBufferGrant::granted).sum();
            assert_eq!(held, memory.state().all.granted);
            let by_client: u64 =
                memory.state().by_network.values().map(|shares| shares.granted).sum();
            assert_eq!(held, by_client);
            assert!(held <= total + MIN_BUFFER * grants.len() as u64, "{held} at step {step}");
        }
    }
}

//! How much the server takes on, and from whom.

use super::metrics::Metrics;
use crate::clients::{Clients, client};
use bentpipe_quic::Admission;
use bentpipe_quic::memory::IpPrefix;
use bentpipe_units::{Bytes, Span};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much the server takes on. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Connections at a time, over QUIC and TCP together; more are refused.
    pub connections: usize,
    /// Connections at a time of one client: an IPv4 address, or an IPv6 /56, as one site has it.
    pub per_client: usize,
    /// Handshakes at a time; beyond, clients first have to show that their addresses are their own (Retry, RFC 9000 §8.1.2). Beyond four
    /// times as many, all are refused.
    pub handshakes: usize,
    /// Requests at a time of one connection.
    pub requests: u32,
    /// Bytes of a request's header fields, as HTTP/3 counts them (RFC 9114 §4.2.2).
    pub header: Bytes,
    /// Memory for what is sent and not yet acknowledged, of all QUIC connections together. Each that sends gets an equal part of what others do not hold, and
    /// 128 kB in any case. What of its file is read comes on top, an eighth of its part or 32 kB.
    pub send_memory: Bytes,
    /// A handshake takes no longer.
    pub handshake_time: Span,
    /// Nor does a request's header, once begun.
    pub header_time: Span,
    /// A client that takes nothing of 256 kB for so long is given up.
    pub stall_time: Span,
    /// A connection without a request under way ends after so long.
    pub idle_time: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            per_client: 256,
            handshakes: 256,
            requests: 100,
            header: Bytes::new(16 * 1024),
            send_memory: Bytes::from_mb(512),
            handshake_time: Span::from_secs(10),
            header_time: Span::from_secs(10),
            stall_time: Span::from_secs(60),
            idle_time: Span::from_secs(60),
        }
    }
}

/// Least send buffer of a connection, and the one that it begins with.
pub(super) const LEAST_BUFFER: u64 = 128 * 1024;
/// Largest: 850 Mbps over 600 ms.
const MOST_BUFFER: u64 = 64 * 1_000_000;
/// What a connection begins with where there is room: what the first round trips of a fast start take.
const FIRST_BUFFER: u64 = 4 * 1024 * 1024;

/// Who is connected. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Door(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    limits: Limits,
    counts: Mutex<Counts>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Counts {
    clients: Clients,
    handshakes: usize,
    sending: u64,
    /// Send buffers of all responses together, bytes.
    granted: u64,
    closed: bool,
}

impl Door {
    pub fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inside { limits, counts: Mutex::default(), metrics }))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Lets nobody in from now on.
    pub fn close(&self) {
        self.counts().closed = true;
    }

    /// How many are inside.
    pub fn inside(&self) -> usize {
        self.counts().clients.all()
    }

    /// Whether a client may come in; `validated`: its address is known to be its own.
    pub fn ask(&self, address: IpAddr, validated: bool) -> Admission {
        let (limits, counts) = (self.limits(), self.counts());
        let of_client = counts.clients.of(&client(address));
        let metrics = &self.0.metrics;
        let full = counts.closed || counts.clients.all() >= limits.connections || of_client >= limits.per_client;
        if full || counts.handshakes >= limits.handshakes.saturating_mul(4) {
            metrics.refused.fetch_add(1, Relaxed);
            return Admission::Refuse;
        }
        if counts.handshakes >= limits.handshakes && !validated {
            metrics.retried.fetch_add(1, Relaxed);
            return Admission::Retry;
        }
        Admission::Admit
    }

    /// Lets a client in whose admission was asked for.
    pub fn enter(&self, address: IpAddr) -> Pass {
        let client = client(address);
        let mut counts = self.counts();
        counts.clients.enter(client);
        counts.handshakes += 1;
        Pass { door: self.clone(), client, shaking: true }
    }

    /// Begins a response; it counts until what is returned is dropped.
    pub fn send(&self) -> Sending {
        self.counts().sending += 1;
        Sending { door: self.clone(), granted: 0, next: 0 }
    }
}

/// A client's place inside.
#[derive(Debug)]
pub(crate) struct Pass {
    door: Door,
    client: IpPrefix,
    shaking: bool,
}

impl Pass {
    /// Its handshake is complete.
    pub fn shaken(&mut self) {
        if std::mem::replace(&mut self.shaking, false) {
            self.door.counts().handshakes -= 1;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.shaken();
        let mut counts = self.door.counts();
        counts.clients.leave(&self.client);
    }
}

/// A response under way, until all of it is acknowledged. Call [`Sending::buffer`] before each piece, and [`Sending::written`] after it.
#[derive(Debug)]
pub(crate) struct Sending {
    door: Door,
    /// What it may hold.
    granted: u64,
    /// What it may hold once the piece that is being written has gone into a buffer of that size.
    next: u64,
}

impl Sending {
    /// The send buffer from now on, bytes, of a connection that could use `wanted`: no more than its part, and no more than what others have not got yet.
    pub fn buffer(&mut self, wanted: u64) -> u64 {
        let memory = self.door.limits().send_memory.get();
        let mut counts = self.door.counts();
        let part = memory / counts.sending.max(1);
        let free = memory.saturating_sub(counts.granted - self.granted);
        self.next = wanted.clamp(FIRST_BUFFER, MOST_BUFFER).min(part).min(free).max(LEAST_BUFFER);
        let more = self.next.saturating_sub(self.granted);
        counts.granted += more;
        self.granted += more;
        self.next
    }

    /// What was to be written has been taken: no more than the last size is held now, where it was larger before.
    pub fn written(&mut self) {
        self.door.counts().granted -= self.granted - self.next;
        self.granted = self.next;
    }

    /// The limits that it is under.
    pub fn limits(&self) -> &Limits {
        self.door.limits()
    }

    /// Counts a client that was given up because it took too little.
    pub fn too_slow(&self) {
        self.door.0.metrics.slow.fetch_add(1, Relaxed);
    }

    /// What it holds, at most.
    pub fn granted(&self) -> u64 {
        self.granted
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut counts = self.door.counts();
        counts.sending -= 1;
        counts.granted -= self.granted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(limits: Limits) -> Door {
        Door::new(limits, Arc::default())
    }

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn a_full_house_refuses_and_one_that_leaves_makes_room() {
        let door = door(Limits { connections: 2, ..Limits::default() });
        let passes = [door.enter(ip(1)), door.enter(ip(2))];
        assert_eq!(door.ask(ip(3), true), Admission::Refuse);
        drop(passes);
        assert_eq!((door.ask(ip(3), true), door.inside()), (Admission::Admit, 0));
        door.close();
        assert_eq!(door.ask(ip(3), true), Admission::Refuse);
    }

    #[test]
    fn one_client_does_not_take_all_places() {
        let door = door(Limits { per_client: 1, ..Limits::default() });
        let site = |end: u16| IpAddr::from([0x2001, 0xdb8, 0, 0x4200, 0, 0, 0, end]);
        let _passes = [door.enter(ip(1)), door.enter(site(1))];
        assert_eq!(door.ask(ip(1), true), Admission::Refuse);
        assert_eq!(door.ask(ip(2), true), Admission::Admit);
        assert_eq!(door.ask(site(2), true), Admission::Refuse, "the same site");
    }

    #[test]
    fn many_handshakes_have_addresses_shown_and_too_many_are_refused() {
        let door = door(Limits { handshakes: 1, ..Limits::default() });
        let mut pass = door.enter(ip(1));
        assert_eq!((door.ask(ip(2), false), door.ask(ip(2), true)), (Admission::Retry, Admission::Admit));
        let _more = [door.enter(ip(2)), door.enter(ip(3)), door.enter(ip(4))];
        assert_eq!(door.ask(ip(5), true), Admission::Refuse);
        pass.shaken();
        pass.shaken();
        assert_eq!(door.ask(ip(5), true), Admission::Admit);
    }

    #[test]
    fn send_memory_is_shared_by_those_who_send() {
        let door = door(Limits { send_memory: Bytes::new(8 * 1024 * 1024), ..Limits::default() });
        let mut first = door.send();
        assert_eq!(first.buffer(0), FIRST_BUFFER);
        assert_eq!(first.buffer(u64::MAX), 8 * 1024 * 1024);
        let mut sending: Vec<Sending> = (0..15).map(|_| door.send()).collect();
        let late: Vec<u64> = sending.iter_mut().map(|sending| sending.buffer(u64::MAX)).collect();
        assert_eq!(late, [LEAST_BUFFER; 15], "the first one has all");
        assert_eq!(first.buffer(u64::MAX), 512 * 1024);
        assert_eq!(sending[0].buffer(u64::MAX), LEAST_BUFFER, "and may still hold it");
        first.written();
        assert_eq!(sending[0].buffer(u64::MAX), 512 * 1024);
        let more: Vec<Sending> = (0..1000).map(|_| door.send()).collect();
        assert_eq!(sending[1].buffer(u64::MAX), LEAST_BUFFER);
        drop((first, sending, more));
        assert_eq!(door.counts().granted, 0);
        assert_eq!(door.send().buffer(0), FIRST_BUFFER);
    }

    #[test]
    fn send_memory_is_kept_to_whoever_comes_and_goes() {
        let memory = 64 * 1024 * 1024;
        let door = door(Limits { send_memory: Bytes::new(memory), ..Limits::default() });
        let mut sending: Vec<Sending> = Vec::new();
        for step in 0..2000u64 {
            match step % 5 {
                0 | 1 => sending.push(door.send()),
                4 if step % 3 == 0 => drop(sending.swap_remove(step as usize * 7 % sending.len())),
                _ => {
                    let index = step as usize * 13 % sending.len();
                    sending[index].buffer(step.pow(2) * 1000);
                    if step % 2 == 0 {
                        sending[index].written();
                    }
                }
            }
            let held: u64 = sending.iter().map(Sending::granted).sum();
            assert_eq!(held, door.counts().granted);
            assert!(held <= memory + LEAST_BUFFER * sending.len() as u64, "{held} at step {step}");
        }
    }
}

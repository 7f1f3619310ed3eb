//! How much the server takes on, and from whom.

use super::metrics::Metrics;
use crate::clients::{Clients, client};
use crate::descriptors::{RESERVED_DESCRIPTORS, TooFewDescriptors, check_descriptors};
use bentpipe_quic::Admission;
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::{Bytes, Span};
use std::collections::BTreeMap;
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
    /// Handshakes at a time; beyond, clients first have to show that their addresses are their own
    /// (Retry, RFC 9000 §8.1.2). Beyond four times as many, all are refused.
    pub handshakes: usize,
    /// Requests at a time of one connection.
    pub requests: u32,
    /// Files that are sent at a time, each of which may hold a descriptor. A request beyond waits
    /// for up to 2 s and is then answered with 503.
    pub open_files: usize,
    /// The same of one client.
    pub open_files_per_client: usize,
    /// Bytes of a request's header fields, as HTTP/3 counts them (RFC 9114 §4.2.2).
    pub header: Bytes,
    /// Memory for what is sent and not yet acknowledged, of all QUIC connections together.
    ///
    /// One client gets an eighth of it, or 64 MB. Each response gets an equal part of what others
    /// do not hold, at least 128 kB, but no more than 4 MB or twice the congestion window. What is
    /// read of its file comes on top: an eighth of its part, or 32 kB.
    pub send_memory: Bytes,
    /// A handshake takes no longer.
    pub handshake_time: Span,
    /// Nor does a request's header, once begun.
    pub header_time: Span,
    /// A response of which the client takes nothing for so long is cut off: nothing of 256 kB
    /// over HTTP/3, of 32 kB over HTTP/2 and HTTP/1.1.
    pub stall_time: Span,
    /// A connection without a request under way ends after so long; over HTTP/1.1 after
    /// [`Limits::header_time`], which counts from the last response.
    pub idle_time: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            per_client: 256,
            handshakes: 256,
            requests: 100,
            open_files: 4096,
            open_files_per_client: 512,
            header: Bytes::new(16 * 1024),
            send_memory: Bytes::from_mb(512),
            handshake_time: Span::from_secs(10),
            header_time: Span::from_secs(10),
            stall_time: Span::from_secs(60),
            idle_time: Span::from_secs(60),
        }
    }
}

impl Limits {
    /// These limits for a process that may have `descriptors` open, of which `others` are neither
    /// clients' connections nor files that are sent.
    ///
    /// `connections` is the number that was asked for. Without one, connections and files share
    /// what there is, up to what these limits allow.
    ///
    /// # Errors
    /// The connections that were asked for do not fit, or nothing does.
    pub fn fit(
        mut self,
        descriptors: u64,
        others: u64,
        connections: Option<usize>,
    ) -> Result<Self, TooFewDescriptors> {
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let files_at_least = self.open_files.min(LEAST_FILES) as u64;
        let free = descriptors.saturating_sub(RESERVED_DESCRIPTORS.saturating_add(others));
        self.connections = connections.unwrap_or_else(|| {
            let files = free.div_ceil(2).min(self.open_files as u64);
            self.connections.min(size(free - files)).max(1)
        });
        check_descriptors(descriptors, self.connections, 1, others.saturating_add(files_at_least))?;
        self.open_files = self.open_files.min(size(free - self.connections as u64));
        // Those of one connection, if that leaves half to others.
        let part = (self.open_files / CLIENT_PART).max(self.requests as usize);
        self.open_files_per_client = self.open_files_per_client.min(part).min(self.open_files / 2);
        Ok(self)
    }
}

/// Files that have to fit beside connections: our choice, what one browser asks for at a time.
const LEAST_FILES: usize = 64;
/// One client gets this part of the open files and of the send memory: our choice, so that
/// several have to agree before others notice.
const CLIENT_PART: usize = 8;

/// Send buffer of a connection without a response: room for the control streams.
pub(super) const IDLE_BUFFER: u64 = 32 * 1024;
/// Send buffer that a response gets, where it can use it, however many others there are.
const LEAST_BUFFER: u64 = 128 * 1024;
/// Largest: 850 Mbps over 600 ms.
const MOST_BUFFER: u64 = 64 * 1_000_000;
/// What a response's buffer begins with: what the first round trips of a fast start take. A smaller
/// one would leave the congestion window unused, and a window that is not used neither grows nor
/// jumps (RFC 9002 §7.8, RFC 9959).
const FIRST_BUFFER: u64 = 4 * 1024 * 1024;

/// Who is connected. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    counts: Mutex<Counts>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Counts {
    clients: Clients,
    handshakes: usize,
    sent: Shares,
    sent_to: BTreeMap<IpPrefix, Shares>,
    closed: bool,
}

/// Responses, and what they may hold.
#[derive(Debug, Default)]
struct Shares {
    responses: u64,
    /// Send buffers together, bytes.
    granted: u64,
}

impl Counts {
    /// Adds to what is granted to responses to `client`.
    fn grant(&mut self, client: &IpPrefix, more: u64) {
        self.sent.granted += more;
        self.sent_to.entry(*client).or_default().granted += more;
    }

    fn take_back(&mut self, client: &IpPrefix, bytes: u64) {
        self.sent.granted -= bytes;
        if let Some(shares) = self.sent_to.get_mut(client) {
            shares.granted -= bytes;
        }
    }
}

impl AdmissionControl {
    pub fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inner { limits, counts: Mutex::default(), metrics }))
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
        let full = counts.closed
            || counts.clients.all() >= limits.connections
            || of_client >= limits.per_client;
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
    pub fn enter(&self, address: IpAddr) -> ConnectionGuard {
        let client = client(address);
        let mut counts = self.counts();
        counts.clients.enter(client);
        counts.handshakes += 1;
        ConnectionGuard { door: self.clone(), client, shaking: true }
    }

    /// Begins a response to `address`; it counts until what is returned is dropped.
    pub fn send(&self, address: IpAddr) -> SendBufferGrant {
        let client = client(address);
        let mut counts = self.counts();
        counts.sent.responses += 1;
        counts.sent_to.entry(client).or_default().responses += 1;
        SendBufferGrant { door: self.clone(), client, granted: 0, next: 0 }
    }
}

/// A client's place inside.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    door: AdmissionControl,
    client: IpPrefix,
    shaking: bool,
}

impl ConnectionGuard {
    /// Its handshake is complete.
    pub fn shaken(&mut self) {
        if std::mem::replace(&mut self.shaking, false) {
            self.door.counts().handshakes -= 1;
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shaken();
        let mut counts = self.door.counts();
        counts.clients.leave(&self.client);
    }
}

/// A response under way, until all of it is acknowledged. Call [`SendBufferGrant::buffer`] before
/// each piece, and [`SendBufferGrant::written`] after it.
#[derive(Debug)]
pub(crate) struct SendBufferGrant {
    door: AdmissionControl,
    client: IpPrefix,
    /// What it may hold.
    granted: u64,
    /// What it may hold once the piece that is being written has gone into a buffer of that size.
    next: u64,
}

impl SendBufferGrant {
    /// Returns the send buffer from now on, bytes, for a connection that could use `window`:
    /// twice its congestion window. It is no more than the response's part, and no more than what
    /// other responses, altogether and to the same client, do not hold.
    pub fn buffer(&mut self, window: u64) -> u64 {
        let memory = self.door.limits().send_memory.get();
        let of_client = (memory / CLIENT_PART as u64).max(MOST_BUFFER).min(memory);
        let mut counts = self.door.counts();
        let room = |shares: &Shares, memory: u64| {
            let part = memory / shares.responses.max(1);
            part.min(memory.saturating_sub(shares.granted - self.granted))
        };
        let all = room(&counts.sent, memory);
        let own = counts.sent_to.get(&self.client).map_or(0, |shares| room(shares, of_client));
        let useful = window.clamp(FIRST_BUFFER, MOST_BUFFER);
        self.next = useful.min(all).min(own).max(LEAST_BUFFER.min(useful));
        let more = self.next.saturating_sub(self.granted);
        counts.grant(&self.client, more);
        self.granted += more;
        self.next
    }

    /// A piece was to be written and has been taken: no more than the last size is held now,
    /// where it was larger before.
    pub fn written(&mut self) {
        self.door.counts().take_back(&self.client, self.granted - self.next);
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

impl Drop for SendBufferGrant {
    fn drop(&mut self) {
        let mut counts = self.door.counts();
        counts.take_back(&self.client, self.granted);
        counts.sent.responses -= 1;
        let Some(shares) = counts.sent_to.get_mut(&self.client) else { return };
        shares.responses -= 1;
        if shares.responses == 0 {
            counts.sent_to.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(limits: Limits) -> AdmissionControl {
        AdmissionControl::new(limits, Arc::default())
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
        assert_eq!(
            (door.ask(ip(2), false), door.ask(ip(2), true)),
            (Admission::Retry, Admission::Admit)
        );
        let _more = [door.enter(ip(2)), door.enter(ip(3)), door.enter(ip(4))];
        assert_eq!(door.ask(ip(5), true), Admission::Refuse);
        pass.shaken();
        pass.shaken();
        assert_eq!(door.ask(ip(5), true), Admission::Admit);
    }

    #[test]
    fn send_memory_is_shared_by_those_who_send() {
        let door = door(Limits { send_memory: Bytes::new(8 * 1024 * 1024), ..Limits::default() });
        let mut first = door.send(ip(1));
        assert_eq!(first.buffer(0), FIRST_BUFFER);
        assert_eq!(first.buffer(u64::MAX), 8 * 1024 * 1024);
        let mut sending: Vec<SendBufferGrant> = (0..15).map(|_| door.send(ip(1))).collect();
        let late: Vec<u64> = sending.iter_mut().map(|sending| sending.buffer(u64::MAX)).collect();
        assert_eq!(late, [LEAST_BUFFER; 15], "the first one has all");
        assert_eq!(first.buffer(u64::MAX), 512 * 1024);
        assert_eq!(sending[0].buffer(u64::MAX), LEAST_BUFFER, "and may still hold it");
        first.written();
        assert_eq!(sending[0].buffer(u64::MAX), 512 * 1024);
        let more: Vec<SendBufferGrant> = (0..1000).map(|_| door.send(ip(1))).collect();
        assert_eq!(sending[1].buffer(u64::MAX), LEAST_BUFFER);
        drop((first, sending, more));
        let counts = door.counts();
        assert_eq!((counts.sent.granted, counts.sent_to.len()), (0, 0));
    }

    #[test]
    fn one_client_gets_64_mb_and_leaves_the_rest_to_others() {
        let door = door(Limits::default());
        assert_eq!(
            door.send(ip(1)).buffer(u64::MAX),
            MOST_BUFFER,
            "one download gets all it needs"
        );
        let mut heavy: Vec<SendBufferGrant> = (0..256).map(|_| door.send(ip(1))).collect();
        heavy.iter_mut().for_each(|sending| _ = sending.buffer(u64::MAX));
        let granted = door.counts().sent.granted;
        assert!(granted <= MOST_BUFFER, "{granted}");
        let mut other = door.send(ip(2));
        assert_eq!(other.buffer(u64::MAX), 512_000_000 / 257, "an equal part of all");
    }

    #[test]
    fn send_memory_is_kept_to_whoever_comes_and_goes() {
        let memory = 64 * 1024 * 1024;
        let door = door(Limits { send_memory: Bytes::new(memory), ..Limits::default() });
        let mut sending: Vec<SendBufferGrant> = Vec::new();
        for step in 0..2000u64 {
            match step % 5 {
                0 | 1 => sending.push(door.send(ip((step % 3) as u8))),
                4 if step % 3 == 0 => drop(sending.swap_remove(step as usize * 7 % sending.len())),
                _ => {
                    let index = step as usize * 13 % sending.len();
                    sending[index].buffer(step.pow(2) * 1000);
                    if step % 2 == 0 {
                        sending[index].written();
                    }
                }
            }
            let held: u64 = sending.iter().map(SendBufferGrant::granted).sum();
            assert_eq!(held, door.counts().sent.granted);
            let by_client: u64 = door.counts().sent_to.values().map(|shares| shares.granted).sum();
            assert_eq!(held, by_client);
            assert!(held <= memory + LEAST_BUFFER * sending.len() as u64, "{held} at step {step}");
        }
    }

    #[test]
    fn bounds_follow_the_limit_on_descriptors() {
        let bounds = |descriptors, others, connections| {
            let limits = Limits::default().fit(descriptors, others, connections)?;
            Ok((limits.connections, limits.open_files, limits.open_files_per_client))
        };
        assert_eq!(bounds(1_048_576, 0, None), Ok((4096, 4096, 512)));
        assert_eq!(bounds(1024, 0, None), Ok((448, 448, 100)));
        assert_eq!(bounds(1024, 100, Some(700)), Ok((700, 96, 48)));
        let error: TooFewDescriptors = bounds(1024, 0, Some(4096)).unwrap_err();
        assert_eq!((error.needed, error.fitting), (4096 + 128 + 64, 1024 - 128 - 64));
        assert!(bounds(100, 0, None).is_err());
        let proxy = Limits { open_files: 0, ..Limits::default() };
        assert_eq!(proxy.fit(1024, 512, None).unwrap().connections, 1024 - 128 - 512);
    }
}

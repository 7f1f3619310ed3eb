//! How much a server sends to addresses that its client has not shown to receive at (RFC 9000 §8):
//! at most three times what came from there, so that nobody can use it to flood others.
//!
//! The stack counts too, but starts a whole datagram as long as a byte is left, asks no limit for
//! challenges to earlier paths and for responses off the path, and expands each of them to 1200
//! bytes: a client that forges the source of packets of 29 bytes made it send 20 to 76 times as
//! much (noq-proto 1.4.0, `connection/mod.rs`, `path_congestion_check`, `send_prev_path_challenge`,
//! `send_off_path_path_response`). Here each datagram is counted before it leaves. PATH_CHALLENGE
//! and PATH_RESPONSE go to such an address without their padding (RFC 9000 §8.2.1, §8.2.2), which
//! the packet protection leaves out, and fit the limit so. What does not fit waits until it does.

use super::transmit::Transmit;
use crate::connection::State;
use crate::observer::{Kind, Space, split};
use crate::tls::with_handshake_peer;
use crate::tls::wrapped::WrapKeys;
use bytes::BytesMut;
use noq_proto::crypto::{CryptoError, PacketKey, Session};
use noq_proto::{PathId, TransportError};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that may be sent for each byte received (RFC 9000 §8).
const FACTOR: u64 = 3;
/// Most addresses of a connection that are known at a time, of those that are validated and of
/// those that are not. Our choice. One that is forgotten counts as one that is not validated.
const MAX_ADDRESSES: usize = 8;
/// Most challenges to an address that can still be answered.
const MAX_CHALLENGES: usize = 4;
/// Frame types (RFC 9000 §19.17, §19.18).
const PATH_CHALLENGE: u8 = 0x1a;
const PATH_RESPONSE: u8 = 0x1b;

/// The addresses of one client. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct AddressLimit(Arc<Mutex<Addresses>>);

#[derive(Debug, Default)]
struct Addresses {
    /// The latest last.
    validated: VecDeque<SocketAddr>,
    /// The latest last.
    unvalidated: VecDeque<Unvalidated>,
    /// Source of the datagram that is handled, or was handled last.
    source: Option<SocketAddr>,
    /// Whether challenges and responses are sent without padding now.
    unpadded: bool,
    /// Bytes of padding that the packet protected last left out.
    left_out: usize,
    /// Challenges in the packets protected since the last transmission.
    challenges: Vec<[u8; 8]>,
}

#[derive(Debug)]
struct Unvalidated {
    address: SocketAddr,
    /// Bytes of UDP payload from there.
    received: u64,
    /// Bytes of UDP payload to there.
    sent: u64,
    challenges: VecDeque<[u8; 8]>,
}

impl Addresses {
    fn is_validated(&self, address: SocketAddr) -> bool {
        self.validated.contains(&address)
    }

    fn unvalidated(&mut self, address: SocketAddr) -> Option<&mut Unvalidated> {
        self.unvalidated.iter_mut().find(|known| known.address == address)
    }

    fn validate(&mut self, address: SocketAddr) {
        self.unvalidated.retain(|known| known.address != address);
        if !self.is_validated(address) {
            push_bounded(&mut self.validated, address, MAX_ADDRESSES);
        }
    }

    fn allowance(&mut self, address: SocketAddr) -> u64 {
        if self.is_validated(address) {
            return u64::MAX;
        }
        self.unvalidated(address)
            .map_or(0, |known| known.received.saturating_mul(FACTOR).saturating_sub(known.sent))
    }
}

/// Adds `item`, and drops the oldest beyond `most`.
fn push_bounded<T>(items: &mut VecDeque<T>, item: T, most: usize) {
    if items.len() >= most {
        items.pop_front();
    }
    items.push_back(item);
}

impl AddressLimit {
    fn lock(&self) -> MutexGuard<'_, Addresses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a datagram of the connection that has arrived, before its packets are opened.
    pub(super) fn on_datagram(&self, source: SocketAddr, bytes: u64) {
        let mut addresses = self.lock();
        addresses.source = Some(source);
        if addresses.is_validated(source) {
            return;
        }
        if let Some(known) = addresses.unvalidated(source) {
            known.received = known.received.saturating_add(bytes);
            return;
        }
        let new =
            Unvalidated { address: source, received: bytes, sent: 0, challenges: VecDeque::new() };
        push_bounded(&mut addresses.unvalidated, new, MAX_ADDRESSES);
    }

    /// Returns `current`, the address of the client's path, if the client receives there, or the
    /// last address at which it has shown to.
    pub(super) fn validated(&self, current: Option<SocketAddr>) -> Option<SocketAddr> {
        let addresses = self.lock();
        current
            .filter(|current| addresses.is_validated(*current))
            .or_else(|| addresses.validated.back().copied())
    }

    /// Notes that the client receives at `address`.
    pub(super) fn validate(&self, address: SocketAddr) {
        self.lock().validate(address);
    }

    /// Decides, before the stack makes packets for a client now at `current`, whether challenges
    /// and responses leave without padding. Returns true if so: the stack must then make one
    /// datagram at a time.
    pub(super) fn begin_transmit(&self, current: Option<SocketAddr>) -> bool {
        let mut guard = self.lock();
        let addresses = &mut *guard;
        let mut possible = current.into_iter().chain(addresses.source);
        let unpadded = possible.any(|address| !addresses.validated.contains(&address));
        addresses.unpadded = unpadded;
        unpadded
    }

    /// Ends what [`AddressLimit::begin_transmit`] began, once the datagrams for `destination` are
    /// made. Returns the bytes at their end that are not part of them.
    pub(super) fn end_transmit(&self, destination: SocketAddr) -> usize {
        let mut addresses = self.lock();
        addresses.unpadded = false;
        let challenges = std::mem::take(&mut addresses.challenges);
        if let Some(known) = addresses.unvalidated(destination) {
            for challenge in challenges {
                push_bounded(&mut known.challenges, challenge, MAX_CHALLENGES);
            }
        }
        std::mem::take(&mut addresses.left_out)
    }

    /// Returns how many of `datagrams`, sizes in bytes, may leave for `destination`, and counts
    /// them.
    fn admit(&self, destination: SocketAddr, datagrams: impl Iterator<Item = usize>) -> usize {
        let mut addresses = self.lock();
        let mut left = addresses.allowance(destination);
        let (mut count, mut sent) = (0, 0);
        for bytes in datagrams {
            let Some(rest) = left.checked_sub(bytes as u64) else { break };
            left = rest;
            sent += bytes as u64;
            count += 1;
        }
        if let Some(known) = addresses.unvalidated(destination) {
            known.sent = known.sent.saturating_add(sent);
        }
        count
    }
}

/// Holds back what a server must not send yet.
#[derive(Debug)]
pub(super) struct SendLimit {
    limit: Option<AddressLimit>,
    /// Datagrams that exceeded the limit. One transmission at most, since the stack stops then.
    held: Option<(Transmit, Vec<u8>)>,
}

impl SendLimit {
    /// Without a `limit`, all may be sent.
    pub fn new(limit: Option<AddressLimit>) -> Self {
        Self { limit, held: None }
    }

    pub fn limit(&self) -> Option<&AddressLimit> {
        self.limit.as_ref()
    }

    /// Call before the stack makes a transmission. Returns true if it must make one datagram only.
    pub fn begin_transmit(&self, state: &mut State) -> bool {
        let Some(limit) = &self.limit else { return false };
        // Before the end of the handshake there are no challenges.
        state.connected().is_some() && limit.begin_transmit(state.remote_address())
    }

    /// Call for the transmission that the stack has appended to `buffer`. Takes off it what its
    /// last packet left out.
    pub fn end_transmit(&self, mut transmit: Transmit, buffer: &mut Vec<u8>) -> Transmit {
        let Some(limit) = &self.limit else { return transmit };
        let left_out = limit.end_transmit(transmit.destination);
        if left_out > 0 {
            buffer.truncate(buffer.len() - left_out);
            transmit.segment_size -= left_out;
        }
        transmit
    }

    /// Handles a transmission appended to `buffer` from `start` on. Takes out of the buffer what
    /// may not be sent yet.
    pub fn pass(
        &mut self,
        transmit: Transmit,
        start: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let Some(limit) = &self.limit else { return Some(transmit) };
        let datagrams = buffer[start..].chunks(transmit.segment_size.max(1));
        let admitted = limit.admit(transmit.destination, datagrams.map(<[u8]>::len));
        let end = start + admitted * transmit.segment_size;
        if end < buffer.len() {
            let rest = buffer.split_off(end);
            // What waits for another address waits for a path that is gone.
            let newer = |held: &(Transmit, _)| held.0.destination != transmit.destination;
            if self.held.as_ref().is_none_or(newer) {
                self.held = Some((transmit, rest));
            }
        }
        (admitted > 0).then_some(transmit)
    }

    /// Appends what was held back to `buffer`, as far as it may be sent now.
    pub fn release(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, datagrams) = self.held.take()?;
        let start = buffer.len();
        buffer.extend_from_slice(&datagrams);
        self.pass(transmit, start, buffer)
    }
}

impl WrapKeys for AddressLimit {
    fn read_handshake(
        &self,
        session: &mut dyn Session,
        bytes: &[u8],
    ) -> Result<bool, TransportError> {
        let source = self.lock().source.map(|source| source.ip());
        with_handshake_peer(source, || session.read_handshake(bytes))
    }

    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey> {
        match space {
            Space::Initial => key,
            Space::Handshake | Space::Data => {
                Box::new(LimitedKey { key, space, limit: self.clone() })
            }
        }
    }
}

/// A key that leaves out padding and notes what validates addresses.
struct LimitedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    limit: AddressLimit,
}

impl LimitedKey {
    /// Returns the bytes of padding that the packet in `buf` does without, and notes its
    /// challenges.
    fn leave_out(&self, buf: &[u8], header_len: usize) -> usize {
        let end = buf.len().saturating_sub(self.tag_len());
        let Some(payload) = buf.get(header_len..end) else { return 0 };
        let mut addresses = self.limit.lock();
        if !addresses.unpadded {
            return 0;
        }
        let (mut probes, mut padding) = (false, 0);
        split(payload, |kind, frame| {
            padding = if kind == Kind::Padding { frame.len() } else { 0 };
            match frame.first() {
                Some(&PATH_CHALLENGE) => addresses.challenges.extend(frame.last_chunk()),
                Some(&PATH_RESPONSE) => {}
                _ => return,
            }
            probes = true;
        });
        let left_out = if probes { padding } else { 0 };
        addresses.left_out = left_out;
        left_out
    }
}

impl PacketKey for LimitedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let left_out = match self.space {
            Space::Data => self.leave_out(buf, header_len),
            Space::Initial | Space::Handshake => 0,
        };
        // A short header has no length, and the packet is the last of its datagram.
        let end = buf.len() - left_out;
        self.key.encrypt(path_id, packet, &mut buf[..end], header_len);
    }

    fn decrypt(
        &self,
        path_id: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(path_id, packet, header, payload)?;
        let mut guard = self.limit.lock();
        let addresses = &mut *guard;
        match (self.space, addresses.source) {
            (Space::Handshake, Some(source)) => addresses.validate(source),
            (Space::Data, _) if !addresses.unvalidated.is_empty() => {
                let mut answered = Vec::new();
                split(payload, |_, frame| {
                    let answers = |known: &&Unvalidated| {
                        frame.last_chunk().is_some_and(|data| known.challenges.contains(data))
                    };
                    if frame.first() == Some(&PATH_RESPONSE) {
                        let found = addresses.unvalidated.iter().find(answers);
                        answered.extend(found.map(|known| known.address));
                    }
                });
                answered.into_iter().for_each(|address| addresses.validate(address));
            }
            _ => {}
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 443).into()
    }

    fn transmit(to: u8, segment_size: usize) -> Transmit {
        Transmit { destination: address(to), source: None, ecn: None, segment_size }
    }

    /// A key without cryptography, whose tag says how long the packet is.
    struct Plain;

    impl PacketKey for Plain {
        fn encrypt(&self, _: PathId, _: u64, buf: &mut [u8], _: usize) {
            let (length, tag) = (buf.len() as u8, buf.len() - 1);
            buf[tag] = length;
        }

        fn decrypt(
            &self,
            _: PathId,
            _: u64,
            _: &[u8],
            payload: &mut BytesMut,
        ) -> Result<(), CryptoError> {
            payload.truncate(payload.len() - 1);
            Ok(())
        }

        fn tag_len(&self) -> usize {
            1
        }

        fn confidentiality_limit(&self) -> u64 {
            u64::MAX
        }

        fn integrity_limit(&self) -> u64 {
            u64::MAX
        }
    }

    #[test]
    fn what_exceeds_the_limit_waits_for_more_bytes_from_its_address() {
        let limit = AddressLimit::default();
        let mut sender = SendLimit::new(Some(limit.clone()));
        limit.on_datagram(address(1), 1200);
        // Three datagrams of 1372 bytes: 3600 are allowed.
        let mut buffer = vec![0; 3 * 1372];
        assert!(sender.pass(transmit(1, 1372), 0, &mut buffer).is_some());
        assert_eq!(buffer.len(), 2 * 1372);
        let mut buffer = Vec::new();
        assert_eq!(sender.release(&mut buffer), None);
        limit.on_datagram(address(1), 100);
        assert_eq!(sender.release(&mut buffer), None, "1156 bytes are left");
        limit.on_datagram(address(1), 100);
        assert!(sender.release(&mut buffer).is_some());
        assert_eq!(buffer.len(), 1372);
        assert_eq!(sender.release(&mut buffer), None, "it is sent once");
    }

    #[test]
    fn a_validated_address_has_no_limit_and_an_unknown_one_gets_nothing() {
        let limit = AddressLimit::default();
        let mut sender = SendLimit::new(Some(limit.clone()));
        limit.on_datagram(address(1), 10);
        limit.validate(address(1));
        let mut buffer = vec![0; 100_000];
        assert!(sender.pass(transmit(1, 1200), 0, &mut buffer).is_some());
        assert_eq!(buffer.len(), 100_000);
        assert_eq!(sender.pass(transmit(2, 1200), 0, &mut vec![0; 30]), None);
        // Other addresses may crowd it out. Then it is as any other.
        (3..20).for_each(|last| limit.on_datagram(address(last), 10));
        (3..20).for_each(|last| limit.validate(address(last)));
        assert_eq!(sender.pass(transmit(1, 1200), 0, &mut vec![0; 30]), None);
    }

    #[test]
    fn addresses_that_are_crowded_out_get_no_more_than_three_times_their_bytes() {
        let limit = AddressLimit::default();
        let mut sender = SendLimit::new(Some(limit.clone()));
        let mut totals = [(0, 0); 32];
        for step in 0..1000 {
            let at = step * 7 % 32;
            limit.on_datagram(address(at as u8), 30);
            totals[at].0 += 30;
            let mut buffer = vec![0; 40 + step % 100];
            let size = buffer.len();
            if sender.pass(transmit(at as u8, size), 0, &mut buffer).is_some() {
                totals[at].1 += size;
            }
        }
        assert!(totals.iter().all(|(received, sent)| *sent <= 3 * received), "{totals:?}");
    }

    /// Protects a packet with `frames` and as much padding as 1200 bytes take. Returns the bytes
    /// that are left out of it.
    fn protect(limit: &AddressLimit, frames: &[u8], to: u8) -> usize {
        let key = limit.packet(Box::new(Plain), Space::Data);
        let mut packet = vec![0; 1200];
        packet[10..10 + frames.len()].copy_from_slice(frames);
        key.encrypt(PathId::ZERO, 0, &mut packet, 10);
        let left_out = limit.end_transmit(address(to));
        assert_eq!(packet[1200 - left_out - 1], (1200 - left_out) as u8, "the tag ends it");
        left_out
    }

    #[test]
    fn challenges_and_responses_leave_without_padding_until_the_address_is_validated() {
        let limit = AddressLimit::default();
        limit.on_datagram(address(1), 1200);
        limit.validate(address(1));
        assert!(!limit.begin_transmit(Some(address(1))));
        assert_eq!(protect(&limit, &[PATH_CHALLENGE, 1, 1, 1, 1, 1, 1, 1, 0], 1), 0);
        limit.on_datagram(address(2), 29);
        assert!(limit.begin_transmit(Some(address(2))));
        // Header, frame and tag. The last byte of the challenge looks like padding.
        let challenge = [PATH_CHALLENGE, 2, 2, 2, 2, 2, 2, 2, 0];
        assert_eq!(protect(&limit, &challenge, 2), 1200 - 10 - 9 - 1);
        limit.begin_transmit(Some(address(1)));
        let response = [PATH_RESPONSE, 3, 3, 3, 3, 3, 3, 3, 3];
        assert_eq!(protect(&limit, &response, 2), 1200 - 10 - 9 - 1);
        limit.begin_transmit(Some(address(2)));
        assert_eq!(protect(&limit, &[0x01], 2), 0, "a PING keeps its padding");
        // Its answer comes from anywhere (RFC 9000 §8.2.3).
        let key = limit.packet(Box::new(Plain), Space::Data);
        let mut answer = BytesMut::from(&challenge[..]);
        answer[0] = PATH_RESPONSE;
        answer.extend_from_slice(&[0]);
        key.decrypt(PathId::ZERO, 0, &[], &mut answer).unwrap();
        assert!(!limit.begin_transmit(Some(address(2))));
    }

    #[test]
    fn a_handshake_packet_validates_its_source() {
        let limit = AddressLimit::default();
        limit.on_datagram(address(1), 1200);
        let key = limit.packet(Box::new(Plain), Space::Handshake);
        key.decrypt(PathId::ZERO, 0, &[], &mut BytesMut::from(&[6, 0][..])).unwrap();
        assert!(!limit.begin_transmit(Some(address(1))));
    }
}

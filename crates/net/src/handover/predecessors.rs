//! The processes before this one that still have connections, and the datagrams passed on to them.

use crate::forward_counts::ForwardCounts;
use crate::socket::ReceivedDatagram;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sendmsg};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use tokio::time::sleep;

/// What a process says among the datagrams that it passes on: it stops because it was told to.
pub(super) const STOPPING: &[u8] = b"stops";
/// Pause before [`STOPPING`] is said again to a process whose queue is full, and how often it is
/// said. Our choice: a process that runs reads its queue in less than a millisecond.
const SAY_AGAIN: (Duration, usize) = (Duration::from_millis(5), 200);

/// Bytes before a datagram that is passed on: flags, scope and port of its source, its source
/// address and its destination address.
const HEADER: usize = 1 + 4 + 2 + 16 + 16;
/// Flags: the ECN code point.
const ECN: u8 = 0x03;
/// The destination address is known.
const HAS_LOCAL: u8 = 0x04;
/// The source address is one of IPv4, and not one of IPv6 that stands for it.
const REMOTE_IS_IPV4: u8 = 0x08;
/// So is the destination address.
const LOCAL_IS_IPV4: u8 = 0x10;

/// The processes before this one that still have connections, by their generation.
#[derive(Debug, Default)]
pub(crate) struct Predecessors {
    sockets: RwLock<BTreeMap<u8, OwnedFd>>,
    /// Their number: most servers have none, and do not take the lock.
    count: AtomicUsize,
}

impl Predecessors {
    /// Passes datagrams on through `sockets`.
    pub fn new(sockets: BTreeMap<u8, OwnedFd>) -> Self {
        Self { count: AtomicUsize::new(sockets.len()), sockets: RwLock::new(sockets) }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Returns the ways to them.
    pub fn sockets(&self) -> io::Result<BTreeMap<u8, OwnedFd>> {
        let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
        let copy = |(generation, socket): (&u8, &OwnedFd)| Ok((*generation, socket.try_clone()?));
        sockets.iter().map(copy).collect()
    }

    /// Says that this process stops because it was told to, so that nobody replaces it. Waits for
    /// those whose queue is full, for a second in all.
    pub async fn say_stopping(&self) {
        let mut untold: Vec<u8> = {
            let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
            sockets.keys().copied().collect()
        };
        let (pause, attempts) = SAY_AGAIN;
        for _ in 0..attempts {
            untold.retain(|generation| !self.tell(*generation));
            if untold.is_empty() {
                return;
            }
            sleep(pause).await;
        }
    }

    /// Says that this process stops. Returns false if the queue of the other one is full.
    fn tell(&self, generation: u8) -> bool {
        let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let said = sockets.get(&generation).map(|socket| send(socket, STOPPING, flags));
        // One that has ended does not need to know.
        said != Some(Err(Errno::AGAIN))
    }

    /// Passes a datagram on. Returns false if that process has ended, or is none of these.
    pub fn forward(
        &self,
        generation: u8,
        datagram: &ReceivedDatagram,
        counts: &ForwardCounts,
    ) -> bool {
        let sent = {
            let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
            let Some(socket) = sockets.get(&generation) else { return false };
            let header = header(datagram);
            let parts = [IoSlice::new(&header), IoSlice::new(&datagram.data)];
            sendmsg(
                socket,
                &parts,
                &mut Default::default(),
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            )
        };
        match sent {
            Ok(_) => counts.forwarded.fetch_add(1, Relaxed),
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                self.remove(generation);
                return false;
            }
            // It does not keep up.
            Err(_) => counts.lost.fetch_add(1, Relaxed),
        };
        true
    }

    fn remove(&self, generation: u8) {
        let mut sockets = self.sockets.write().unwrap_or_else(PoisonError::into_inner);
        sockets.remove(&generation);
        self.count.store(sockets.len(), Relaxed);
    }
}

fn header(datagram: &ReceivedDatagram) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let (flags, rest) = header.split_at_mut(1);
    let (scope, rest) = rest.split_at_mut(4);
    let (port, rest) = rest.split_at_mut(2);
    let (remote, local) = rest.split_at_mut(16);
    flags[0] = datagram.ecn.map_or(0, |ecn| ecn as u8);
    if let SocketAddr::V6(remote) = datagram.remote {
        scope.copy_from_slice(&remote.scope_id().to_be_bytes());
    }
    port.copy_from_slice(&datagram.remote.port().to_be_bytes());
    remote.copy_from_slice(&octets(datagram.remote.ip()));
    if datagram.remote.is_ipv4() {
        flags[0] |= REMOTE_IS_IPV4;
    }
    if let Some(address) = datagram.local {
        flags[0] |= HAS_LOCAL;
        if address.is_ipv4() {
            flags[0] |= LOCAL_IS_IPV4;
        }
        local.copy_from_slice(&octets(address));
    }
    header
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Returns a datagram that was passed on. `None` if it is none.
pub(super) fn passed_on(message: &[u8]) -> Option<ReceivedDatagram> {
    let (header, data) = message.split_first_chunk::<HEADER>()?;
    let [flags, s0, s1, s2, s3, p0, p1, addresses @ ..] = header;
    let (remote, local) = addresses.split_first_chunk::<16>()?;
    let local: &[u8; 16] = local.first_chunk()?;
    let address = |octets: &[u8; 16], is_ipv4: u8| {
        let address = Ipv6Addr::from(*octets);
        let ipv4 = address.to_ipv4_mapped().filter(|_| flags & is_ipv4 != 0);
        ipv4.map_or(IpAddr::V6(address), IpAddr::V4)
    };
    let port = u16::from_be_bytes([*p0, *p1]);
    let remote = match address(remote, REMOTE_IS_IPV4) {
        IpAddr::V4(address) => SocketAddr::from((address, port)),
        IpAddr::V6(address) => {
            let scope = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            SocketAddrV6::new(address, port, 0, scope).into()
        }
    };
    Some(ReceivedDatagram {
        remote,
        local: (flags & HAS_LOCAL != 0).then(|| address(local, LOCAL_IS_IPV4)),
        ecn: EcnCodepoint::from_bits(flags & ECN),
        data: BytesMut::from(data),
    })
}

#[cfg(test)]
mod tests {
    use super::super::message::datagram_pair;
    use super::*;
    use rustix::net::{RecvFlags, recv};

    fn datagram(remote: &str, local: Option<&str>, ecn: Option<EcnCodepoint>) -> ReceivedDatagram {
        ReceivedDatagram {
            remote: remote.parse().unwrap(),
            local: local.map(|local| local.parse().unwrap()),
            ecn,
            data: BytesMut::from(&b"data"[..]),
        }
    }

    #[test]
    fn a_datagram_is_passed_on_as_it_came() {
        let (sending, receiving) = datagram_pair().unwrap();
        let predecessors = Predecessors::new(BTreeMap::from([(5, sending)]));
        let counts = ForwardCounts::default();
        for sent in [
            datagram("192.0.2.1:443", Some("198.51.100.7"), Some(EcnCodepoint::Ce)),
            datagram("[::ffff:192.0.2.1]:443", Some("::ffff:198.51.100.7"), None),
            datagram("[fe80::1%3]:9", None, Some(EcnCodepoint::Ect0)),
            datagram("[::ffff:192.0.2.1]:1", Some("198.51.100.7"), Some(EcnCodepoint::Ect1)),
        ] {
            assert!(predecessors.forward(5, &sent, &counts));
            let mut message = [0; 2000];
            let (length, _) = recv(&receiving, &mut message[..], RecvFlags::empty()).unwrap();
            let received = passed_on(&message[..length]).unwrap();
            assert_eq!((received.remote, received.local), (sent.remote, sent.local));
            assert_eq!((received.ecn, received.data), (sent.ecn, sent.data));
        }
        assert!(passed_on(&[0; HEADER - 1]).is_none());
    }

    #[test]
    fn a_process_that_has_ended_gets_nothing_more() {
        let (sending, receiving) = datagram_pair().unwrap();
        let predecessors = Predecessors::new(BTreeMap::from([(5, sending)]));
        let (counts, sent) = (ForwardCounts::default(), datagram("192.0.2.1:443", None, None));
        assert!(!predecessors.forward(4, &sent, &counts) && !predecessors.is_empty());
        drop(receiving);
        assert!(!predecessors.forward(5, &sent, &counts) && predecessors.is_empty());
        assert_eq!(counts.forwarded.load(Relaxed), 0);
    }

    #[test]
    fn a_process_that_does_not_keep_up_loses_datagrams_and_nobody_waits() {
        let (sending, receiving) = datagram_pair().unwrap();
        let predecessors = Predecessors::new(BTreeMap::from([(5, sending)]));
        let (counts, sent) = (ForwardCounts::default(), datagram("192.0.2.1:443", None, None));
        while counts.lost.load(Relaxed) == 0 {
            assert!(predecessors.forward(5, &sent, &counts));
        }
        assert!(counts.forwarded.load(Relaxed) > 20, "{counts:?}");
        drop(receiving);
    }

    #[tokio::test]
    async fn a_process_that_does_not_keep_up_is_told_of_the_stop_all_the_same() {
        let (sending, receiving) = datagram_pair().unwrap();
        let predecessors = Predecessors::new(BTreeMap::from([(5, sending)]));
        let (counts, sent) = (ForwardCounts::default(), datagram("192.0.2.1:443", None, None));
        while counts.lost.load(Relaxed) == 0 {
            assert!(predecessors.forward(5, &sent, &counts));
        }
        let read = async {
            // The first attempt has failed by then.
            sleep(SAY_AGAIN.0).await;
            let mut message = [0; 2000];
            for _ in 0..counts.forwarded.load(Relaxed) {
                let (length, _) = recv(&receiving, &mut message[..], RecvFlags::DONTWAIT).unwrap();
                assert!(passed_on(&message[..length]).is_some());
            }
        };
        tokio::join!(predecessors.say_stopping(), read);
        let mut message = [0; 2000];
        let (length, _) = recv(&receiving, &mut message[..], RecvFlags::DONTWAIT).unwrap();
        assert_eq!(&message[..length], STOPPING);
        drop(receiving);
        // One that has ended is not waited for.
        predecessors.say_stopping().await;
    }
}

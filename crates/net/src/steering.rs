//! Steering: which of a server's threads receives a datagram. A connection stays with one thread,
//! whatever address its client sends from, because a keyed hash of the connection ID decides.
//!
//! The kernel computes the hash by a classic BPF program on a group of sockets (SO_REUSEPORT and
//! SO_ATTACH_REUSEPORT_CBPF, socket(7)), for which no privilege is required. It looks at the first
//! of the datagrams that receive offload (GRO) has merged, and is missing in some sandboxes, so
//! each thread checks the hash again and forwards what is not its own.
//!
//! The same hash says which process a connection belongs to, where one hands its sockets over to
//! the next: see [`handover`](crate::handover).

use crate::forward_counts::ForwardCounts;
use crate::handover::Predecessors;
use crate::routable_ids::{self, RoutableIds};
use crate::socket::{BoundSocket, ReceivedDatagram};
use bentpipe_quic::noq_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use nix::libc::{self, sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;

/// Length of the server's connection IDs, bytes, unless a balancer has to route them: the least
/// that clients choose for their first packet (RFC 9000 §7.2), so that one rule covers both.
const CID_LENGTH: usize = 8;
/// Offset of the connection ID in a packet with a short header (RFC 9000 §17.3).
const SHORT_OFFSET: u32 = 1;
/// Offset of the destination connection ID in a packet with a long header (RFC 9000 §17.2).
const LONG_OFFSET: u32 = 6;
/// Bit of the first byte that distinguishes the two (RFC 8999 §5).
const LONG_HEADER: u8 = 0x80;
/// Processes of one address that may live at a time. Our choice: one that serves, and those before
/// it that finish.
pub(crate) const GENERATIONS: u8 = 16;
/// QUIC versions 1 and 2 (RFC 9000 §15, RFC 9369 §3.1).
const VERSIONS: [[u8; 4]; 2] = [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]];
/// Datagrams that may wait for a thread they are forwarded to. Further ones are lost. Our choice:
/// 1.5 MB.
const FORWARD_QUEUE: usize = 1024;

/// Maps connection IDs to threads, by a hash with a secret key: nobody outside can choose the
/// thread of a connection, or see which connection IDs belong to the same one (RFC 9000 §5.1).
#[derive(Debug)]
pub(crate) struct Steering {
    threads: u32,
    /// Whose connection IDs this process makes.
    generation: u8,
    keys: [u32; 5],
}

impl Steering {
    /// Steers to `threads` threads, at least one, with a new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(threads: u32) -> io::Result<Arc<Self>> {
        let mut drawn = [0; 20];
        SystemRandom::new().fill(&mut drawn).map_err(|_| no_randomness())?;
        let mut keys = [0; 5];
        for (key, bytes) in keys.iter_mut().zip(drawn.as_chunks().0) {
            *key = u32::from_le_bytes(*bytes);
        }
        Ok(Arc::new(Self::of_generation(threads, 0, keys)))
    }

    /// Steers as another process does that has these keys, for connections of `generation`.
    pub fn of_generation(threads: u32, generation: u8, mut keys: [u32; 5]) -> Self {
        // Odd factors, with which a multiplication loses nothing.
        for factor in &mut keys[2..] {
            *factor |= 1;
        }
        Self { threads: threads.max(1), generation: generation % GENERATIONS, keys }
    }

    /// Returns what another process needs to steer as this one: secrets.
    pub const fn keys(&self) -> [u32; 5] {
        self.keys
    }

    /// Returns whose connection IDs this process makes.
    pub const fn generation(&self) -> u8 {
        self.generation
    }

    /// Returns the thread and the generation of the connection ID with these eight bytes. Both are
    /// random for one that a client has drawn.
    fn place_of(&self, cid: [u8; CID_LENGTH]) -> (usize, u8) {
        let hash = self.hash_of(cid);
        let generation = hash / self.threads % u32::from(GENERATIONS);
        ((hash % self.threads) as usize, generation as u8)
    }

    /// Returns the thread of the connection ID with these eight bytes.
    fn thread_of(&self, cid: [u8; CID_LENGTH]) -> usize {
        self.place_of(cid).0
    }

    /// Returns the hash of eight bytes: multiplications and shifts, as in the finalizer of
    /// MurmurHash3, with factors that are secret.
    fn hash_of(&self, cid: [u8; CID_LENGTH]) -> u32 {
        let [a, b, c, d, e, f, g, h] = cid;
        let (first, second) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        let [first_key, second_key, factors @ ..] = self.keys;
        let mut hash = (first ^ first_key).wrapping_mul(factors[0]);
        hash ^= hash >> 16;
        hash = (hash ^ second ^ second_key).wrapping_mul(factors[1]);
        hash ^= hash >> 15;
        hash = hash.wrapping_mul(factors[2]);
        hash ^ (hash >> 16)
    }

    /// Returns the thread of a datagram. `None` if it is too short to have a connection ID.
    pub fn thread(&self, datagram: &[u8]) -> Option<usize> {
        cid(datagram).map(|cid| self.thread_of(cid))
    }

    /// Returns which process has to see a datagram besides or instead of this one.
    fn owner(&self, datagram: &[u8]) -> Owner {
        let Some(cid) = cid(datagram) else { return Owner::Own };
        let (_, generation) = self.place_of(cid);
        if generation == self.generation {
            Owner::Own
        } else if datagram[0] & LONG_HEADER == 0 {
            Owner::Other(generation)
        } else if datagram.get(1..5).is_some_and(|version| VERSIONS.iter().any(|v| v == version)) {
            Owner::Both(generation)
        } else {
            Owner::Own
        }
    }

    /// Returns the same function as a program for the kernel, which passes it the UDP payload.
    fn program(&self) -> Vec<sock_filter> {
        let op = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let alu = |operation: u32, k: u32| op(libc::BPF_ALU | operation | libc::BPF_K, k);
        let xor_x = op(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0);
        let to_x = op(libc::BPF_MISC | libc::BPF_TAX, 0);
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_IND;
        let [first_key, second_key, factors @ ..] = self.keys;
        let jump = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
        vec![
            // The offset of the connection ID, in X.
            op(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0),
            sock_filter { code: jump as u16, jt: 0, jf: 2, k: LONG_HEADER.into() },
            op(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, LONG_OFFSET),
            op(libc::BPF_JMP | libc::BPF_JA, 1),
            op(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, SHORT_OFFSET),
            // The hash. A load beyond the end of the datagram returns 0, the first thread.
            op(load, 4),
            op(libc::BPF_ST, 0),
            op(load, 0),
            alu(libc::BPF_XOR, first_key),
            alu(libc::BPF_MUL, factors[0]),
            to_x,
            alu(libc::BPF_RSH, 16),
            xor_x,
            op(libc::BPF_LDX | libc::BPF_W | libc::BPF_MEM, 0),
            xor_x,
            alu(libc::BPF_XOR, second_key),
            alu(libc::BPF_MUL, factors[1]),
            to_x,
            alu(libc::BPF_RSH, 15),
            xor_x,
            alu(libc::BPF_MUL, factors[2]),
            to_x,
            alu(libc::BPF_RSH, 16),
            xor_x,
            alu(libc::BPF_MOD, self.threads),
            op(libc::BPF_RET | libc::BPF_A, 0),
        ]
    }

    /// Binds one socket for each thread to `address`. Port 0 selects a free port. The flag is
    /// false if the kernel does not steer.
    ///
    /// # Errors
    /// The address is in use or not local, or the system has no more sockets.
    pub fn bind(&self, address: SocketAddr) -> io::Result<(Vec<BoundSocket>, bool)> {
        // The first socket does not share its address, so that it is an error if another program
        // has it.
        let first = BoundSocket::bind(address)?;
        if self.threads == 1 {
            return Ok((vec![first], true));
        }
        first.share_address()?;
        let address = first.local_addr()?;
        let mut sockets = vec![first];
        for _ in 1..self.threads {
            sockets.push(BoundSocket::bind_shared(address)?);
        }
        let mut program = self.program();
        let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // The program is one of the group, whichever socket it is attached to.
        let steered = setsockopt(&sockets[0], sockopt::AttachReusePortCbpf, &program).is_ok();
        Ok((sockets, steered))
    }

    /// Returns a generator of connection IDs of `thread`.
    pub fn generator(self: &Arc<Self>, thread: usize) -> SteeredIds {
        let (steering, random) = (self.clone(), SystemRandom::new());
        SteeredIds { steering, thread, random, routable: None }
    }

    /// Returns the exchange of datagrams between the threads, one part for each, and with the
    /// processes before this one.
    pub fn forwarding(
        self: &Arc<Self>,
        predecessors: &Arc<Predecessors>,
        counts: &Arc<ForwardCounts>,
    ) -> Vec<Forwarding> {
        let queues = (0..self.threads).map(|_| mpsc::channel(FORWARD_QUEUE));
        let (senders, inboxes): (Vec<_>, Vec<_>) = queues.unzip();
        let part = |(own, inbox)| Forwarding {
            steering: self.clone(),
            own,
            senders: senders.clone(),
            inbox,
            predecessors: predecessors.clone(),
            counts: counts.clone(),
        };
        inboxes.into_iter().enumerate().map(part).collect()
    }
}

/// Which process a datagram is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// This one, or none.
    Own,
    /// That one.
    Other(u8),
    /// This one or that one. A client draws the connection ID of its first packets itself (RFC 9000
    /// §7.2), so it says nothing; only the process with the connection can decrypt the others, and
    /// one that hands over takes no new connection.
    Both(u8),
}

/// Returns the first eight bytes of the connection ID that a datagram is sent to.
fn cid(datagram: &[u8]) -> Option<[u8; CID_LENGTH]> {
    let long = datagram.first()? & LONG_HEADER != 0;
    let offset = if long { LONG_OFFSET } else { SHORT_OFFSET };
    datagram.get(offset as usize..)?.first_chunk().copied()
}

fn no_randomness() -> io::Error {
    io::Error::other("the system has no random numbers")
}

/// Generates connection IDs of one thread.
#[derive(Debug, Clone)]
pub(crate) struct SteeredIds {
    steering: Arc<Steering>,
    thread: usize,
    random: SystemRandom,
    /// Makes IDs that a balancer can route, if there is one.
    routable: Option<Arc<RoutableIds>>,
}

impl SteeredIds {
    /// Lets a balancer route the IDs, if `routable` says how.
    pub fn routable(self, routable: Option<Arc<RoutableIds>>) -> Self {
        Self { routable, ..self }
    }

    fn is_own(&self, cid: [u8; CID_LENGTH]) -> bool {
        self.steering.place_of(cid) == (self.thread, self.steering.generation)
    }

    /// Returns an ID that a balancer can route. Its first bytes are steered as those of any other.
    fn routable_cid(&self, ids: &RoutableIds) -> ConnectionId {
        let mut drawn = [0; 16];
        let _ = self.random.fill(&mut drawn);
        let mut number = u128::from_be_bytes(drawn);
        loop {
            let cid = ids.id(number.to_be_bytes());
            if cid.first_chunk().is_some_and(|cid| self.is_own(*cid)) {
                return ConnectionId::new(&cid);
            }
            number = number.wrapping_add(1);
        }
    }
}

impl ConnectionIdGenerator for SteeredIds {
    fn generate_cid(&mut self) -> ConnectionId {
        if let Some(ids) = &self.routable {
            return self.routable_cid(ids);
        }
        let mut drawn = [0; CID_LENGTH];
        // Without random numbers TLS fails as well: no connection is made with this ID.
        let _ = self.random.fill(&mut drawn);
        let mut number = u64::from_be_bytes(drawn);
        while !self.is_own(number.to_be_bytes()) {
            number = number.wrapping_add(1);
        }
        ConnectionId::new(&number.to_be_bytes())
    }

    /// One of another generation is valid: it may be of a process that has ended, whose connections
    /// this one ends (stateless reset, RFC 9000 §10.3).
    fn validate(&self, cid: ConnectionId) -> Result<(), InvalidCid> {
        let own = cid.first_chunk().map(|cid| self.steering.thread_of(*cid)) == Some(self.thread);
        if own { Ok(()) } else { Err(InvalidCid) }
    }

    fn cid_len(&self) -> usize {
        if self.routable.is_some() { routable_ids::LENGTH } else { CID_LENGTH }
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// One thread's part in the exchange of datagrams that another thread has received, or that are for
/// another process.
#[derive(Debug)]
pub(crate) struct Forwarding {
    steering: Arc<Steering>,
    own: usize,
    senders: Vec<mpsc::Sender<ReceivedDatagram>>,
    pub inbox: mpsc::Receiver<ReceivedDatagram>,
    predecessors: Arc<Predecessors>,
    counts: Arc<ForwardCounts>,
}

impl Forwarding {
    /// Returns the ways to the inboxes of all threads.
    pub fn senders(&self) -> Vec<mpsc::Sender<ReceivedDatagram>> {
        self.senders.clone()
    }

    /// Returns the datagram if it is for this thread, and forwards it otherwise.
    pub fn own(&self, datagram: ReceivedDatagram) -> Option<ReceivedDatagram> {
        if !self.predecessors.is_empty() {
            match self.steering.owner(&datagram.data) {
                Owner::Own => {}
                Owner::Both(generation) => {
                    self.predecessors.forward(generation, &datagram, &self.counts);
                }
                Owner::Other(generation) => {
                    if self.predecessors.forward(generation, &datagram, &self.counts) {
                        return None;
                    }
                }
            }
        }
        let thread = self.steering.thread(&datagram.data).filter(|thread| *thread != self.own);
        let Some(sender) = thread.and_then(|thread| self.senders.get(thread)) else {
            return Some(datagram);
        };
        let counter = match sender.try_send(datagram) {
            Ok(()) => &self.counts.forwarded,
            Err(_) => &self.counts.lost,
        };
        counter.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use nix::sys::socket::{MsgFlags, recv};
    use std::net::UdpSocket;
    use std::os::fd::{AsFd, AsRawFd};

    fn steering(threads: u32) -> Arc<Steering> {
        of_generation(threads, 0)
    }

    fn of_generation(threads: u32, generation: u8) -> Arc<Steering> {
        let keys = [0x9e37_79b9, 7, 0x85eb_ca6a, 0xc2b2_ae34, 5];
        Arc::new(Steering::of_generation(threads, generation, keys))
    }

    /// Datagrams with both forms of header, and some that are too short.
    fn datagrams() -> impl Iterator<Item = Vec<u8>> {
        (0..512u64).map(|number| {
            let mut cid = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec();
            let mut datagram =
                if number % 2 == 0 { vec![0xc3, 0, 0, 0, 1, CID_LENGTH as u8] } else { vec![0x43] };
            datagram.append(&mut cid);
            datagram.extend([0; 30]);
            if number % 32 == 31 {
                datagram.truncate((number / 32) as usize % 12);
            }
            datagram
        })
    }

    #[test]
    fn the_kernel_and_the_threads_agree() {
        let steering = steering(5);
        let (sockets, steered) = steering.bind(([127, 0, 0, 1], 0).into()).unwrap();
        assert!(steered, "this kernel does not steer");
        let address = sockets[0].local_addr().unwrap();
        // The address that packets come from makes no difference.
        let clients: Vec<UdpSocket> =
            (0..7).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let mut received = vec![0; sockets.len()];
        for (number, datagram) in datagrams().enumerate() {
            clients[number % clients.len()].send_to(&datagram, address).unwrap();
            let expected = steering.thread(&datagram).unwrap_or(0);
            let mut buffer = [0; 100];
            let length =
                recv(sockets[expected].as_fd().as_raw_fd(), &mut buffer, MsgFlags::empty())
                    .unwrap_or_else(|error| {
                        panic!("{datagram:02x?} is not at socket {expected}: {error}")
                    });
            assert_eq!(buffer[..length], datagram);
            received[expected] += 1;
        }
        assert!(received.iter().all(|count| (60..160).contains(count)), "{received:?}");
    }

    #[test]
    fn an_address_of_another_program_is_not_shared() {
        let (sockets, _) = steering(2).bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = sockets[0].local_addr().unwrap();
        let error = steering(2).bind(address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn connection_ids_belong_to_their_thread_and_differ() {
        for threads in [1, 2, 7, 64] {
            let steering = steering(threads);
            let mut drawn = std::collections::BTreeSet::new();
            for thread in 0..threads as usize {
                let mut generator = steering.generator(thread);
                for _ in 0..50 {
                    let cid = generator.generate_cid();
                    assert_eq!(cid.len(), generator.cid_len());
                    assert!(generator.validate(cid).is_ok());
                    let short = [&[0x40][..], &cid, &[0; 20]].concat();
                    assert_eq!(steering.thread(&short), Some(thread));
                    drawn.insert(cid.to_vec());
                }
            }
            assert_eq!(drawn.len(), threads as usize * 50);
        }
        let (one, other) = (steering(2).generator(0), steering(2).generator(1));
        let cid = one.clone().generate_cid();
        assert!(one.validate(cid).is_ok() && other.validate(cid).is_err());
    }

    #[test]
    fn connection_ids_say_which_process_they_belong_to() {
        for threads in [1, 3] {
            let [old, new] = [2, 3].map(|generation| of_generation(threads, generation));
            let mut cid = old.generator(0).generate_cid().to_vec();
            let short = [&[0x40][..], &cid, &[0; 20]].concat();
            assert_eq!((old.owner(&short), new.owner(&short)), (Owner::Own, Owner::Other(2)));
            assert!(new.generator(0).validate(ConnectionId::new(&cid)).is_ok());
            let mut long = vec![0xc3, 0, 0, 0, 1, CID_LENGTH as u8];
            long.append(&mut cid);
            assert_eq!(new.owner(&long), Owner::Both(2));
            long[4] = 9;
            assert_eq!(new.owner(&long), Owner::Own, "a version that has to be negotiated");
            assert_eq!(new.owner(&short[..8]), Owner::Own);
        }
    }

    #[test]
    fn nobody_without_the_key_knows_the_thread() {
        // Connection IDs that one key sends to one thread are spread evenly by another key.
        let mut generator = Steering::new(4).unwrap().generator(2);
        let other = Steering::new(4).unwrap();
        let mut counts = [0; 4];
        for _ in 0..4000 {
            counts[other.thread_of(*generator.generate_cid().first_chunk().unwrap())] += 1;
        }
        // 1000 each, with a standard deviation of 27.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn datagrams_of_others_are_forwarded_until_the_queue_is_full() {
        let steering = steering(2);
        let counts = Arc::<ForwardCounts>::default();
        let nobody = Arc::<Predecessors>::default();
        let parts = steering.forwarding(&nobody, &counts);
        let [own, mut other]: [Forwarding; 2] = parts.try_into().unwrap();
        let datagram = |cid: &[u8]| ReceivedDatagram {
            remote: ([192, 0, 2, 1], 443).into(),
            local: None,
            ecn: None,
            data: BytesMut::from(&[&[0x40], cid].concat()[..]),
        };
        let [mine, theirs] = [0, 1].map(|thread| steering.generator(thread).generate_cid());
        assert!(own.own(datagram(&mine)).is_some());
        assert!(own.own(datagram(&[1, 2])).is_some(), "no connection ID");
        for _ in 0..FORWARD_QUEUE + 3 {
            assert!(own.own(datagram(&theirs)).is_none());
        }
        assert_eq!(other.inbox.try_recv().unwrap().data[1..9], theirs[..]);
        let counted = [&counts.forwarded, &counts.lost].map(|count| count.load(Relaxed));
        assert_eq!(counted, [FORWARD_QUEUE as u64, 3]);
    }

    #[test]
    fn ids_for_a_balancer_are_steered_as_others_are() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        std::fs::write(&key, "8f95f09245765f80256934e50c66207f").unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&key, private).unwrap();
        let ids = Arc::new(RoutableIds::from_file("ed793a51", &key, 0).unwrap());
        for generation in [0, 9] {
            let steering = of_generation(3, generation);
            for thread in 0..3 {
                let mut generator = steering.generator(thread).routable(Some(ids.clone()));
                let cids = [(); 20].map(|()| generator.generate_cid());
                for cid in &cids {
                    assert_eq!(cid.len(), generator.cid_len());
                    let steered = steering.place_of(*cid.first_chunk().unwrap());
                    assert_eq!(steered, (thread, generation));
                    assert_eq!(ids.server_of(cid), Some(vec![0xed, 0x79, 0x3a, 0x51]));
                    assert!(generator.validate(*cid).is_ok());
                }
                let different: std::collections::HashSet<_> = cids.iter().collect();
                assert_eq!(different.len(), cids.len());
            }
        }
    }
}

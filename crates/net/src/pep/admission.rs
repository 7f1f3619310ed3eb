//! How much the proxy takes on: places for connections, and memory for what they hold.

use super::limits::Limits;
use crate::clients::{Clients, client};
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::Bytes;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of the free memory that a new connection may have, once every place still free has its
/// least: so that the first ones do not take all. Our choice.
const PART: u64 = 16;
/// The least and the most that a connection holds itself in each direction, between the two
/// sockets, bytes: our choice, a few segments and 10 ms at 50 Mbps.
const PIECE: (u64, u64) = (16 * 1024, 64 * 1024);
/// The least buffer of a socket: with less, small segments fill it with what they cost the kernel
/// besides. Our choice.
const LEAST: u64 = 32 * 1024;

/// Buffers of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buffers {
    /// Of a socket on the satellite side, each way.
    pub satellite: Bytes,
    /// Of a socket on the other side, each way.
    pub other: Bytes,
    /// Between the two, each way.
    pub piece: Bytes,
}

impl Buffers {
    /// Those that take `memory` at most; `wanted` at most for a socket on the satellite side, and
    /// for others. The kernel takes up to twice of what it is asked for (socket(7)).
    fn within(memory: u64, wanted: (u64, u64)) -> Option<Self> {
        let least = Self::of(LEAST, LEAST);
        if least.cost() > memory {
            return None;
        }
        let most = Self::of(wanted.0.max(LEAST), wanted.1.max(LEAST));
        if most.cost() <= memory {
            return Some(most);
        }
        // In proportion; what rounding and the pieces' bounds make of it is still no more than
        // allowed.
        let left = memory.saturating_sub(2 * PIECE.1.min(memory / 8)) / 4;
        let both = (wanted.0 + wanted.1).max(1) as u128;
        let part = |wanted: u64| ((u128::from(left) * u128::from(wanted) / both) as u64).max(LEAST);
        let fair = Self::of(part(wanted.0), part(wanted.1));
        Some(if fair.cost() <= memory { fair } else { least })
    }

    fn of(satellite: u64, other: u64) -> Self {
        let piece = (satellite.max(other) / 8).clamp(PIECE.0, PIECE.1);
        Self {
            satellite: Bytes::new(satellite),
            other: Bytes::new(other),
            piece: Bytes::new(piece),
        }
    }

    /// The most memory that the connection may come to take.
    pub fn cost(&self) -> u64 {
        4 * (self.satellite.get() + self.other.get()) + 2 * self.piece.get()
    }
}

/// Why a client is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// There are as many connections as may be.
    Connections,
    /// There are as many of this client.
    Client,
    /// No memory is left.
    Memory,
    /// The proxy stops.
    Closed,
}

/// Who is inside. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct AdmissionControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    clients: Clients,
    memory: u64,
    closed: bool,
}

impl AdmissionControl {
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Inner { limits, counts: Mutex::default() }))
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

    /// The memory that those inside may come to take.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.counts().memory)
    }

    /// Lets a client in, with buffers that fit into what is left.
    pub fn enter(&self, address: IpAddr, wanted: (Bytes, Bytes)) -> Result<ConnectionGuard, Full> {
        let client = client(address);
        let (limits, mut counts) = (self.limits(), self.counts());
        if counts.closed {
            return Err(Full::Closed);
        }
        if counts.clients.all() >= limits.connections {
            return Err(Full::Connections);
        }
        if counts.clients.of(&client) >= limits.per_client {
            return Err(Full::Client);
        }
        let left = limits.memory.get().saturating_sub(counts.memory);
        let least = Buffers::of(LEAST, LEAST).cost();
        let places = (limits.connections - counts.clients.all()) as u64;
        let share = left.min(least + left.saturating_sub(places.saturating_mul(least)) / PART);
        let buffers =
            Buffers::within(share, (wanted.0.get(), wanted.1.get())).ok_or(Full::Memory)?;
        counts.clients.enter(client);
        counts.memory += buffers.cost();
        drop(counts);
        Ok(ConnectionGuard { door: self.clone(), client, buffers })
    }
}

/// A client's place inside, given back when dropped.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    door: AdmissionControl,
    client: IpPrefix,
    buffers: Buffers,
}

impl ConnectionGuard {
    pub const fn buffers(&self) -> Buffers {
        self.buffers
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut counts = self.door.counts();
        counts.clients.leave(&self.client);
        counts.memory -= self.buffers.cost();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn client(last: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, last).into()
    }

    const WANTED: (Bytes, Bytes) = (Bytes::from_mb(8), Bytes::from_mb(1));

    #[test]
    fn connections_are_counted_in_all_and_for_each_client() {
        let door =
            AdmissionControl::new(Limits { connections: 3, per_client: 2, ..Limits::default() });
        let first = door.enter(client(1), WANTED).unwrap();
        let second = door.enter(client(1), WANTED).unwrap();
        assert_eq!(door.enter(client(1), WANTED).unwrap_err(), Full::Client);
        let third = door.enter(client(2), WANTED).unwrap();
        assert_eq!(door.enter(client(3), WANTED).unwrap_err(), Full::Connections);
        drop((first, second, third));
        assert_eq!((door.inside(), door.memory()), (0, Bytes::new(0)));
        door.close();
        assert_eq!(door.enter(client(1), WANTED).unwrap_err(), Full::Closed);
    }

    #[test]
    fn as_memory_goes_buffers_shrink_and_in_the_end_nobody_is_let_in() {
        let memory = Bytes::from_mb(1000);
        let limits = Limits { memory, connections: 3000, per_client: 100_000, ..Limits::default() };
        let door = AdmissionControl::new(limits);
        let (mut inside, mut sizes) = (Vec::new(), Vec::new());
        let refused = loop {
            match door.enter(client(1), WANTED) {
                Ok(pass) => {
                    sizes.push(pass.buffers().satellite);
                    inside.push(pass);
                }
                Err(full) => break full,
            }
        };
        assert_eq!(refused, Full::Connections, "all places have their least");
        assert!(sizes[0] > Bytes::from_mb(1), "{}", sizes[0]);
        assert!(sizes.is_sorted_by(|earlier, later| earlier >= later));
        assert_eq!(sizes.last(), Some(&Bytes::new(LEAST)));
        assert!(door.memory() <= memory);
        // Whoever leaves makes room.
        inside.pop();
        assert!(door.enter(client(1), WANTED).is_ok());
    }

    #[test]
    fn without_memory_nobody_is_let_in() {
        let door =
            AdmissionControl::new(Limits { memory: Bytes::new(700_000), ..Limits::default() });
        let two: Vec<ConnectionGuard> =
            (0..2).map(|_| door.enter(client(1), WANTED).unwrap()).collect();
        assert_eq!(door.enter(client(1), WANTED).unwrap_err(), Full::Memory);
        assert_eq!(two[0].buffers(), Buffers::of(LEAST, LEAST));
    }

    #[test]
    fn with_the_default_limits_the_first_get_what_they_want() {
        let door = AdmissionControl::new(Limits::default());
        let eight: Vec<ConnectionGuard> =
            (0..8).map(|_| door.enter(client(1), WANTED).unwrap()).collect();
        assert!(
            eight[0].buffers().satellite == WANTED.0
                && eight[7].buffers().satellite > Bytes::from_mb(4)
        );
    }

    proptest! {
        #[test]
        fn buffers_never_cost_more_than_they_may(memory in 0u64..1 << 36, satellite in 0u64..1 << 32, other in 0u64..1 << 32) {
            match Buffers::within(memory, (satellite, other)) {
                Some(buffers) => prop_assert!(buffers.cost() <= memory, "{buffers:?}"),
                None => prop_assert!(memory < Buffers::of(LEAST, LEAST).cost()),
            }
        }
    }
}

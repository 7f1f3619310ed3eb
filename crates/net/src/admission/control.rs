//! Admission of connections, within bounds on their number and on the memory reserved for them.

use super::client::{ConnectionCounts, client_network};
use bentpipe_quic::Admission;
use bentpipe_quic::memory::IpPrefix;
use bentpipe_units::Bytes;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bounds of an [`AdmissionControl`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmissionLimits {
    /// Largest number of concurrent connections.
    pub connections: usize,
    /// Largest number of concurrent connections of one client.
    pub per_client: usize,
    /// Largest amount of memory reserved for all connections.
    pub memory: Bytes,
}

/// Why a connection is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The limit on connections is reached.
    Connections,
    /// The limit on connections of this client is reached.
    Client,
    /// The free memory is too small.
    Memory,
    /// Admission is closed, because of a shutdown.
    Closed,
}

/// What is free when a connection is admitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Available {
    /// Unreserved memory, bytes.
    pub memory: u64,
    /// Connections that may still be admitted, this one included.
    pub connections: u64,
}

/// Something that takes memory while a connection lasts.
pub(crate) trait Reservation {
    /// The memory that it takes, bytes.
    fn bytes(&self) -> u64;
}

impl Reservation for () {
    fn bytes(&self) -> u64 {
        0
    }
}

/// Bounds on handshakes that are not complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandshakeLimits {
    /// From this number on, clients have to validate their addresses (Retry, RFC 9000 §8.1.2).
    pub retry_from: usize,
    /// From this number on, all clients are refused.
    pub refuse_from: usize,
}

impl HandshakeLimits {
    /// Decides on a new handshake beside `present` others. `validated`: the client's address is
    /// known to be its own.
    pub const fn decide(&self, present: usize, validated: bool) -> Admission {
        if present >= self.refuse_from {
            Admission::Refuse
        } else if present >= self.retry_from && !validated {
            Admission::Retry
        } else {
            Admission::Admit
        }
    }
}

/// Counts connections and the memory reserved for them. Clones share the counts.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: AdmissionLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connections: ConnectionCounts,
    handshakes: usize,
    memory: u64,
    closed: bool,
}

impl AdmissionControl {
    pub fn new(limits: AdmissionLimits) -> Self {
        Self(Arc::new(Inner { limits, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses all connections from now on.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// Number of admitted connections.
    pub fn connections(&self) -> usize {
        self.state().connections.total()
    }

    /// Number of admitted connections whose handshake is not complete.
    pub fn handshakes(&self) -> usize {
        self.state().handshakes
    }

    /// Memory reserved for admitted connections.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.state().memory)
    }

    /// Checks whether a connection from `address` may be admitted.
    pub fn check(&self, address: IpAddr) -> Result<(), Full> {
        self.check_state(&self.state(), &client_network(address))
    }

    fn check_state(&self, state: &State, client: &IpPrefix) -> Result<(), Full> {
        if state.closed {
            Err(Full::Closed)
        } else if state.connections.total() >= self.0.limits.connections {
            Err(Full::Connections)
        } else if state.connections.of(client) >= self.0.limits.per_client {
            Err(Full::Client)
        } else {
            Ok(())
        }
    }

    /// Admits a connection with what `reserve` takes of the free memory. `None` from `reserve`
    /// means that the memory is too small.
    pub fn reserve<R: Reservation>(
        &self,
        address: IpAddr,
        reserve: impl FnOnce(Available) -> Option<R>,
    ) -> Result<ConnectionGuard<R>, Full> {
        let client = client_network(address);
        let mut state = self.state();
        self.check_state(&state, &client)?;
        let limits = &self.0.limits;
        let available = Available {
            memory: limits.memory.get().saturating_sub(state.memory),
            connections: (limits.connections - state.connections.total()) as u64,
        };
        let reservation = reserve(available).ok_or(Full::Memory)?;
        state.connections.add(client);
        state.memory += reservation.bytes();
        drop(state);
        Ok(ConnectionGuard { control: self.clone(), client, in_handshake: false, reservation })
    }

    /// Admits a connection that [`AdmissionControl::check`] allowed, without memory of its own.
    /// It counts as a handshake until [`ConnectionGuard::handshake_complete`].
    pub fn admit(&self, address: IpAddr) -> ConnectionGuard {
        let client = client_network(address);
        let mut state = self.state();
        state.connections.add(client);
        state.handshakes += 1;
        drop(state);
        ConnectionGuard { control: self.clone(), client, in_handshake: true, reservation: () }
    }
}

/// An admitted connection. Dropping it gives back its place and its memory.
#[derive(Debug)]
pub(crate) struct ConnectionGuard<R: Reservation = ()> {
    control: AdmissionControl,
    client: IpPrefix,
    in_handshake: bool,
    reservation: R,
}

impl<R: Reservation> ConnectionGuard<R> {
    /// What was reserved for the connection.
    pub const fn reservation(&self) -> &R {
        &self.reservation
    }

    /// Removes the connection from the handshakes. Later calls have no effect.
    pub fn handshake_complete(&mut self) {
        if std::mem::replace(&mut self.in_handshake, false) {
            self.control.state().handshakes -= 1;
        }
    }
}

impl<R: Reservation> Drop for ConnectionGuard<R> {
    fn drop(&mut self) {
        self.handshake_complete();
        let mut state = self.control.state();
        state.connections.remove(&self.client);
        state.memory -= self.reservation.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn control(connections: usize, per_client: usize) -> AdmissionControl {
        AdmissionControl::new(AdmissionLimits { connections, per_client, memory: Bytes::new(100) })
    }

    #[test]
    fn connections_are_bounded_in_total_and_for_each_client() {
        let control = control(3, 2);
        let guards = [control.admit(ip(1)), control.admit(ip(1))];
        assert_eq!(control.check(ip(1)), Err(Full::Client));
        let third = control.admit(ip(2));
        assert_eq!(control.check(ip(3)), Err(Full::Connections));
        drop((guards, third));
        assert_eq!((control.connections(), control.handshakes()), (0, 0));
        assert_eq!(control.check(ip(1)), Ok(()));
        control.close();
        assert_eq!(control.check(ip(1)), Err(Full::Closed));
    }

    #[test]
    fn one_site_is_one_client() {
        let control = control(3, 1);
        let site = |end: u16| IpAddr::from([0x2001, 0xdb8, 0, 0x4200, 0, 0, 0, end]);
        let _guards = [control.admit(ip(1)), control.admit(site(1))];
        assert_eq!(control.check(ip(1)), Err(Full::Client));
        assert_eq!(control.check(ip(2)), Ok(()));
        assert_eq!(control.check(site(2)), Err(Full::Client), "the same site");
    }

    #[test]
    fn reserved_memory_comes_back_with_the_guard() {
        struct Half(u64);
        impl Reservation for Half {
            fn bytes(&self) -> u64 {
                self.0
            }
        }
        let control = control(3, 3);
        let half = |free: Available| Some(Half(free.memory / 2)).filter(|half| half.0 > 30);
        let guard = control.reserve(ip(1), half).unwrap_or_else(|full| panic!("{full:?}"));
        assert_eq!((guard.reservation().bytes(), control.memory()), (50, Bytes::new(50)));
        assert!(matches!(control.reserve(ip(1), half), Err(Full::Memory)));
        drop(guard);
        assert_eq!((control.memory(), control.connections()), (Bytes::new(0), 0));
    }

    #[test]
    fn a_handshake_is_complete_once() {
        let control = control(9, 9);
        let mut guards = [control.admit(ip(1)), control.admit(ip(2))];
        guards[0].handshake_complete();
        guards[0].handshake_complete();
        assert_eq!((control.handshakes(), control.connections()), (1, 2));
    }

    #[test]
    fn many_handshakes_need_validated_addresses_and_too_many_are_refused() {
        let limits = HandshakeLimits { retry_from: 1, refuse_from: 4 };
        assert_eq!(limits.decide(0, false), Admission::Admit);
        assert_eq!((limits.decide(1, false), limits.decide(3, true)), {
            (Admission::Retry, Admission::Admit)
        });
        assert_eq!(limits.decide(4, true), Admission::Refuse);
    }
}

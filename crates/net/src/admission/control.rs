//! Admission of connections, within bounds on their number and on the memory reserved for them.

use super::client::{CLIENT_SHARE, ConnectionCounts, SITE_CLIENTS, client_network, site_network};
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::{Bytes, Span};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Incomplete handshakes of a service whose clients prove in the handshake that they have its
/// secret. Our choice: with four of each client, 64 addresses of IPv4 or 32 sites of IPv6 fill
/// them, if they begin 51 in each second.
pub(crate) const SECRET_HANDSHAKES: usize = 256;
/// Time limit of such a handshake. Our choice: two losses over a path of 600 ms, and short, as
/// whoever has no secret holds a place for it.
pub(crate) const SECRET_HANDSHAKE_TIME: Span = Span::from_secs(5);

/// Bounds of an [`AdmissionControl`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmissionLimits {
    /// Largest number of concurrent connections.
    pub connections: usize,
    /// Largest number of concurrent connections of one client. The clients of an IPv6 /48 have
    /// [`SITE_CLIENTS`] times as many together.
    pub per_client: usize,
    /// Connections that one client may have even if they are more than a third of those that are
    /// left: less than [`AdmissionLimits::per_client`] leaves room for clients that come late.
    pub guaranteed: usize,
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
    /// The limit on incomplete handshakes is reached.
    Handshakes,
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
    /// From this number on, all clients are refused. From an eighth of it on, one client waits.
    pub refuse_from: usize,
}

/// Incomplete handshakes that a client may have even if they are more than its share. Our choice:
/// what a program begins at once that does not reuse connections.
const MIN_HANDSHAKES: usize = 8;

impl HandshakeLimits {
    /// Returns the incomplete handshakes that one client may have.
    fn per_client(&self) -> usize {
        (self.refuse_from / CLIENT_SHARE).max(MIN_HANDSHAKES)
    }
}

/// The answer to a client that is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    /// It may try again with a validated address.
    Retry,
    /// It waits until one of its own handshakes has ended: it has as many as it may have at a time.
    Wait,
    /// It is refused.
    Refuse(Full),
}

/// Counts connections and the memory reserved for them. Clones share the counts.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: AdmissionLimits,
    /// Largest number of connections whose handshake is complete.
    complete: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connections: ConnectionCounts,
    /// Those whose handshake is not complete.
    handshakes: ConnectionCounts,
    memory: u64,
    closed: bool,
}

impl AdmissionControl {
    pub fn new(limits: AdmissionLimits) -> Self {
        let complete = limits.connections;
        Self(Arc::new(Inner { limits, complete, state: Mutex::default() }))
    }

    /// Admits the clients of a service with a secret: `complete` connections that have proved in
    /// the handshake that they have it, and [`SECRET_HANDSHAKES`] apart, so that whoever has no
    /// secret takes no place of those who have.
    pub fn behind_secret(complete: usize, per_client: usize) -> Self {
        let limits = AdmissionLimits {
            connections: complete + SECRET_HANDSHAKES,
            per_client,
            guaranteed: per_client,
            memory: Bytes::MAX,
        };
        Self(Arc::new(Inner { limits, complete, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses all connections from now on.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// Returns whether all connections are refused.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Number of admitted connections.
    pub fn connections(&self) -> usize {
        self.state().connections.total()
    }

    /// Memory reserved for admitted connections.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.state().memory)
    }

    /// Returns whether `client` has `per_client` of `connections`, or its IPv6 /48 has
    /// [`SITE_CLIENTS`] times as many. A connection whose address may be forged must not keep a
    /// validated one out, so it counts only against others of its kind.
    fn has_share(
        connections: &ConnectionCounts,
        client: &IpPrefix,
        validated: bool,
        per_client: usize,
    ) -> bool {
        let of = |network: &IpPrefix| {
            let counts = connections.of(network);
            if validated { counts.validated } else { counts.total() }
        };
        let per_site = per_client.saturating_mul(SITE_CLIENTS);
        of(client) >= per_client
            || site_network(client.address()).is_some_and(|site| of(&site) >= per_site)
    }

    /// Returns whether `client`, or its IPv6 /48, has as many connections as it may have.
    fn is_full(&self, state: &State, client: &IpPrefix, validated: bool) -> bool {
        let limits = &self.0.limits;
        let left = limits.connections.saturating_sub(state.connections.total());
        let per_client = limits.per_client.min((left / 3).max(limits.guaranteed));
        Self::has_share(&state.connections, client, validated, per_client)
    }

    fn check(&self, state: &State, client: &IpPrefix, validated: bool) -> Result<(), Full> {
        if state.closed {
            Err(Full::Closed)
        } else if state.connections.total() >= self.0.limits.connections {
            Err(Full::Connections)
        } else if self.is_full(state, client, validated) {
            Err(Full::Client)
        } else {
            Ok(())
        }
    }

    /// Admits a connection, whose address is validated, with what `reserve` takes of the free
    /// memory. `None` from `reserve` means that the memory is too small.
    pub fn reserve<R: Reservation>(
        &self,
        address: IpAddr,
        reserve: impl FnOnce(Available) -> Option<R>,
    ) -> Result<ConnectionGuard<R>, Full> {
        let client = client_network(address);
        let mut state = self.state();
        self.check(&state, &client, true)?;
        let limits = &self.0.limits;
        let available = Available {
            memory: limits.memory.get().saturating_sub(state.memory),
            connections: (limits.connections - state.connections.total()) as u64,
        };
        let reservation = reserve(available).ok_or(Full::Memory)?;
        state.connections.add(client, true);
        state.memory += reservation.bytes();
        drop(state);
        Ok(ConnectionGuard {
            control: self.clone(),
            client,
            validated: true,
            in_handshake: false,
            reservation,
        })
    }

    /// Admits a connection without memory of its own, or says why not. It counts as a handshake
    /// until [`ConnectionGuard::handshake_complete`]. `validated`: the address is known to be the
    /// client's own.
    ///
    /// Connections with other addresses cannot fill more than `handshakes.retry_from` places, and
    /// none that a validated client needs.
    pub fn admit(
        &self,
        address: IpAddr,
        validated: bool,
        handshakes: HandshakeLimits,
    ) -> Result<ConnectionGuard, Denial> {
        let client = client_network(address);
        let mut state = self.state();
        match self.check(&state, &client, validated) {
            Ok(()) => {}
            Err(Full::Client) if !validated => return Err(Denial::Retry),
            Err(full) => return Err(Denial::Refuse(full)),
        }
        state.check_handshake(&client, validated, handshakes)?;
        state.connections.add(client, validated);
        state.handshakes.add(client, validated);
        drop(state);
        Ok(self.guard(client, validated, true))
    }

    /// Admits a connection over TCP, whose address is validated, or says why not. It counts as a
    /// handshake from [`ConnectionGuard::begin_handshake`] on.
    pub fn admit_before_handshake(&self, address: IpAddr) -> Result<ConnectionGuard, Full> {
        let client = client_network(address);
        let mut state = self.state();
        self.check(&state, &client, true)?;
        state.connections.add(client, true);
        drop(state);
        Ok(self.guard(client, true, false))
    }

    fn guard(&self, client: IpPrefix, validated: bool, in_handshake: bool) -> ConnectionGuard {
        ConnectionGuard { control: self.clone(), client, validated, in_handshake, reservation: () }
    }
}

impl State {
    /// Says whether a client may begin a handshake, or why not.
    fn check_handshake(
        &self,
        client: &IpPrefix,
        validated: bool,
        limits: HandshakeLimits,
    ) -> Result<(), Denial> {
        let (incomplete, per_client) = (self.handshakes.total(), limits.per_client());
        if incomplete >= limits.refuse_from {
            Err(Denial::Refuse(Full::Handshakes))
        } else if incomplete >= limits.retry_from && !validated {
            Err(Denial::Retry)
        } else if AdmissionControl::has_share(&self.handshakes, client, validated, per_client) {
            Err(if validated { Denial::Wait } else { Denial::Retry })
        } else {
            Ok(())
        }
    }
}

/// An admitted connection. Dropping it gives back its place and its memory.
#[derive(Debug)]
pub(crate) struct ConnectionGuard<R: Reservation = ()> {
    control: AdmissionControl,
    client: IpPrefix,
    validated: bool,
    in_handshake: bool,
    reservation: R,
}

impl<R: Reservation> ConnectionGuard<R> {
    /// What was reserved for the connection.
    pub const fn reservation(&self) -> &R {
        &self.reservation
    }

    /// Counts the connection among the handshakes, or says why it may not begin its own yet.
    pub fn begin_handshake(&mut self, limits: HandshakeLimits) -> Result<(), Denial> {
        let mut state = self.control.state();
        state.check_handshake(&self.client, self.validated, limits)?;
        state.handshakes.add(self.client, self.validated);
        self.in_handshake = true;
        Ok(())
    }

    /// Removes the connection from the handshakes. A complete handshake validates the address, so
    /// the connection counts for its client from now on. Later calls have no effect.
    ///
    /// # Errors
    /// The client or all together have as many connections as they may have. This one has to be
    /// closed.
    pub fn handshake_complete(&mut self) -> Result<(), Full> {
        let mut state = self.control.state();
        if self.in_handshake {
            let complete = state.connections.total() - state.handshakes.total();
            if complete >= self.control.0.complete {
                return Err(Full::Connections);
            }
            self.in_handshake = false;
            state.handshakes.remove(&self.client, self.validated);
        }
        if self.validated {
            return Ok(());
        }
        if self.control.is_full(&state, &self.client, true) {
            return Err(Full::Client);
        }
        state.connections.remove(&self.client, false);
        state.connections.add(self.client, true);
        self.validated = true;
        Ok(())
    }
}

impl<R: Reservation> Drop for ConnectionGuard<R> {
    fn drop(&mut self) {
        let mut state = self.control.state();
        if self.in_handshake {
            state.handshakes.remove(&self.client, self.validated);
        }
        state.connections.remove(&self.client, self.validated);
        state.memory -= self.reservation.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits on handshakes that no test reaches.
    const MANY: HandshakeLimits = HandshakeLimits { retry_from: 1000, refuse_from: 1000 };

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn control(connections: usize, per_client: usize) -> AdmissionControl {
        AdmissionControl::new(AdmissionLimits {
            connections,
            per_client,
            guaranteed: per_client,
            memory: Bytes::new(100),
        })
    }

    /// Admits a connection whose address is validated.
    fn admit(control: &AdmissionControl, address: IpAddr) -> Result<ConnectionGuard, Denial> {
        control.admit(address, true, MANY)
    }

    fn denied(admitted: Result<ConnectionGuard, Denial>) -> Denial {
        admitted.map(|_| ()).unwrap_err()
    }

    #[test]
    fn connections_are_bounded_in_total_and_for_each_client() {
        let control = control(3, 2);
        let guards = [admit(&control, ip(1)).unwrap(), admit(&control, ip(1)).unwrap()];
        assert_eq!(denied(admit(&control, ip(1))), Denial::Refuse(Full::Client));
        let third = admit(&control, ip(2)).unwrap();
        assert_eq!(denied(admit(&control, ip(3))), Denial::Refuse(Full::Connections));
        drop((guards, third));
        assert_eq!((control.connections(), control.state().handshakes.total()), (0, 0));
        drop(admit(&control, ip(1)).unwrap());
        assert!(!control.is_closed());
        control.close();
        assert!(control.is_closed());
        assert_eq!(denied(admit(&control, ip(1))), Denial::Refuse(Full::Closed));
    }

    /// 16 places: as many incomplete handshakes left none.
    #[test]
    fn without_the_secret_no_place_of_those_who_have_it_is_taken() {
        let control = AdmissionControl::behind_secret(16, 4);
        let limits = HandshakeLimits { retry_from: 0, refuse_from: SECRET_HANDSHAKES };
        let admit = |number: usize| {
            let network = u16::try_from(number / 4).unwrap();
            control.admit(IpAddr::from([0x2001, 0xdb8, network, 0, 0, 0, 0, 1]), true, limits)
        };
        let mut guards: Vec<_> = (0..SECRET_HANDSHAKES - 1).map(|n| admit(n).unwrap()).collect();
        // The last place for a handshake is free again each time.
        for number in 0..16 {
            let mut guard = admit(1000 + number).unwrap();
            assert_eq!(guard.handshake_complete(), Ok(()));
            guards.push(guard);
        }
        let mut next = admit(2000).unwrap();
        assert_eq!(next.handshake_complete(), Err(Full::Connections), "16 have the secret");
        assert_eq!(denied(admit(2001)), Denial::Refuse(Full::Connections));
        guards.pop();
        assert_eq!(next.handshake_complete(), Ok(()));
        drop((guards, next));
        assert_eq!((control.connections(), control.state().handshakes.total()), (0, 0));
    }

    #[test]
    fn one_site_is_one_client() {
        let control = control(9, 1);
        let site = |end: u16| IpAddr::from([0x2001, 0xdb8, 0, 0x4200, 0, 0, 0, end]);
        let _guards = [admit(&control, ip(1)).unwrap(), admit(&control, site(1)).unwrap()];
        assert_eq!(denied(admit(&control, ip(1))), Denial::Refuse(Full::Client));
        assert!(admit(&control, ip(2)).is_ok());
        assert_eq!(denied(admit(&control, site(2))), Denial::Refuse(Full::Client), "the same site");
    }

    #[test]
    fn clients_that_come_late_find_room() {
        let limits = AdmissionLimits {
            connections: 8192,
            per_client: 1024,
            guaranteed: 256,
            memory: Bytes::ZERO,
        };
        let control = &AdmissionControl::new(limits);
        let connected = |last| {
            let mut guard = admit(control, ip(last)).ok()?;
            guard.handshake_complete().unwrap();
            Some(guard)
        };
        let held = |last| std::iter::from_fn(move || connected(last));
        let guards: Vec<Vec<_>> = (0..12).map(|last| held(last).collect()).collect();
        let counts: Vec<usize> = guards.iter().map(Vec::len).collect();
        assert_eq!(counts[..5], [1024; 5]);
        assert!(counts[5..].iter().all(|count| (256..1024).contains(count)), "{counts:?}");
        let twelve: usize = counts.iter().sum();
        assert!(twelve < 8192, "twelve clients do not fill the server: {counts:?}");
    }

    #[test]
    fn the_networks_of_an_ipv6_site_have_two_shares_together() {
        let control = control(9, 2);
        let network =
            |network: u16, host: u16| IpAddr::from([0x2001, 0xdb8, 7, network, 0, 0, 0, host]);
        let _guards = [(0, 1), (0, 2), (0x100, 1), (0x200, 1)]
            .map(|(id, host)| admit(&control, network(id, host)).unwrap());
        assert_eq!(denied(admit(&control, network(0x300, 1))), Denial::Refuse(Full::Client));
        assert!(admit(&control, IpAddr::from([0x2001, 0xdb8, 8, 0, 0, 0, 0, 1])).is_ok());
    }

    #[test]
    fn connections_from_forged_addresses_do_not_keep_their_owner_out() {
        let control = control(100, 4);
        let forged: Vec<_> = (0..4).map(|_| control.admit(ip(1), false, MANY).unwrap()).collect();
        assert_eq!(denied(control.admit(ip(1), false, MANY)), Denial::Retry);
        // The owner answers the Retry, as often as it may.
        let owner: Vec<_> = (0..4).map(|_| admit(&control, ip(1)).unwrap()).collect();
        assert_eq!(denied(admit(&control, ip(1))), Denial::Refuse(Full::Client));
        drop((forged, owner));
        assert_eq!(control.connections(), 0);
    }

    #[test]
    fn a_complete_handshake_counts_for_its_client() {
        let control = control(100, 2);
        let mut guards: Vec<_> =
            (0..2).map(|_| control.admit(ip(1), false, MANY).unwrap()).collect();
        let validated = admit(&control, ip(1)).unwrap();
        assert_eq!(guards[0].handshake_complete(), Ok(()));
        assert_eq!(guards[1].handshake_complete(), Err(Full::Client), "one too many");
        assert_eq!(control.state().handshakes.total(), 1);
        drop(validated);
        assert_eq!(guards[1].handshake_complete(), Ok(()));
        drop(guards);
        assert_eq!((control.connections(), control.state().handshakes.total()), (0, 0));
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
        let mut seen = None;
        let refused = control.reserve(ip(1), |free| {
            seen = Some((free.memory, free.connections));
            None::<Half>
        });
        assert!(matches!(refused, Err(Full::Memory)));
        assert_eq!(seen, Some((50, 2)), "half of the memory and two of three places are free");
        drop(guard);
        assert_eq!((control.memory(), control.connections()), (Bytes::new(0), 0));
    }

    #[test]
    fn a_handshake_is_complete_once() {
        let control = control(9, 9);
        let mut guards = [admit(&control, ip(1)).unwrap(), admit(&control, ip(2)).unwrap()];
        guards[0].handshake_complete().unwrap();
        guards[0].handshake_complete().unwrap();
        assert_eq!((control.connections(), control.state().handshakes.total()), (2, 1));
    }

    #[test]
    fn many_handshakes_need_validated_addresses_and_too_many_are_refused() {
        let control = control(9, 9);
        let limits = HandshakeLimits { retry_from: 1, refuse_from: 3 };
        let admit = |last, validated| control.admit(ip(last), validated, limits);
        let first = admit(1, false).unwrap();
        assert_eq!(denied(admit(2, false)), Denial::Retry);
        let validated = [admit(2, true).unwrap(), admit(3, true).unwrap()];
        assert_eq!(denied(admit(4, true)), Denial::Refuse(Full::Handshakes));
        assert_eq!(denied(admit(4, false)), Denial::Refuse(Full::Handshakes));
        drop((first, validated));
    }

    #[test]
    fn one_client_has_an_eighth_of_the_incomplete_handshakes() {
        let control = control(1000, 1000);
        let limits = HandshakeLimits { retry_from: 200, refuse_from: 128 };
        let admit = |address, validated| control.admit(address, validated, limits);
        let fill = |address: IpAddr, validated| {
            std::iter::from_fn(|| admit(address, validated).ok()).collect::<Vec<_>>()
        };
        let forged = fill(ip(1), false);
        assert_eq!((forged.len(), denied(admit(ip(1), false))), (16, Denial::Retry));
        let mut own = fill(ip(1), true);
        assert_eq!(own.len(), 16, "what others forge takes no place of its owner");
        assert_eq!(denied(admit(ip(1), true)), Denial::Wait);
        let mut over_tcp = control.admit_before_handshake(ip(1)).unwrap();
        assert_eq!(over_tcp.begin_handshake(limits), Err(Denial::Wait));
        own[0].handshake_complete().unwrap();
        over_tcp.begin_handshake(limits).unwrap();
        assert_eq!(denied(admit(ip(1), true)), Denial::Wait);
        drop(over_tcp);
        own.push(admit(ip(1), true).unwrap());
        assert!(admit(ip(1), true).is_err());
        // A /48 has twice as much, whatever the number of its networks.
        let network = |network: u16| IpAddr::from([0x2001, 0xdb8, 7, network << 8, 0, 0, 0, 1]);
        let site: Vec<_> = (0..4).flat_map(|id| fill(network(id), true)).collect();
        assert_eq!(site.len(), 32);
        assert!(admit(ip(2), true).is_ok());
        drop((forged, own, site));
        assert_eq!((control.connections(), control.state().handshakes.total()), (0, 0));
    }

    #[test]
    fn concurrent_connections_stay_within_the_limit() {
        let control = control(8, 8);
        let held: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        (0..100).filter_map(|_| admit(&control, ip(1)).ok()).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!((held.len(), control.connections()), (8, 8));
    }
}

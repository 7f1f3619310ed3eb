//! Buffers of one connection of the TCP proxy, within the memory that is free.

use super::control::{Available, Reservation};
use bentpipe_units::Bytes;

/// Divisor that gives a new connection's share of the memory that is free beyond the minimum of all
/// connections still to come, so that the first ones do not take all. Our choice.
const SHARE: u64 = 16;
/// Smallest and largest relay buffer in each direction, bytes: a few segments, and 10 ms at 50
/// Mbps. Our choice.
const RELAY_BUFFER: (u64, u64) = (16 * 1024, 64 * 1024);
/// Smallest socket buffer, bytes. In smaller ones, the kernel's overhead for small segments leaves
/// no room for data. Our choice.
pub(crate) const MIN_BUFFER: u64 = 32 * 1024;

/// Buffers of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffers {
    /// Socket buffer on the satellite side, in each direction.
    pub satellite: Bytes,
    /// Socket buffer on the other side, in each direction.
    pub other: Bytes,
    /// Buffer between the two sockets, in each direction.
    pub relay: Bytes,
}

impl Buffers {
    /// Returns the buffers of a new connection, or `None` if the free memory is too small. `wanted`
    /// holds the largest useful socket buffers, on the satellite side and on the other side.
    pub fn allocate(available: Available, wanted: (Bytes, Bytes)) -> Option<Self> {
        let (free, min) = (available.memory, Self::of(MIN_BUFFER, MIN_BUFFER).bytes());
        let spare = free.saturating_sub(available.connections.saturating_mul(min));
        Self::within(free.min(min + spare / SHARE), (wanted.0.get(), wanted.1.get()))
    }

    /// Returns buffers that take at most `memory` bytes. The kernel takes up to twice the size that
    /// is set (socket(7)).
    fn within(memory: u64, wanted: (u64, u64)) -> Option<Self> {
        let min = Self::of(MIN_BUFFER, MIN_BUFFER);
        if min.bytes() > memory {
            return None;
        }
        let max = Self::of(wanted.0.max(MIN_BUFFER), wanted.1.max(MIN_BUFFER));
        if max.bytes() <= memory {
            return Some(max);
        }
        // In proportion. Rounding and the bounds of the relay buffers must not exceed the memory.
        let shared = memory.saturating_sub(2 * RELAY_BUFFER.1.min(memory / 8)) / 4;
        let both = (wanted.0 + wanted.1).max(1) as u128;
        let share =
            |wanted: u64| ((u128::from(shared) * u128::from(wanted) / both) as u64).max(MIN_BUFFER);
        let fair = Self::of(share(wanted.0), share(wanted.1));
        Some(if fair.bytes() <= memory { fair } else { min })
    }

    fn of(satellite: u64, other: u64) -> Self {
        let relay = (satellite.max(other) / 8).clamp(RELAY_BUFFER.0, RELAY_BUFFER.1);
        Self {
            satellite: Bytes::new(satellite),
            other: Bytes::new(other),
            relay: Bytes::new(relay),
        }
    }
}

impl Reservation for Buffers {
    /// The largest amount of memory that the connection can take.
    fn bytes(&self) -> u64 {
        4 * (self.satellite.get() + self.other.get()) + 2 * self.relay.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::{AdmissionControl, AdmissionLimits, ConnectionGuard, Full};
    use super::*;
    use proptest::prelude::*;
    use std::net::IpAddr;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const WANTED: (Bytes, Bytes) = (Bytes::from_mb(8), Bytes::from_mb(1));

    fn control(connections: usize, memory: Bytes) -> AdmissionControl {
        AdmissionControl::new(AdmissionLimits {
            connections,
            per_client: 100_000,
            guaranteed: 100_000,
            memory,
        })
    }

    fn admit(control: &AdmissionControl) -> Result<ConnectionGuard<Buffers>, Full> {
        control.reserve(CLIENT, |available| Buffers::allocate(available, WANTED))
    }

    #[test]
    fn buffers_shrink_with_the_free_memory_until_connections_are_refused() {
        let memory = Bytes::from_mb(1000);
        let control = control(3000, memory);
        let (mut guards, mut sizes) = (Vec::new(), Vec::new());
        let refused = loop {
            match admit(&control) {
                Ok(guard) => {
                    sizes.push(guard.reservation().satellite);
                    guards.push(guard);
                }
                Err(full) => break full,
            }
        };
        assert_eq!(refused, Full::Connections, "all connections have the smallest buffers");
        assert!(sizes[0] > Bytes::from_mb(1), "{}", sizes[0]);
        assert!(sizes.is_sorted_by(|earlier, later| earlier >= later));
        assert_eq!(sizes.last(), Some(&Bytes::new(MIN_BUFFER)));
        assert!(control.memory() <= memory);
        // A connection that ends makes room for another.
        guards.pop();
        assert!(admit(&control).is_ok());
    }

    #[test]
    fn connections_are_refused_if_the_memory_is_too_small() {
        let control = control(1024, Bytes::new(700_000));
        let two: Vec<_> = (0..2).map(|_| admit(&control).unwrap()).collect();
        assert_eq!(admit(&control).unwrap_err(), Full::Memory);
        assert_eq!(*two[0].reservation(), Buffers::of(MIN_BUFFER, MIN_BUFFER));
    }

    #[test]
    fn a_new_connection_gets_a_sixteenth_of_what_is_free() {
        let min = Buffers::of(MIN_BUFFER, MIN_BUFFER).bytes();
        let bytes = |memory, connections| {
            let available = Available { memory, connections };
            Buffers::allocate(available, (Bytes::from_mb(800), Bytes::from_mb(100)))
                .map(|buffers| buffers.bytes())
        };
        // The minimum of all connections to come is left to them.
        for (spare, connections) in [(1_600_000_000, 1), (160_000_000, 100)] {
            let share = min + spare / 16;
            let taken = bytes(connections * min + spare, connections).unwrap();
            assert!(taken <= share && share - taken < 64, "{taken} of {share}");
        }
        assert_eq!(bytes(100 * min, 100), Some(min));
        assert_eq!(bytes(min, 100), Some(min), "the last one is admitted all the same");
        assert_eq!(bytes(min - 1, 1), None);
    }

    #[test]
    fn scarce_memory_is_used_up_in_proportion_to_what_is_wanted() {
        let wanted = (8_000_000, 1_000_000);
        let all = Buffers::of(wanted.0, wanted.1);
        assert_eq!(all.bytes(), 4 * 9_000_000 + 2 * 64 * 1024);
        assert_eq!(Buffers::within(all.bytes(), wanted), Some(all));
        let half = Buffers::within(18_000_000, wanted).unwrap();
        let (satellite, other) = (half.satellite.get(), half.other.get());
        assert!(18_000_000 - half.bytes() < 64, "{half:?}");
        assert!(satellite.abs_diff(8 * other) < 16, "{half:?}");
        // Between an eighth of the larger socket buffer and the bounds.
        let relay = |satellite, other| Buffers::of(satellite, other).relay.get();
        assert_eq!((relay(300_000, 100_000), relay(100_000, 300_000)), (37_500, 37_500));
        assert_eq!((relay(40_000, 40_000), relay(1 << 20, 0)), (16 * 1024, 64 * 1024));
        // Of little memory, an eighth is left for each relay buffer.
        let little = Buffers::within(400_000, (8_000_000, 8_000_000));
        assert_eq!(little, Some(Buffers::of(37_500, 37_500)));
        // If the smaller buffer's minimum does not fit beside the larger one's share, both have it.
        let few = Buffers::within(600_000, (8_000_000, 1));
        assert_eq!(few, Some(Buffers::of(MIN_BUFFER, MIN_BUFFER)));
    }

    #[test]
    fn the_first_connections_get_what_they_want() {
        let control = control(1024, Bytes::from_mb(1000));
        let eight: Vec<_> = (0..8).map(|_| admit(&control).unwrap()).collect();
        assert_eq!(eight[0].reservation().satellite, WANTED.0);
        assert!(eight[7].reservation().satellite > Bytes::from_mb(4));
    }

    proptest! {
        #[test]
        fn buffers_never_take_more_than_the_memory(
            memory in 0u64..1 << 36, satellite in 0u64..1 << 32, other in 0u64..1 << 32
        ) {
            match Buffers::within(memory, (satellite, other)) {
                Some(buffers) => prop_assert!(buffers.bytes() <= memory, "{buffers:?}"),
                None => prop_assert!(memory < Buffers::of(MIN_BUFFER, MIN_BUFFER).bytes()),
            }
        }
    }
}

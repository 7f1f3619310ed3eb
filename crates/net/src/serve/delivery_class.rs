//! Classes of deliveries, within which times can be compared.

use bentpipe_units::Span;

/// Upper bounds of sizes in bytes, and their names: what the initial window of RFC 9002 carries
/// (14,720 bytes), and ten and a hundred times as much. Our choice.
const SIZES: [(u64, &str); DeliveryClass::SIZES] =
    [(15_000, "<15kB"), (150_000, "<150kB"), (1_500_000, "<1.5MB"), (u64::MAX, ">=1.5MB")];
/// Upper bounds of minimum RTTs in milliseconds, and their names: terrestrial paths and low orbits,
/// medium ones, geostationary ones.
const RTTS: [(u64, &str); DeliveryClass::RTTS] =
    [(100, "<100ms"), (400, "<400ms"), (u64::MAX, ">=400ms")];

/// A class of deliveries, by minimum RTT and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryClass {
    rtt: usize,
    size: usize,
}

impl DeliveryClass {
    /// Number of classes of sizes.
    pub(super) const SIZES: usize = 4;
    /// Number of classes of RTTs.
    pub(super) const RTTS: usize = 3;

    /// Returns the class of content of `bytes` over a path with this minimum RTT.
    pub fn of(bytes: u64, rtt: Span) -> Self {
        let ms = rtt.as_nanos() / 1_000_000;
        let rtt = RTTS.iter().position(|(limit, _)| ms < *limit).unwrap_or(Self::RTTS - 1);
        let size = SIZES.iter().position(|(limit, _)| bytes < *limit).unwrap_or(Self::SIZES - 1);
        Self { rtt, size }
    }

    /// Returns all of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..Self::RTTS * Self::SIZES)
            .map(|index| Self { rtt: index / Self::SIZES, size: index % Self::SIZES })
    }

    /// Returns its position among [`DeliveryClass::all`].
    pub(super) const fn index(self) -> usize {
        self.rtt * Self::SIZES + self.size
    }

    /// Returns the name of its sizes.
    pub fn size(self) -> &'static str {
        SIZES.get(self.size).map_or("", |(_, name)| name)
    }

    /// Returns the name of its RTTs.
    pub fn rtt(self) -> &'static str {
        RTTS.get(self.rtt).map_or("", |(_, name)| name)
    }
}

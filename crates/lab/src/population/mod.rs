//! Populations of users: what is drawn for each run, the flows that it becomes, and its results.

mod draw;
mod load;
mod results;

pub(crate) use draw::Expansion;
pub(crate) use load::load;
pub(crate) use results::populations;

use bentpipe_scenario::workload::{Lognormal, Pareto, SizeOrder};
use bentpipe_sim::{FlowSpec, Stack};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Rate, Span};
use std::sync::Arc;

/// Headers in a full packet of QUIC: 28 B of IPv4 and UDP, and at least 32 B of the short header,
/// the authentication tag and the STREAM frame.
const QUIC_HEADERS: u64 = 60;
/// Headers in a full packet of TCP: 20 B of IPv4, and 32 B of TCP with timestamps.
const TCP_HEADERS: u64 = 52;

/// The users of a `[[flow]]` with `count`, or a single flow whose sizes are drawn for each run.
#[derive(Debug, PartialEq)]
pub(crate) struct Population {
    /// Name of its `[[flow]]`, which fixes the drawn values.
    name: String,
    /// Number of users.
    users: usize,
    arrivals: Arrivals,
    /// What is drawn for each visit that the scenario describes.
    visits: Vec<Drawn>,
    /// Mean time for which a user thinks before each of these visits.
    thinks: Vec<Option<Span>>,
}

impl Population {
    /// Returns the name of its `[[flow]]`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if two runs differ.
    pub fn is_random(&self) -> bool {
        let random = |drawn: &Drawn| match drawn {
            Drawn::Nothing | Drawn::Listed(_, SizeOrder::Listed) => false,
            Drawn::Lognormal(_) | Drawn::Pareto(_) | Drawn::Listed(..) | Drawn::Page(_) => true,
        };
        matches!(self.arrivals, Arrivals::Load(_) | Arrivals::Rate(_))
            || self.visits.iter().any(random)
            || self.thinks.iter().any(Option::is_some)
    }
}

/// When users start.
#[derive(Debug, PartialEq)]
enum Arrivals {
    AtOnce,
    /// Offered load as a fraction of the bottleneck's rate.
    Load(f64),
    /// Users per second.
    Rate(f64),
    /// Time of each user.
    Times(Vec<Span>),
}

/// What is drawn for a visit.
#[derive(Debug, PartialEq)]
enum Drawn {
    Nothing,
    Lognormal(Lognormal),
    Pareto(Pareto),
    Listed(Arc<[Bytes]>, SizeOrder),
    /// A page of this many objects.
    Page(usize),
}

/// The bottleneck of a population's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bottleneck {
    /// Rate of the slowest link.
    pub rate: Rate,
    /// RTT of the idle path.
    pub rtt: Span,
    /// Size of the largest IP packets.
    pub mtu: Bytes,
}

impl Bottleneck {
    /// Returns the wire bytes of `bytes` of application data: with `headers` for each full packet.
    fn wire_bytes(&self, bytes: u64, headers: u64) -> u64 {
        let payload = self.mtu.get().saturating_sub(headers).max(1);
        bytes.saturating_add(bytes.div_ceil(payload).saturating_mul(headers))
    }

    /// Returns the wire bytes of `bytes` as offered load counts them: in packets of QUIC, whatever
    /// the transport, so that all variants have the same arrivals.
    fn offered(&self, bytes: u64) -> u64 {
        self.wire_bytes(bytes, QUIC_HEADERS)
    }

    /// Returns the shortest time in which visit number `visit` of `flow` can transfer `bytes` on
    /// the idle path: the RTTs of its handshake, one for the request, and the wire bytes at the
    /// rate of the bottleneck.
    fn ideal(&self, flow: &FlowSpec, visit: usize, bytes: u64) -> Span {
        use bentpipe_quic::Handshake;
        let resumed =
            flow.visits.get(visit - 1).is_some_and(|visit| visit.handshake == Handshake::ZeroRtt);
        let (headers, handshake) = match &flow.stack {
            Stack::Tcp(stack) if stack.http.version == Version::Raw => (TCP_HEADERS, 1),
            Stack::Tcp(_) => (TCP_HEADERS, if resumed { 1 } else { 2 }),
            _ => (QUIC_HEADERS, u64::from(!resumed)),
        };
        let wire = Bytes::new(self.wire_bytes(bytes, headers));
        self.rtt * (handshake + 1) + self.rate.time_for(wire)
    }
}

//! `ping`: ICMP echo requests from the client.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::Transfer;
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Size of the IP packet of a request with 56 bytes of data, the default of `ping`.
const PACKET: Bytes = Bytes::new(84);

/// ICMP echo requests from the client, at equal intervals.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time between two requests.
    #[schemars(with = "Span")]
    pub interval: Spanned<Span>,
    /// Duration of the workload.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Size of the IP packets; 84 B by default.
    #[schemars(with = "Option<Bytes>")]
    pub packet: Option<Spanned<Bytes>>,
}

impl Ping {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::Datagrams;

    pub(super) fn check(&self, limit: Span) -> Result<(), Problem> {
        super::transfer::duration(&self.duration, limit)?;
        super::transfer::packet(self.packet.as_ref())?;
        crate::limits::above_zero("interval", &self.interval)
    }

    /// Returns the size of the IP packets.
    pub fn packet(&self) -> Bytes {
        self.packet.as_ref().map_or(PACKET, |packet| *packet.get_ref())
    }
}

impl Kind for Ping {
    fn key(&self) -> &'static str {
        "ping"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        Transfer {
            direction: Direction::Upload,
            objects: Vec::new(),
            duration: Some(*self.duration.get_ref()),
        }
    }
}

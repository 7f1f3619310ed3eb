//! A server's cryptography for paths whose RTT is not small beside a minute.
//!
//! The stack refuses early data whose ticket is older or younger at the client than at the server
//! by more than a minute, and counts from when it wrote the ticket: the client received it half an
//! RTT later, and what it sends takes as long. RFC 8446 §8.3 has the server take an RTT off. Here
//! a ticket is dated later by the time that the handshake took, which is an RTT.

use super::config;
use super::error::TlsError;
use super::identity::Identity;
use super::randomness::Randomness;
use super::secret_log::SecretLog;
use crate::clock::EpochClock;
use noq_proto::ConnectionId;
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::crypto::{Keys, ServerConfig, Session, UnsupportedVersion};
use noq_proto::transport_parameters::TransportParameters;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use std::sync::Arc;
use std::time::Duration;

/// The time of day as one connection of a server dates its tickets.
#[derive(Debug)]
struct TicketClock {
    epoch: EpochClock,
    /// When the client's first flight arrived.
    accepted: Duration,
}

impl TimeProvider for TicketClock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = self.epoch.since_unix_epoch();
        Some(UnixTime::since_unix_epoch(now + now.saturating_sub(self.accepted)))
    }
}

/// Makes a configuration for each connection, with a clock of its own.
struct LongFlight {
    tls: rustls::ServerConfig,
    /// For what needs no clock.
    plain: QuicServerConfig,
    epoch: EpochClock,
}

/// Returns a server's cryptography as [`server`](super::server) does, for paths with an RTT that is
/// not small beside a minute: its tickets let early data in all the same.
///
/// # Errors
/// As [`server`](super::server).
pub fn server_for_long_flights(
    identity: &Identity,
    alpn: &[u8],
    randomness: Randomness,
    epoch: EpochClock,
    secrets: Option<SecretLog>,
) -> Result<Arc<dyn ServerConfig>, TlsError> {
    let tls = config::server_tls(identity, alpn, randomness, epoch.clone(), secrets)?;
    let plain = config::quic(tls.clone())?;
    Ok(Arc::new(LongFlight { tls, plain, epoch }))
}

impl ServerConfig for LongFlight {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.plain.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.plain.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let mut tls = self.tls.clone();
        let accepted = self.epoch.since_unix_epoch();
        tls.time_provider = Arc::new(TicketClock { epoch: self.epoch.clone(), accepted });
        match config::quic(tls) {
            Ok(config) => Arc::new(config).start_session(version, params),
            // The same configuration was accepted before.
            Err(_) => self.plain.start_session(version, params),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    #[test]
    fn a_ticket_is_dated_later_by_the_time_that_the_handshake_took() {
        let epoch = EpochClock::new(1_000);
        epoch.set(Time::from_secs(300));
        let clock = TicketClock { epoch: epoch.clone(), accepted: epoch.since_unix_epoch() };
        let seconds = || clock.current_time().map(|time| time.as_secs());
        assert_eq!(seconds(), Some(1_300), "the client's first flight");
        epoch.set(Time::from_secs(420));
        assert_eq!(seconds(), Some(1_540), "the ticket, an RTT of 120 s later");
    }
}

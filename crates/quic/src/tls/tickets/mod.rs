//! TLS tickets of a client that outlive its process.
//!
//! rustls 0.23 has no way to write a session down, or to make one from what was written. Both are
//! done from outside, by its public interface:
//!
//! - `secrets` is its cryptography provider, whose key derivation notes the secrets of tickets,
//! - `reading` notes the tickets in the server's messages, and writes both to a [`TicketStore`],
//! - `restore` makes a session again: the client makes a handshake with a server of this process,
//!   which presents the certificates of the first handshake, and then reads the ticket.
//!
//! Certificates are verified again when a session is restored, by the client's own verifier: a
//! ticket is worth nothing to a client that does not trust them, or not any more. The server of
//! this process cannot sign with their key, and signs with one that was made for the purpose and
//! that nobody else has (`verifier`). There is no state in which signatures are not verified.

mod messages;
mod reading;
mod restore;
mod saved;
mod secrets;
mod sessions;
mod store;
mod verifier;

#[cfg(test)]
mod tests;

use super::error::TlsError;
use crate::clock::EpochClock;
use noq_proto::crypto::ClientConfig;
use noq_proto::crypto::rustls::QuicClientConfig;
use reading::TicketReader;
use restore::Restorer;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::sign::SigningKey;
use sessions::Sessions;
use std::sync::Arc;
use store::PortTickets;
pub use store::{MAX_TICKET, TicketStore};
use verifier::Verifier;

/// A client's TLS configuration whose tickets are in a [`TicketStore`], and nowhere else.
#[derive(Debug)]
pub struct TicketClient {
    /// Without a store of sessions.
    config: rustls::ClientConfig,
    verifier: Arc<dyn ServerCertVerifier>,
    signing: Arc<dyn SigningKey>,
    store: Arc<dyn TicketStore>,
    epoch: EpochClock,
}

impl TicketClient {
    /// A client that trusts the servers that `trusted` accepts.
    ///
    /// # Errors
    /// rustls refuses the configuration, or no key can be made.
    pub fn new(
        trusted: Arc<WebPkiServerVerifier>,
        alpn: &[u8],
        store: Arc<dyn TicketStore>,
        epoch: EpochClock,
    ) -> Result<Self, TlsError> {
        let verifier = Arc::new(Verifier::new(trusted)?);
        let signing = verifier.signing_key();
        let shared: Arc<dyn ServerCertVerifier> = verifier;
        let mut config = rustls::ClientConfig::builder_with_details(
            secrets::provider(),
            Arc::new(epoch.clone()),
        )
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(shared.clone())
        .with_no_client_auth();
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self { config, verifier: shared, signing, store, epoch })
    }

    /// Returns the configurations for QUIC without and with early data, which lets requests leave
    /// with the first flight, for servers at `port`. Both share the tickets of each server: its
    /// name and this port.
    ///
    /// # Errors
    /// The provider lacks the cipher suite of QUIC's Initial packets.
    pub fn quic(&self, port: u16) -> Result<[Arc<dyn ClientConfig>; 2], TlsError> {
        let tickets = PortTickets { store: self.store.clone(), port };
        let restorer = Restorer {
            config: self.config.clone(),
            verifier: self.verifier.clone(),
            signing: self.signing.clone(),
        };
        let sessions = Arc::new(Sessions::new(restorer, tickets.clone(), self.epoch.clone()));
        let quic = |early_data| -> Result<Arc<dyn ClientConfig>, TlsError> {
            let mut config = self.config.clone();
            config.resumption = Resumption::store(sessions.clone());
            config.enable_early_data = early_data;
            let config =
                QuicClientConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)?;
            let (tickets, epoch) = (tickets.clone(), self.epoch.clone());
            Ok(Arc::new(TicketReader { config, tickets, epoch }))
        };
        Ok([quic(false)?, quic(true)?])
    }
}

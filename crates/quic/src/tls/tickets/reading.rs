//! Sessions of QUIC whose tickets are noted.

use super::messages::Messages;
use super::saved::SavedTicket;
use super::sessions;
use super::store::PortTickets;
use crate::clock::EpochClock;
use crate::tls::wrapped::{WrapKeys, WrappedSession};
use bentpipe_units::{Epoch, Span};
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::crypto::{ClientConfig, PacketKey, Session};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, Side, TransportError};
use rustls::pki_types::CertificateDer;
use std::sync::{Arc, Mutex, PoisonError};

/// The configuration of a client whose tickets are kept in `tickets`.
pub(super) struct TicketReader {
    pub config: QuicClientConfig,
    pub tickets: PortTickets,
    pub epoch: EpochClock,
}

impl ClientConfig for TicketReader {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.config.start_session(version, server_name, params)?;
        let reading = Reading {
            messages: Arc::default(),
            server: server_name.to_owned(),
            tickets: self.tickets.clone(),
            epoch: self.epoch.clone(),
        };
        Ok(WrappedSession::boxed(session, Side::Client, &reading))
    }
}

/// What is read of one session.
#[derive(Clone)]
struct Reading {
    messages: Arc<Mutex<Messages>>,
    server: String,
    tickets: PortTickets,
    epoch: EpochClock,
}

impl WrapKeys for Reading {
    fn packet(&self, key: Box<dyn PacketKey>, _: crate::observer::Space) -> Box<dyn PacketKey> {
        key
    }

    fn read_handshake(
        &self,
        session: &mut dyn Session,
        bytes: &[u8],
    ) -> Result<bool, TransportError> {
        let (result, secrets) = sessions::noting(|| session.read_handshake(bytes));
        let new = self.messages.lock().unwrap_or_else(PoisonError::into_inner).read(bytes);
        // rustls reads the same messages in the same order.
        if result.is_ok() && new.len() == secrets.len() && !new.is_empty() {
            let chain = session.peer_identity().and_then(|identity| identity.downcast().ok());
            let chain: Vec<CertificateDer<'static>> = *chain.unwrap_or_default();
            for (new, noted) in new.into_iter().zip(secrets) {
                let sessions::Noted { secret, suite, early, parameters } = noted;
                let received = self.epoch.since_unix_epoch().as_secs();
                let chain = chain.clone();
                self.keep(&SavedTicket { new, secret, suite, received, early, parameters, chain });
            }
        }
        result
    }
}

impl Reading {
    fn keep(&self, saved: &SavedTicket) {
        let now = self.epoch.epoch();
        let left = Span::from_secs(saved.expires().saturating_sub(saved.received));
        let expires: Epoch = now + left;
        if let Some(bytes) = saved.encode().filter(|_| !left.is_zero() && !saved.chain.is_empty()) {
            self.tickets.put(&self.server, bytes, now, expires);
        }
    }
}

//! Building a client.

use super::by_port::ByPort;
use super::client::Client;
use super::connection::ConnectContext;
use super::error::ClientError;
use super::tcp::{self, TcpContext};
use crate::clock::RealClock;
use crate::qlog::{Qlog, Traces};
use crate::store::TokenFile;
use crate::tls::Trust;
use bentpipe_quic::noq_proto::crypto::ClientConfig;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::noq_proto::{TokenMemoryCache, TokenStore};
use bentpipe_quic::path_memory::token::{MemoryPathTokenStore, TokenClient};
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_quic::tls::tickets::TicketClient;
use bentpipe_units::Span;
use rustls::client::Resumption;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// Builds a [`Client`].
#[derive(Debug, Default)]
pub struct ClientBuilder {
    trust: Trust,
    tokens: Option<Arc<TokenFile>>,
    no_path_tokens: bool,
    handshake_time: Option<Span>,
    stall_time: Option<Span>,
    addresses: BTreeMap<String, IpAddr>,
    qlog: Option<Qlog>,
    over_tcp: bool,
}

impl ClientBuilder {
    /// Trusts these servers instead of those that the system trusts.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Keeps tokens and TLS tickets in `file`, for connections of later programs. Tickets of
    /// servers that are not verified ([`Trust::Anybody`]) are kept in memory.
    #[must_use]
    pub fn tokens(mut self, file: TokenFile) -> Self {
        self.tokens = Some(Arc::new(file));
        self
    }

    /// Neither keeps nor sends path tokens, like a client that does not support them. Tokens for
    /// address validation are kept.
    #[must_use]
    pub fn no_path_tokens(mut self) -> Self {
        self.no_path_tokens = true;
        self
    }

    /// Sets the time limit of a handshake, for each address that is tried. Defaults to 10 s.
    #[must_use]
    pub fn handshake_time(mut self, limit: Span) -> Self {
        self.handshake_time = Some(limit);
        self
    }

    /// Sets the longest time in which nothing of a response arrives. Defaults to 60 s.
    #[must_use]
    pub fn stall_time(mut self, limit: Span) -> Self {
        self.stall_time = Some(limit);
        self
    }

    /// Resolves `host` to `address` instead of asking the system. The server's certificate must
    /// still be valid for `host`.
    #[must_use]
    pub fn address(mut self, host: &str, address: IpAddr) -> Self {
        self.addresses.insert(host.to_ascii_lowercase(), address);
        self
    }

    /// Writes qlog files of its connections, until the client is dropped.
    #[must_use]
    pub fn qlog(mut self, qlog: Qlog) -> Self {
        self.qlog = Some(qlog);
        self
    }

    /// Uses HTTP/2 or HTTP/1.1 with servers that do not answer over QUIC: when QUIC has failed, or
    /// has no handshake after 3 s, and the connection over TCP is first. Defaults to false.
    #[must_use]
    pub fn tcp_fallback(mut self, fallback: bool) -> Self {
        self.over_tcp = fallback;
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    /// No trusted certificates, no cryptography, or no directory for qlog files.
    pub fn build(self) -> Result<Client, ClientError> {
        let clock = RealClock::new();
        clock.now();
        let handshake_time = self.handshake_time.unwrap_or(Span::from_secs(10));
        let stall_time = self.stall_time.unwrap_or(Span::from_secs(60));
        let over_tcp = |clock: &RealClock| {
            let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
            let mut config = self.trust.config(&versions).map_err(system)?;
            config.alpn_protocols = tcp::ALPN.map(<[u8]>::to_vec).to_vec();
            let tls = ByPort::new(move |_| {
                let mut config = config.clone();
                config.resumption = Resumption::default();
                Ok(Arc::new(config).into())
            });
            Ok(TcpContext { tls, handshake_time, stall_time, clock: clock.clone() })
        };
        let over_tcp = self.over_tcp.then(|| over_tcp(&clock)).transpose()?;
        let tls = self.tls(&clock)?;
        // What the provider lacks is said now, not by the first request.
        tls.at(443)?;
        let address_tokens: Arc<dyn TokenStore> = match &self.tokens {
            Some(file) => file.clone(),
            None => Arc::new(TokenMemoryCache::default()),
        };
        let path_tokens = match &self.tokens {
            _ if self.no_path_tokens => None,
            Some(file) => Some(TokenClient::new(file.path_tokens(), clock.epoch())),
            None => Some(TokenClient::new(MemoryPathTokenStore::default(), clock.epoch())),
        };
        let traces = self.qlog.map(|qlog| {
            let directory = qlog.directory.clone();
            let failed =
                |error: io::Error| ClientError::Qlog { directory, reason: error.to_string() };
            Traces::start(&qlog, clock.clone()).map_err(failed)
        });
        let context = ConnectContext {
            tls,
            address_tokens,
            path_tokens,
            handshake_time,
            stall_time,
            clock,
            traces: traces.transpose()?,
        };
        Ok(Client::new(context, over_tcp, self.addresses))
    }

    /// Returns the TLS configurations for QUIC, without and with early data, by port. Both have the
    /// same tickets, which are in the file of tokens, if there is one and servers are verified: a
    /// ticket from somebody who was not verified must not stand for the server later.
    fn tls(&self, clock: &RealClock) -> Result<QuicTls, ClientError> {
        let file = self.tokens.as_ref().filter(|file| file.keeps_tickets());
        if let Some(file) = file
            && let Some(verifier) = self.trust.verifier().map_err(system)?
        {
            let client = TicketClient::new(verifier, ALPN_H3, file.clone(), clock.epoch());
            let client = client.map_err(system)?;
            return Ok(ByPort::new(move |port| client.quic(port).map_err(system)));
        }
        let config = self.trust.config(&[&rustls::version::TLS13]);
        let mut config = config.map_err(system)?;
        config.alpn_protocols = vec![ALPN_H3.to_vec()];
        Ok(ByPort::new(move |_| {
            let mut config = config.clone();
            config.resumption = Resumption::default();
            let tls = |early| -> Result<Arc<dyn ClientConfig>, ClientError> {
                let mut config = config.clone();
                config.enable_early_data = early;
                let refused = |_| system("the cryptography provider lacks TLS_AES_128_GCM_SHA256");
                Ok(Arc::new(QuicClientConfig::try_from(config).map_err(refused)?))
            };
            Ok([tls(false)?, tls(true)?])
        }))
    }
}

type QuicTls = ByPort<[Arc<dyn ClientConfig>; 2]>;

fn system(error: impl std::fmt::Display) -> ClientError {
    ClientError::System(error.to_string())
}

impl Client {
    /// Returns a builder with the defaults.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

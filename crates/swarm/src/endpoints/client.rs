//! A client: one transfer after another, each tried again until it is complete.

use super::kit::{Kit, NAME, SEGMENTS, SkewedClock};
use super::plan::{EpisodePlan, Transfer};
use super::transfer::{self, Received};
use crate::draw::Random;
use crate::failure::Failure;
use bentpipe_quic::noq_proto::TokenMemoryCache;
use bentpipe_quic::path_memory::token::{
    ClientWindows, Malformed, MemoryPathTokenStore, PathTokenStore, TokenClient, Tokens,
};
use bentpipe_quic::tls::Client as Tls;
use bentpipe_quic::{Conn, Endpoint};
use bentpipe_units::{Epoch, Span, Time};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Pause before a transfer is tried again.
const RETRY_AFTER: Span = Span::from_millis(200);
/// Error codes with which a client closes: done, and tired of waiting.
const DONE: u64 = 0;
const TIRED: u64 = 1;

/// A client and its current connection.
pub struct Client {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The client's address as others see it.
    pub address: SocketAddr,
    name: String,
    tls: Tls,
    validations: Arc<TokenMemoryCache>,
    tokens: Option<TokenClient>,
    transfers: Vec<Transfer>,
    /// Number of transfers that are complete.
    pub done: usize,
    /// The running attempt.
    attempt: Option<Attempt>,
    /// When the next attempt begins.
    next: Time,
    /// Longest time of an attempt.
    patience: Span,
}

struct Attempt {
    conn: Conn,
    received: Received,
    begun: Time,
}

impl Client {
    /// Creates client `number`, which gives an attempt up after `patience`. `legitimate` counts the
    /// tokens of the server that it brings.
    pub fn new(
        plan: &EpisodePlan,
        kit: &Kit,
        number: usize,
        clock: &SkewedClock,
        patience: Span,
        legitimate: Arc<AtomicU64>,
    ) -> Result<Self, Failure> {
        let name = format!("client-{number}");
        let forges = plan.forges && number + 1 == plan.clients.len();
        let store = SuspectStore {
            store: MemoryPathTokenStore::default(),
            legitimate,
            forger: forges.then(|| Random::new(plan.seed, "endpoints/forged-tokens/each")),
        };
        Ok(Self {
            endpoint: Endpoint::new(kit.endpoint(&name), kit.clock, None, SEGMENTS),
            address: SocketAddr::from(([192, 0, 2 + number as u8, 1], 40_000)),
            tls: kit.client_tls(clock.epoch.clone())?,
            validations: Arc::default(),
            tokens: plan.tokens.then(|| TokenClient::new(store, clock.epoch.clone())),
            transfers: plan.clients[number].clone(),
            done: 0,
            attempt: None,
            next: Time::ZERO + Span::from_secs_f64(plan.clients[number][0].pause_s),
            patience,
            name,
        })
    }

    /// Returns true if all transfers are complete.
    pub fn is_done(&self) -> bool {
        self.done == self.transfers.len()
    }

    /// Returns what the current transfer has received.
    pub fn progress(&self) -> String {
        let attempt = self.attempt.as_ref().map_or((0, false), |own| own.received.progress());
        format!("{} of {} transfers, then {attempt:?}", self.done, self.transfers.len())
    }

    /// Returns when [`Client::act`] is due, besides after each datagram.
    pub fn next_timeout(&self) -> Option<Time> {
        let own = match &self.attempt {
            _ if self.is_done() => None,
            Some(attempt) => Some(attempt.begun + self.patience),
            None => Some(self.next),
        };
        own.into_iter().chain(self.endpoint.next_timeout()).min()
    }

    /// Begins and ends attempts.
    ///
    /// # Errors
    /// Bytes arrived that were not sent, or too many.
    pub fn act(&mut self, kit: &Kit, server: SocketAddr, now: Time) -> Result<(), Failure> {
        if self.is_done() {
            return Ok(());
        }
        let transfer = self.transfers[self.done];
        let Some(attempt) = &self.attempt else {
            if now >= self.next {
                self.begin(kit, server, transfer, now)?;
            }
            return Ok(());
        };
        let (bytes, ended) = attempt.received.progress();
        let wrong = attempt.received.wrong();
        if wrong.is_some() || bytes > transfer.down || ended && bytes != transfer.down {
            let what = format!(
                "{}: {bytes} of {} bytes, first wrong byte: {wrong:?}, ended: {ended}",
                self.name, transfer.down
            );
            return Err(Failure::new("bytes as asked", what));
        }
        let tired = now >= attempt.begun + self.patience;
        let closed = attempt.conn.closed().is_some();
        if !(ended || tired || closed) {
            return Ok(());
        }
        if !closed {
            attempt.conn.close(if ended { DONE } else { TIRED }, b"");
            self.endpoint.wake(now);
        }
        self.attempt = None;
        self.next = now + RETRY_AFTER;
        if ended {
            self.done += 1;
            let pause = self.transfers.get(self.done).map_or(0.0, |transfer| transfer.pause_s);
            self.next = now + Span::from_secs_f64(pause);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        kit: &Kit,
        server: SocketAddr,
        transfer: Transfer,
        now: Time,
    ) -> Result<(), Failure> {
        let windows =
            ClientWindows { present: kit.settings().connection_window, max: ClientWindows::MAX };
        let tokens = self.tokens.as_ref().map(|client| Tokens::client(client, NAME, windows));
        let refused = |error: String| Failure::new("the client connects", error);
        let tls = self.tls.quic(transfer.early).map_err(|error| refused(error.to_string()))?;
        let (mut config, attachments) = kit.connection()?.with_tokens(tokens).client(Arc::new(tls));
        let attempt = format!("{}/{}/{}", self.name, self.done, now.as_nanos());
        config
            .initial_dst_cid_provider(kit.initial_cids(&attempt))
            .token_store(self.validations.clone());
        let received = Received::default();
        let shared = received.clone();
        let conn = self
            .endpoint
            .connect(now, config, server, NAME, attachments, move |conn| {
                transfer::client(conn, transfer.up, transfer.down, shared)
            })
            .map_err(|error| refused(error.to_string()))?;
        self.attempt = Some(Attempt { conn, received, begun: now });
        Ok(())
    }
}

/// A store of tokens that counts those of the server, or a forger, which changes them.
#[derive(Debug)]
struct SuspectStore {
    store: MemoryPathTokenStore,
    legitimate: Arc<AtomicU64>,
    forger: Option<Random>,
}

impl PathTokenStore for SuspectStore {
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed> {
        self.store.put(server, token, now)
    }

    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>> {
        let taken = self.store.take(server, now);
        let Some(random) = &mut self.forger else {
            self.legitimate.fetch_add(u64::from(taken.is_some()), Relaxed);
            return taken;
        };
        // A token of the server with another window, RTT, expiry or seal, or arbitrary bytes.
        let Some(mut token) = taken.filter(|_| random.chance(0.8)) else {
            let length = random.whole(0, 120) as usize;
            return Some(random.bytes(length));
        };
        let at = random.whole(0, token.len() as u64 - 1) as usize;
        token[at] ^= 1 << random.whole(0, 7);
        Some(token)
    }

    fn forget(&mut self, server: &str) {
        self.store.forget(server);
    }

    fn forget_all(&mut self) {
        self.store.forget_all();
    }
}

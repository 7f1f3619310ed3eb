//! rustls's store of sessions, which passes on what it is told of tickets.

use super::restore::Restorer;
use super::saved::SavedTicket;
use super::secrets;
use super::store::PortTickets;
use crate::clock::EpochClock;
use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use std::cell::RefCell;
use zeroize::Zeroizing;

/// Servers whose key exchange group is remembered.
const HINTS: usize = 256;

/// What rustls tells of a ticket.
pub(super) struct Noted {
    pub secret: Zeroizing<Vec<u8>>,
    pub suite: u16,
    pub early: bool,
    pub parameters: Vec<u8>,
}

thread_local! {
    static NOTED: RefCell<Vec<Noted>> = const { RefCell::new(Vec::new()) };
}

/// Returns what rustls told of tickets during `work`, in their order.
pub(super) fn noting<T>(work: impl FnOnce() -> T) -> (T, Vec<Noted>) {
    NOTED.take();
    let result = secrets::noting(work);
    (result, NOTED.take())
}

/// Sessions are not kept here: they are restored from [`PortTickets`] when they are wanted.
#[derive(Debug)]
pub(super) struct Sessions {
    restorer: Restorer,
    tickets: PortTickets,
    epoch: EpochClock,
    hints: ClientSessionMemoryCache,
}

impl Sessions {
    pub fn new(restorer: Restorer, tickets: PortTickets, epoch: EpochClock) -> Self {
        Self { restorer, tickets, epoch, hints: ClientSessionMemoryCache::new(HINTS) }
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.hints.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.hints.kx_hint(server)
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let Some(secret) = secrets::noted() else { return };
        let suite = u16::from(value.suite().common.suite);
        let (early, parameters) = (value.max_early_data_size() > 0, value.quic_params());
        NOTED.with_borrow_mut(|all| all.push(Noted { secret, suite, early, parameters }));
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let now = self.epoch.since_unix_epoch().as_secs();
        let bytes = self.tickets.take(&server.to_str(), self.epoch.epoch())?;
        self.restorer.restore(server, SavedTicket::decode(&bytes)?, now)
    }
}

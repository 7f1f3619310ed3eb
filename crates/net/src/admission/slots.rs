//! Slots, for open files or requests of an upstream, bounded in total and for each client.

use super::client::client_network;
use bentpipe_quic::path_memory::IpPrefix;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, timeout};

/// Slots. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    per_client: usize,
    /// Requests of one client that may wait, because they take memory.
    waiting: usize,
    clients: Mutex<BTreeMap<IpPrefix, ClientShare>>,
}

#[derive(Debug)]
struct ClientShare {
    slots: Arc<Semaphore>,
    /// Requests that hold a slot or wait for one.
    users: usize,
}

/// A slot of a client. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _user: User,
}

/// A request that holds a slot or waits for one.
#[derive(Debug)]
struct User {
    slots: Slots,
    client: IpPrefix,
}

impl Slots {
    /// `all` slots, of which one client may have `per_client`, while at most `waiting` requests of
    /// it wait for one.
    pub fn new(all: usize, per_client: usize, waiting: usize) -> Self {
        let all = Arc::new(Semaphore::new(all.min(Semaphore::MAX_PERMITS)));
        let per_client = per_client.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner { all, per_client, waiting, clients: Mutex::default() }))
    }

    /// Returns a slot for the client at `address`, or `None` if none is free within `wait`, or too
    /// many of its requests wait.
    pub async fn slot(&self, address: IpAddr, wait: Duration) -> Option<ClientSlot> {
        let (user, slots) = self.add_user(client_network(address))?;
        let both = async {
            let own = slots.acquire_owned().await.ok()?;
            let all = self.0.all.clone().acquire_owned().await.ok()?;
            Some((all, own))
        };
        let (all, own) = timeout(wait, both).await.ok()??;
        Some(ClientSlot { _all: all, _own: own, _user: user })
    }

    fn add_user(&self, client: IpPrefix) -> Option<(User, Arc<Semaphore>)> {
        let per_client = self.0.per_client;
        let mut clients = self.clients();
        let slots = clients.entry(client).or_insert_with(|| ClientShare {
            slots: Arc::new(Semaphore::new(per_client)),
            users: 0,
        });
        if slots.users >= per_client.saturating_add(self.0.waiting) {
            return None;
        }
        slots.users += 1;
        Some((User { slots: self.clone(), client }, slots.slots.clone()))
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<IpPrefix, ClientShare>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut clients = self.slots.clients();
        let Some(slots) = clients.get_mut(&self.client) else { return };
        slots.users -= 1;
        if slots.users == 0 {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(500);
    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[tokio::test]
    async fn a_client_without_free_slots_waits_and_another_does_not() {
        let files = Slots::new(3, 2, 2);
        let held = [files.slot(ONE, WAIT).await.unwrap(), files.slot(ONE, WAIT).await.unwrap()];
        assert!(files.slot(ONE, WAIT).await.is_none());
        let other = files.slot(OTHER, WAIT).await.unwrap();
        assert!(files.slot(OTHER, WAIT).await.is_none(), "all slots are taken");
        let waiting = tokio::spawn({
            let files = files.clone();
            async move { files.slot(ONE, WAIT).await.is_some() }
        });
        tokio::task::yield_now().await;
        drop(held);
        assert!(waiting.await.unwrap());
        drop(other);
        assert!(files.clients().is_empty(), "clients without files take no memory");
    }

    #[tokio::test]
    async fn the_waiting_requests_of_a_client_are_bounded() {
        let files = Slots::new(10, 2, 2);
        let _held = [files.slot(ONE, WAIT).await.unwrap(), files.slot(ONE, WAIT).await.unwrap()];
        let started = tokio::time::Instant::now();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let files = files.clone();
                tokio::spawn(async move { files.slot(ONE, WAIT).await.is_some() })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(files.slot(ONE, WAIT).await.is_none());
        assert!(started.elapsed() < WAIT / 2, "refused at once");
        for waiting in waiting {
            assert!(!waiting.await.unwrap());
        }
        assert!(started.elapsed() >= WAIT);
    }
}

//! Slots for open files, bounded in total and for each client.

use super::client::client_network;
use bentpipe_quic::memory::IpPrefix;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, timeout};

/// Time that a request waits for a slot before its response is 503. Our choice: a few RTTs over a
/// GEO satellite, in which other responses to the same client end.
pub(crate) const SLOT_WAIT: Duration = Duration::from_secs(2);

/// Slots for open files. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct OpenFiles(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    per_client: usize,
    clients: Mutex<BTreeMap<IpPrefix, ClientSlots>>,
}

#[derive(Debug)]
struct ClientSlots {
    slots: Arc<Semaphore>,
    /// Requests that hold a slot or wait for one.
    users: usize,
}

/// Permission to have a file open. Dropping it gives the slot back.
#[derive(Debug)]
pub(crate) struct FileSlot {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _user: User,
}

/// A request that holds a slot or waits for one.
#[derive(Debug)]
struct User {
    files: OpenFiles,
    client: IpPrefix,
}

impl OpenFiles {
    /// Allows `all` open files, `per_client` of them for one client.
    pub fn new(all: usize, per_client: usize) -> Self {
        let all = Arc::new(Semaphore::new(all.min(Semaphore::MAX_PERMITS)));
        let per_client = per_client.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner { all, per_client, clients: Mutex::default() }))
    }

    /// Returns a slot for the client at `address`, or `None` if none is free within [`SLOT_WAIT`].
    /// The requests of a client that may wait are as many as its slots, because they take memory.
    pub async fn slot(&self, address: IpAddr) -> Option<FileSlot> {
        let (user, slots) = self.add_user(client_network(address))?;
        let both = async {
            let own = slots.acquire_owned().await.ok()?;
            let all = self.0.all.clone().acquire_owned().await.ok()?;
            Some((all, own))
        };
        let (all, own) = timeout(SLOT_WAIT, both).await.ok()??;
        Some(FileSlot { _all: all, _own: own, _user: user })
    }

    fn add_user(&self, client: IpPrefix) -> Option<(User, Arc<Semaphore>)> {
        let per_client = self.0.per_client;
        let mut clients = self.clients();
        let slots = clients.entry(client).or_insert_with(|| ClientSlots {
            slots: Arc::new(Semaphore::new(per_client)),
            users: 0,
        });
        if slots.users >= per_client.saturating_mul(2) {
            return None;
        }
        slots.users += 1;
        Some((User { files: self.clone(), client }, slots.slots.clone()))
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<IpPrefix, ClientSlots>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut clients = self.files.clients();
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

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[tokio::test]
    async fn a_client_without_free_slots_waits_and_another_does_not() {
        let files = OpenFiles::new(3, 2);
        let held = [files.slot(ONE).await.unwrap(), files.slot(ONE).await.unwrap()];
        assert!(files.slot(ONE).await.is_none());
        let other = files.slot(OTHER).await.unwrap();
        assert!(files.slot(OTHER).await.is_none(), "all slots are taken");
        let waiting = tokio::spawn({
            let files = files.clone();
            async move { files.slot(ONE).await.is_some() }
        });
        tokio::task::yield_now().await;
        drop(held);
        assert!(waiting.await.unwrap());
        drop(other);
        assert!(files.clients().is_empty(), "clients without files take no memory");
    }

    #[tokio::test]
    async fn the_waiting_requests_of_a_client_are_bounded_by_its_slots() {
        let files = OpenFiles::new(10, 2);
        let _held = [files.slot(ONE).await.unwrap(), files.slot(ONE).await.unwrap()];
        let started = tokio::time::Instant::now();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let files = files.clone();
                tokio::spawn(async move { files.slot(ONE).await.is_some() })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(files.slot(ONE).await.is_none());
        assert!(started.elapsed() < SLOT_WAIT / 2, "refused at once");
        for waiting in waiting {
            assert!(!waiting.await.unwrap());
        }
        assert!(started.elapsed() >= SLOT_WAIT);
    }
}

//! A path store in memory, with a file that a thread of its own writes.

use super::sqlite::SqliteStore;
use bentpipe_quic::memory::{
    Entry, Holder, Limits, MemoryStore, PathKey, PathStore, SavedPath, StoreError,
};
use bentpipe_units::Epoch;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Changes that may wait to be written. Further changes are not written to the file.
const QUEUE: usize = 1024;

/// Paths in memory, loaded from an SQLite file. A thread of its own writes each change to the file,
/// so that no connection waits for the disk.
///
/// Leases stay in memory, so only one server at a time should use a file. Paths that another
/// program deletes from the file are gone at the next start. Dropping the store waits until all
/// changes are written.
#[derive(Debug)]
pub struct WriteBehind {
    memory: MemoryStore,
    changes: Option<SyncSender<Change>>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Change {
    Replace(PathKey, SavedPath, Epoch),
    Forget(PathKey),
    ForgetAll,
    Expire(Epoch),
}

impl WriteBehind {
    /// Opens or creates `file`, and loads the paths that are valid at `now`.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`], or no thread can be started.
    pub fn open(file: &Path, limits: Limits, now: Epoch) -> Result<Self, StoreError> {
        let store = SqliteStore::open(file, limits)?;
        let mut memory = MemoryStore::new(limits);
        for entry in store.list(now)? {
            memory.replace(&entry.key, entry.path, now)?;
        }
        let (changes, inbox) = sync_channel(QUEUE);
        let spawned = std::thread::Builder::new()
            .name("path store".to_owned())
            .spawn(move || write(store, &inbox));
        let writer = spawned.map_err(|error| StoreError::Storage {
            place: file.display().to_string(),
            reason: error.to_string(),
            remedy: "free some memory or threads".to_owned(),
        })?;
        Ok(Self { memory, changes: Some(changes), writer: Some(writer) })
    }

    fn later(&self, change: Change) {
        if self.changes.as_ref().is_none_or(|changes| changes.try_send(change).is_err()) {
            tracing::warn!("a change is not written to the path store: too many changes wait");
        }
    }
}

fn write(mut store: SqliteStore, inbox: &Receiver<Change>) {
    while let Ok(change) = inbox.recv() {
        let written = match change {
            Change::Replace(key, path, now) => store.replace(&key, path, now),
            Change::Forget(key) => store.forget(&key).map(|_| ()),
            Change::ForgetAll => store.forget_all().map(|_| ()),
            Change::Expire(now) => store.expire(now).map(|_| ()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "path store");
        }
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.changes = None;
        if let Some(writer) = self.writer.take() {
            // The panic of a writer has been reported.
            let _ = writer.join();
        }
    }
}

impl PathStore for WriteBehind {
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError> {
        self.memory.replace(key, path, now)?;
        self.later(Change::Replace(key.clone(), path, now));
        Ok(())
    }

    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError> {
        self.memory.lease(key, now, holder)
    }

    fn is_lent(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError> {
        self.memory.is_lent(key, now)
    }

    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError> {
        self.memory.release(key, holder)
    }

    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError> {
        let known = self.memory.forget(key)?;
        self.later(Change::Forget(key.clone()));
        Ok(known)
    }

    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError> {
        self.memory.list(now)
    }

    fn forget_all(&mut self) -> Result<usize, StoreError> {
        let count = self.memory.forget_all()?;
        self.later(Change::ForgetAll);
        Ok(count)
    }

    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError> {
        let count = self.memory.expire(now)?;
        self.later(Change::Expire(now));
        Ok(count)
    }
}

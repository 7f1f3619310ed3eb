//! A path store in memory, with a file that a thread of its own writes, and watches.

use super::changes::{Changes, Next, Waiting};
use super::open_error::OpenError;
use super::pending::PendingChanges;
use super::sqlite::SqliteStore;
use bentpipe_quic::path_memory::{
    Entry, Holder, Limits, MemoryStore, PathKey, PathStore, SavedPath, StoreError,
};
use bentpipe_units::Epoch;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time after which the file is looked at if there is nothing to write. Our choice: a person who
/// deletes a path does not wait longer, and looking costs a few microseconds.
const WATCH: Duration = Duration::from_secs(1);

/// Paths in memory, loaded from an SQLite file. A thread of its own writes each change to the file,
/// so that no connection waits for the disk.
///
/// Leases stay in memory, and paths that another program adds to the file are not read before the
/// next start, so only one server at a time should use a file. Paths that another program deletes
/// from the file are gone within a second. Dropping the store waits until all changes are written.
#[derive(Debug)]
pub struct WriteBehind {
    memory: MemoryStore,
    /// Paths whose changes may wait. If more do, the file is written anew from the memory.
    max_pending: usize,
    changes: Arc<Changes<PendingChanges>>,
    writer: Option<JoinHandle<()>>,
}

impl WriteBehind {
    /// Opens or creates `file`, and loads the paths that are valid at `now`.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`], or no thread can be started.
    pub fn open(file: &Path, limits: Limits, now: Epoch) -> Result<Self, StoreError> {
        Ok(Self::open_classified(file, limits, now, Arc::default())?.0)
    }

    /// As [`WriteBehind::open`]. Also returns the number of rows in the file that hold no valid
    /// path. They are ignored. `failures` counts changes that cannot be written.
    pub(crate) fn open_classified(
        file: &Path,
        limits: Limits,
        now: Epoch,
        failures: Arc<AtomicU64>,
    ) -> Result<(Self, usize), OpenError> {
        let mut store = SqliteStore::open_classified(file, limits)?;
        let mut memory = MemoryStore::new(limits);
        let (entries, invalid) = store.load(now).map_err(OpenError::Unavailable)?;
        for entry in entries {
            memory.replace(&entry.key, entry.path, now).map_err(OpenError::Unavailable)?;
        }
        let changes = Arc::new(Changes::<PendingChanges>::default());
        let inbox = changes.clone();
        let spawned = std::thread::Builder::new()
            .name("path store".to_owned())
            .spawn(move || write(&inbox, &mut store, &failures));
        let writer = spawned.map_err(|error| {
            OpenError::Unavailable(StoreError::Storage {
                place: file.display().to_string(),
                reason: error.to_string(),
                remedy: "free some memory or threads".to_owned(),
            })
        })?;
        let max_pending = limits.paths.saturating_mul(2);
        Ok((Self { memory, max_pending, changes, writer: Some(writer) }, invalid))
    }

    /// Forgets what other programs have deleted from the file.
    fn follow(&mut self, now: Epoch) {
        let Self { memory, changes, .. } = self;
        changes.found(|kept, pending| {
            for Entry { key, .. } in memory.list(now).unwrap_or_default() {
                if !kept.contains(&key) && !pending.concerns(&key) {
                    // A store in memory does not fail.
                    let _ = memory.forget(&key);
                }
            }
        });
    }

    /// Passes a change, which the memory has already, to the writer.
    fn later(&self, now: Epoch, change: impl FnOnce(&mut PendingChanges)) {
        self.changes.add(|pending| {
            change(pending);
            if pending.len() > self.max_pending
                && let Ok(entries) = self.memory.list(now)
            {
                pending.rewrite(entries, now);
            }
        });
    }
}

/// Writes changes until the store is closed. When another program has changed the file, shows which
/// paths it has.
fn write(inbox: &Changes<PendingChanges>, store: &mut SqliteStore, failures: &AtomicU64) {
    let mut version = store.others_version();
    loop {
        let missed = match inbox.take(WATCH) {
            Next::Write { changes, missed } => {
                changes.write(store, |error| {
                    failures.fetch_add(1, Relaxed);
                    tracing::warn!(%error, "a path is not written");
                });
                missed
            }
            Next::Look => false,
            Next::End => return,
        };
        let before = std::mem::replace(&mut version, store.others_version());
        if (missed || version != before)
            && let Ok((entries, _)) = store.load(Epoch::default())
        {
            inbox.show(entries.into_iter().map(|entry| entry.key).collect());
        }
    }
}

impl Waiting for PendingChanges {
    /// The paths that are in the file.
    type Found = BTreeSet<PathKey>;

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.changes.close();
        if let Some(writer) = self.writer.take() {
            // The panic of a writer has been reported.
            let _ = writer.join();
        }
    }
}

impl PathStore for WriteBehind {
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError> {
        self.memory.replace(key, path, now)?;
        self.later(now, |pending| pending.replace(key, path, now));
        Ok(())
    }

    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError> {
        self.follow(now);
        self.memory.lease(key, now, holder)
    }

    fn is_leased(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError> {
        self.memory.is_leased(key, now)
    }

    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError> {
        self.memory.release(key, holder)
    }

    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError> {
        let known = self.memory.forget(key)?;
        // Paths that expire later than this moment are written anew if too many changes wait.
        self.later(Epoch::default(), |pending| pending.forget(key));
        Ok(known)
    }

    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError> {
        self.memory.list(now)
    }

    fn forget_all(&mut self) -> Result<usize, StoreError> {
        let count = self.memory.forget_all()?;
        self.later(Epoch::default(), PendingChanges::forget_all);
        Ok(count)
    }

    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError> {
        let count = self.memory.expire(now)?;
        self.later(now, |pending| pending.expire(now));
        Ok(count)
    }
}

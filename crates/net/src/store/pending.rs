//! Changes of a path store that wait to be written to its file.

use bentpipe_quic::path_memory::{Entry, PathKey, PathStore, SavedPath, StoreError};
use bentpipe_units::Epoch;
use std::collections::BTreeMap;

/// Waiting changes. Of several changes of one path only the last one waits, so that a path that was
/// forgotten is not brought back.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    /// Whether to delete all paths first.
    forget_all: bool,
    /// Paths that expire by then are deleted next.
    expire: Option<Epoch>,
    /// By path: the saved parameters, with the time of the change, or `None` if it was forgotten.
    paths: BTreeMap<PathKey, Option<(SavedPath, Epoch)>>,
}

impl PendingChanges {
    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        !self.forget_all && self.expire.is_none() && self.paths.is_empty()
    }

    /// Number of paths with a waiting change.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Returns whether `key` has a waiting change, or all paths have.
    pub fn concerns(&self, key: &PathKey) -> bool {
        self.forget_all || self.paths.contains_key(key)
    }

    pub fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) {
        self.paths.insert(key.clone(), Some((path, now)));
    }

    pub fn forget(&mut self, key: &PathKey) {
        self.paths.insert(key.clone(), None);
    }

    pub fn forget_all(&mut self) {
        *self = Self { forget_all: true, ..Self::default() };
    }

    pub fn expire(&mut self, now: Epoch) {
        self.expire = self.expire.max(Some(now));
    }

    /// Writes all of `entries` in place of what waits.
    pub fn rewrite(&mut self, entries: Vec<Entry>, now: Epoch) {
        self.forget_all();
        self.paths =
            entries.into_iter().map(|entry| (entry.key, Some((entry.path, now)))).collect();
    }

    /// Writes the changes to `store`. Calls `failed` for each that cannot be written.
    pub fn write(self, store: &mut impl PathStore, failed: impl Fn(StoreError)) {
        if self.forget_all {
            store.forget_all().map_or_else(&failed, |_| ());
        }
        if let Some(now) = self.expire {
            store.expire(now).map_or_else(&failed, |_| ());
        }
        for (key, change) in self.paths {
            let written = match change {
                Some((path, now)) => store.replace(&key, path, now),
                None => store.forget(&key).map(|_| ()),
            };
            written.unwrap_or_else(&failed);
        }
    }
}

//! A store in memory, for simulations and for programs without a persistent path memory.

use super::key::PathKey;
use super::store::{Entry, Holder, Lease, Limits, PathStore, SavedPath, StoreError};
use bentpipe_units::Epoch;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Slot {
    path: SavedPath,
    lease: Option<Lease>,
    /// Its key in `MemoryStore::uses`.
    used: u64,
}

/// A store in memory. Its order is the same in every run.
#[derive(Debug)]
pub struct MemoryStore {
    limits: Limits,
    paths: BTreeMap<PathKey, Slot>,
    /// Keys by the count of their last use: the first one is removed first.
    uses: BTreeMap<u64, PathKey>,
    /// Number of uses so far. Not a time, since the system clock may stand still or step back.
    count: u64,
    /// Nothing expires before this: a full store searches for expired paths only from then on.
    earliest: Epoch,
}

impl MemoryStore {
    /// An empty store.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            paths: BTreeMap::new(),
            uses: BTreeMap::new(),
            count: 0,
            earliest: Epoch::MAX,
        }
    }

    fn use_now(&mut self, key: &PathKey) -> u64 {
        self.count += 1;
        self.uses.insert(self.count, key.clone());
        self.count
    }

    fn remove(&mut self, key: &PathKey) -> bool {
        self.paths.remove(key).is_some_and(|slot| self.uses.remove(&slot.used).is_some())
    }
}

impl PathStore for MemoryStore {
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError> {
        path.check()?;
        let lease = self.paths.get(key).and_then(|slot| slot.lease);
        self.remove(key);
        let used = self.use_now(key);
        self.earliest = self.earliest.min(path.expires);
        self.paths.insert(key.clone(), Slot { path, lease, used });
        if self.paths.len() > self.limits.paths {
            self.expire(now)?;
        }
        while self.paths.len() > self.limits.paths {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            self.paths.remove(&oldest);
        }
        Ok(())
    }

    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError> {
        let used = self.count + 1;
        let Some(slot) = self.paths.get_mut(key).filter(|slot| slot.path.is_current(now)) else {
            return Ok(None);
        };
        if slot.lease.is_some_and(|lease| lease.holder != holder && lease.is_current(now)) {
            return Ok(None);
        }
        slot.lease = Some(Lease { holder, since: now, until: now + self.limits.lease });
        let (path, before) = (slot.path, std::mem::replace(&mut slot.used, used));
        self.uses.remove(&before);
        self.use_now(key);
        Ok(Some(path))
    }

    fn is_leased(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError> {
        let current = self.paths.get(key).filter(|slot| slot.path.is_current(now));
        Ok(current.and_then(|slot| slot.lease).is_some_and(|lease| lease.is_current(now)))
    }

    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError> {
        if let Some(slot) = self.paths.get_mut(key) {
            slot.lease = slot.lease.filter(|lease| lease.holder != holder);
        }
        Ok(())
    }

    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError> {
        Ok(self.remove(key))
    }

    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError> {
        let current = self.paths.iter().filter(|(_, slot)| now < slot.path.expires);
        Ok(current
            .map(|(key, slot)| Entry {
                key: key.clone(),
                path: slot.path,
                lease: slot.lease.filter(|lease| lease.is_current(now)),
            })
            .collect())
    }

    fn forget_all(&mut self) -> Result<usize, StoreError> {
        let count = self.paths.len();
        self.paths.clear();
        self.uses.clear();
        Ok(count)
    }

    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError> {
        if now < self.earliest {
            return Ok(0);
        }
        let before = self.paths.len();
        self.paths.retain(|_, slot| now < slot.path.expires);
        self.uses.retain(|_, key| self.paths.contains_key(key));
        self.earliest =
            self.paths.values().map(|slot| slot.path.expires).min().unwrap_or(Epoch::MAX);
        Ok(before - self.paths.len())
    }
}

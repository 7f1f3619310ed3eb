//! Identity of a task: a digest of everything that decides its results.

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Digest of the sources and dependencies of this simulator, as 32 hexadecimal digits. Results of
/// another one are not reused.
pub const ENGINE: &str = env!("BENTPIPE_ENGINE");
/// The same digest without the platform: a page's engine and a command with equal ones were built
/// from the same sources.
pub const SOURCES: &str = env!("BENTPIPE_SOURCES");

/// Identity of the results of one run: equal if engine, case, seed and number of the run are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId([u8; 32]);

impl TaskId {
    /// Returns the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest of `parts`. The lengths are part of it, so that no two lists of parts
    /// have the same text.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let mut id = Self([0; 32]);
        id.0.copy_from_slice(context.finish().as_ref());
        id
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({self})")
    }
}

/// Digest of a case: its scenario without what does not decide results, and the files that it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CaseDigest(pub(crate) TaskId);

impl CaseDigest {
    /// Returns the digest of the scenario `text` with the input `files`.
    pub fn new(text: &str, files: &BTreeMap<PathBuf, Arc<str>>) -> Self {
        let mut parts = vec![text.as_bytes()];
        for (name, text) in files {
            parts.extend([name.as_os_str().as_encoded_bytes(), text.as_bytes()]);
        }
        Self(TaskId::of(&parts))
    }
}

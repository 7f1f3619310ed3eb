//! What a server remembers of paths.

use super::error::ServerError;
use crate::clock::RealClock;
use crate::resumption::Resumption;
use crate::store::{OpenError, WriteBehind};
use bentpipe_quic::path_memory::{Limits, MemoryStore};
use std::path::Path;

/// Returns the memory of paths: in `file`, or in memory without one. A file that is damaged or on a
/// full disk does not keep the server from starting: paths are remembered in memory, and `warnings`
/// says so.
pub(super) fn resumption(
    file: Option<&Path>,
    clock: &RealClock,
    warnings: &mut Vec<String>,
) -> Result<Resumption, ServerError> {
    let limits = Limits::default();
    let in_memory = || Resumption::with_store(MemoryStore::new(limits), clock.clone());
    let Some(file) = file else { return Ok(in_memory()?) };
    match WriteBehind::open_classified(file, limits, clock.epoch().epoch()) {
        Ok((store, invalid)) => {
            if invalid > 0 {
                let file = file.display();
                warnings.push(format!("path store {file}: {invalid} invalid rows are ignored"));
            }
            Ok(Resumption::with_store(store, clock.clone())?)
        }
        Err(OpenError::Refused(error)) => Err(error.into()),
        Err(OpenError::Unavailable(error)) => {
            warnings.push(format!("paths are remembered in memory only: {error}"));
            Ok(in_memory()?)
        }
    }
}

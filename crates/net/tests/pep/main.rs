//! The TCP proxy on the real kernel: over the loopback, and in namespaces with the emulator's path between them.
// What is tested is the wall clock.
#![allow(clippy::disallowed_methods)]

mod clients;
mod explicit;
mod limits;
mod path;
mod spaces;
mod tunnel;

use std::time::Duration;

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `work` returns, which has to come before long.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it takes too long")
}

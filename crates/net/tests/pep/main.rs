//! The TCP proxy on the real kernel: over the loopback, and in namespaces with the emulator's path
//! between them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]
#![allow(clippy::disallowed_methods, reason = "what is tested is the wall clock")]

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

//! Health checks of the upstream's servers while the server runs.

use super::origin::Origin;
use super::shared::Shared;
use std::sync::{Arc, Weak};

/// Checks the health of the upstream's servers, and reports those that are down.
pub(super) async fn watch(shared: Arc<Shared>) {
    let Origin::Upstream(upstream) = &shared.origin else { return };
    let reporting: Weak<Shared> = Arc::downgrade(&shared);
    upstream.report_to(move |level, line| {
        if let Some(shared) = reporting.upgrade() {
            shared.report(level, line);
        }
    });
    upstream.check_health().await;
}

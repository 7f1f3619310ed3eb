//! Health checks of the upstream's servers while the server runs.

use super::origin::Origin;
use super::shared::Shared;
use crate::proxy::UpstreamClient;
use futures_util::future::join_all;
use std::sync::{Arc, Weak};

/// Checks the health of the upstream's servers, and reports those that are down.
pub(super) async fn watch(shared: Arc<Shared>) {
    let Origin::Upstream(upstreams) = &shared.origin else { return };
    for upstream in upstreams.all() {
        let reporting: Weak<Shared> = Arc::downgrade(&shared);
        upstream.report_to(move |level, line| {
            if let Some(shared) = reporting.upgrade() {
                shared.report(level, line);
            }
        });
    }
    let check = |upstream| UpstreamClient::check_health(upstream, || upstreams.host_of(upstream));
    join_all(upstreams.all().map(check)).await;
}

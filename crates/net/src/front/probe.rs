//! Asks upstreams whether they answer for hosts, as the front would.

use super::site_certificate::SiteCertificate;
use super::sites::Sites;
use super::table::CertificateTable;
use crate::proxy::{Probe, Upstream, UpstreamClient};
use crate::tls::KnownCertificates;
use futures_util::stream::{StreamExt, iter};
use http::uri::Authority;
use std::sync::Arc;

/// Hosts that are asked at a time. Our choice.
const AT_A_TIME: usize = 16;

/// What was found of a host.
#[derive(Debug, Clone)]
pub struct HostState {
    /// Its name, which begins with `*.` if it stands for any.
    pub name: String,
    /// Its best certificate.
    pub certificate: Arc<SiteCertificate>,
    /// What its servers answered, or why they were not asked. `None` for a name that stands for
    /// any.
    pub probes: Option<Result<Vec<Probe>, String>>,
}

/// Asks the servers of each host in `table` for the head of its root.
pub async fn probe_all(sites: &Sites, table: CertificateTable) -> Vec<HostState> {
    let table = Arc::new(table);
    let hosts: Vec<(String, Arc<SiteCertificate>)> = table
        .hosts()
        .filter_map(|(name, all)| Some((name.to_owned(), all.first()?.clone())))
        .collect();
    let asked = iter(hosts).map(|(name, certificate)| {
        let table = table.clone();
        async move {
            let probes = match sites.of(&name) {
                _ if name.starts_with("*.") => None,
                None => Some(Err("it has no upstream".to_owned())),
                Some(upstream) => Some(probe(upstream, &table, &name).await),
            };
            HostState { name, certificate, probes }
        }
    });
    asked.buffered(AT_A_TIME).collect().await
}

/// Asks each server of `upstream` for the head of the root of `host`. `table` has the certificates
/// that they are expected to show.
///
/// # Errors
/// No host, or no TLS: the reason, as text.
async fn probe(
    upstream: &Upstream,
    table: &Arc<CertificateTable>,
    host: &str,
) -> Result<Vec<Probe>, String> {
    let authority: Authority =
        host.parse().map_err(|_| format!("`{host}` is not the name of a host"))?;
    let own = table.clone();
    let known = KnownCertificates::new(move |certificate, host| own.knows(certificate, host));
    let client = UpstreamClient::new(upstream.clone().beside(known, 1), Arc::default())?;
    Ok(client.probe(&authority).await)
}

//! The source of responses.

use super::certificates::CertificateResolver;
use super::error::ServerError;
use crate::front::Sites;
use crate::http::Files;
use crate::proxy::{UpstreamClient, host};
use http::uri::Authority;
use http::{Request, StatusCode};

/// The source of responses.
#[derive(Debug)]
pub(super) enum Origin {
    /// Files below a directory. The content of requests is not read.
    Files(Files),
    /// Other servers, to which requests are forwarded.
    Upstream(Box<Upstreams>),
}

/// The servers to which requests are forwarded.
#[derive(Debug)]
pub(super) struct Upstreams {
    sites: Sites<UpstreamClient>,
    certificates: CertificateResolver,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route<'a> {
    pub upstream: &'a UpstreamClient,
    /// Whether a certificate names the requested host itself. Otherwise it is one of any number.
    pub named: bool,
}

impl Upstreams {
    pub const fn new(sites: Sites<UpstreamClient>, certificates: CertificateResolver) -> Self {
        Self { sites, certificates }
    }

    /// Returns where a request on a connection to `server_name` goes.
    ///
    /// # Errors
    /// The status of a response of this server's own: the connection has no certificate for the
    /// host, or the host has no upstream (421, RFC 9110 §15.5.20), or there is no host (400).
    pub fn route<T>(
        &self,
        request: &Request<T>,
        server_name: Option<&str>,
    ) -> Result<Route<'_>, StatusCode> {
        // One upstream that answers for itself: it has no table.
        let Some(server_name) = server_name else { return self.single() };
        let requested = host(request).ok_or(StatusCode::BAD_REQUEST)?;
        let requested = requested.host();
        let covered = self.certificates.with_table(|table| {
            table.covers(server_name, requested).then(|| table.has_exactly(requested))
        });
        match covered {
            None => self.single(),
            Some(None) => Err(StatusCode::MISDIRECTED_REQUEST),
            Some(Some(named)) => {
                let upstream = self.sites.of(requested).ok_or(StatusCode::MISDIRECTED_REQUEST)?;
                Ok(Route { upstream, named })
            }
        }
    }

    /// Returns the upstream of all hosts, if there is one certificate for all.
    fn single(&self) -> Result<Route<'_>, StatusCode> {
        let single = self.sites.of("").filter(|_| self.certificates.with_table(|_| ()).is_none());
        let upstream = single.ok_or(StatusCode::MISDIRECTED_REQUEST)?;
        Ok(Route { upstream, named: true })
    }

    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &UpstreamClient> {
        self.sites.hosts().map(|(_, upstream)| upstream)
    }

    /// Returns a host whose upstream this is, to ask it for: the one that it was given for, or the
    /// first one that a certificate names. `None` if there are only wildcards.
    pub fn host_of(&self, upstream: &UpstreamClient) -> Option<Authority> {
        let is_this = |other: &UpstreamClient| std::ptr::eq(other, upstream);
        let name = |host: &str| host.parse().ok().filter(|_| !host.starts_with("*."));
        let mut own = self.sites.hosts().filter(|(_, other)| is_this(other));
        own.find_map(|(host, _)| name(host?)).or_else(|| {
            let first = self.certificates.with_table(|table| {
                let mut names = table.hosts().map(|(name, _)| name);
                names.find_map(|host| {
                    name(host).filter(|_| self.sites.of(host).is_some_and(is_this))
                })
            });
            first.flatten()
        })
    }

    /// Checks that each upstream with health checks can be asked for a host.
    ///
    /// # Errors
    /// One that cannot: the name that it was given for.
    pub fn check_hosts(&self) -> Result<(), ServerError> {
        let checked = |upstream: &UpstreamClient| upstream.needs_host_for_checks();
        let lost = |upstream| checked(upstream) && self.host_of(upstream).is_none();
        let found = self.sites.hosts().find(|(_, upstream)| lost(upstream));
        found.map_or(Ok(()), |(host, _)| {
            Err(ServerError::NoHost(host.unwrap_or("all hosts").to_owned()))
        })
    }
}

//! The upstreams of hosts.

use super::table::wildcard;
use crate::authority::normal;
use crate::proxy::Upstream;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why hosts cannot have these upstreams.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SitesError {
    /// It is not the name of a host.
    #[error("`{0}` is not a host; allowed: NAME or *.NAME, as in a certificate")]
    Host(String),
    /// The host has an upstream already.
    #[error("{0} has two upstreams that are not equal servers")]
    Twice(String),
}

/// The upstreams of hosts: those with one of their own, and one for the others.
#[derive(Debug, Clone)]
pub struct Sites<T = Upstream> {
    default: Option<T>,
    by_host: BTreeMap<String, T>,
}

impl<T> Default for Sites<T> {
    fn default() -> Self {
        Self { default: None, by_host: BTreeMap::new() }
    }
}

impl Sites {
    /// Sets the upstream of all hosts that have none of their own.
    #[must_use]
    pub fn with_default(mut self, upstream: Upstream) -> Self {
        self.default = Some(upstream);
        self
    }

    /// Sets the upstream of `host`, which may begin with `*.`.
    ///
    /// # Errors
    /// It is no host, or has an upstream already.
    pub fn with_host(mut self, host: &str, upstream: Upstream) -> Result<Self, SitesError> {
        let name = normal(host);
        let labels = name.strip_prefix("*.").unwrap_or(&name);
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if labels.is_empty() || !labels.chars().all(letter) {
            return Err(SitesError::Host(host.to_owned()));
        }
        if self.by_host.insert(name, upstream).is_some() {
            return Err(SitesError::Twice(host.to_owned()));
        }
        Ok(self)
    }
}

impl<T> Sites<T> {
    /// Returns the upstream of a host.
    pub fn of(&self, host: &str) -> Option<&T> {
        let host = normal(host);
        let exact = self.by_host.get(&host);
        let own = exact.or_else(|| self.by_host.get(&wildcard(&host)?));
        own.or(self.default.as_ref())
    }

    /// Returns the upstreams with their hosts, of which one may begin with `*.`. That of all others
    /// has none.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (Option<&str>, &T)> {
        let default = self.default.iter().map(|upstream| (None, upstream));
        default.chain(self.by_host.iter().map(|(host, upstream)| (Some(host.as_str()), upstream)))
    }

    /// Replaces each upstream.
    pub(crate) fn map<U, E>(
        self,
        mut change: impl FnMut(T) -> Result<U, E>,
    ) -> Result<Sites<U>, E> {
        let default = self.default.map(&mut change).transpose()?;
        let by_host = self.by_host.into_iter().map(|(host, one)| Ok((host, change(one)?)));
        Ok(Sites { default, by_host: by_host.collect::<Result<_, E>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_own_upstream_or_that_of_all() {
        let upstream = |port: u16| Upstream::new(&format!("http://h:{port}")).unwrap();
        let sites = Sites::default()
            .with_host("Shop.test", upstream(1))
            .and_then(|sites| sites.with_host("*.shop.test", upstream(2)))
            .unwrap();
        let number = |sites: &Sites, host: &str| {
            let shown = format!("{:?}", sites.of(host)?);
            (1..4).find(|port| shown.contains(&format!("h:{port}")))
        };
        for (host, expected) in [
            ("shop.test", Some(1)),
            ("SHOP.test.", Some(1)),
            ("a.shop.test", Some(2)),
            ("a.b.shop.test", None),
            ("other.test", None),
            ("", None),
        ] {
            assert_eq!(number(&sites, host), expected, "{host}");
            let all = sites.clone().with_default(upstream(3));
            assert_eq!(number(&all, host), expected.or(Some(3)), "{host}");
        }
        for host in ["", "*.", "a b", "*", "http://a", "a/b"] {
            let error = sites.clone().with_host(host, upstream(1)).unwrap_err();
            assert_eq!(error, SitesError::Host(host.to_owned()));
        }
        let error = sites.with_host("shop.test.", upstream(1)).unwrap_err();
        assert_eq!(error, SitesError::Twice("shop.test.".to_owned()));
    }
}

//! The protocols of a flow, which follow from its workload, `transport` and `http`.

use super::transport::{HttpKind, Transport, TransportKind};
use super::workload::Workload;
use crate::error::Problem;
use bentpipe_quic::{AckBy, AckRule, Http};
use bentpipe_tcp::http::Version;
use serde_spanned::Spanned;

/// Transport and what runs over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// QUIC.
    Quic(Http),
    /// TCP.
    Tcp(Version),
    /// Datagrams of the workload itself, without a transport.
    Datagrams,
    /// Whatever external programs use.
    External,
}

impl Protocol {
    /// The protocols of a flow with these keys.
    ///
    /// # Errors
    /// HTTP that does not run over the transport.
    pub fn of(keys: &Transport, workload: &Workload) -> Result<Self, Problem> {
        match workload {
            Workload::Cbr(_) | Workload::Ping(_) => return Ok(Self::Datagrams),
            Workload::External(_) => return Ok(Self::External),
            _ => {}
        }
        let transport = keys.transport.as_ref().map(|transport| *transport.get_ref());
        let http = keys.http.as_ref().map(|http| *http.get_ref());
        match (transport, http) {
            (None | Some(TransportKind::Quic), None | Some(HttpKind::H3)) => {
                Ok(Self::Quic(Http::H3))
            }
            (None | Some(TransportKind::Quic), Some(HttpKind::Raw)) => Ok(Self::Quic(Http::Raw)),
            (None | Some(TransportKind::Tcp), Some(HttpKind::H2))
            | (Some(TransportKind::Tcp), None) => Ok(Self::Tcp(Version::H2)),
            (None | Some(TransportKind::Tcp), Some(HttpKind::H1)) => Ok(Self::Tcp(Version::H1)),
            (Some(TransportKind::Tcp), Some(HttpKind::Raw)) => Ok(Self::Tcp(Version::Raw)),
            (Some(TransportKind::Tcp), Some(HttpKind::H3))
            | (Some(TransportKind::Quic), Some(_)) => {
                let place = keys.http.as_ref().map_or(0..0, Spanned::span);
                let (transport, allowed) = match transport {
                    Some(TransportKind::Tcp) => ("tcp", "`h1`, `h2`, `raw`"),
                    _ => ("quic", "`h3`, `raw`"),
                };
                let message = format!(
                    "this does not run over transport = \"{transport}\"; allowed: {allowed}"
                );
                Err(Problem::new(place, message))
            }
        }
    }

    /// What keys can be for: the names of `x-accepted-by`.
    pub fn facets(self) -> &'static [&'static str] {
        match self {
            Self::Quic(_) => &["quic"],
            Self::Tcp(Version::H2) => &["tcp", "h2"],
            Self::Tcp(Version::H1) => &["tcp", "h1"],
            Self::Tcp(Version::Raw) => &["tcp"],
            Self::Datagrams | Self::External => &[],
        }
    }
}

impl Transport {
    /// When receivers acknowledge, and who decides it.
    ///
    /// # Errors
    /// A policy that the transport does not have, or that a sender cannot ask for.
    pub fn acknowledges(&self, protocol: Protocol) -> Result<(AckRule, AckBy), Problem> {
        let rule = self.ack.as_ref().map_or_else(AckRule::default, |rule| *rule.get_ref());
        let by = self.quic.ack_by.as_ref().map_or(rule.by(), |by| *by.get_ref());
        let place = self.ack.as_ref().map_or(0..0, Spanned::span);
        let askable = matches!(rule, AckRule::Stack | AckRule::Every(_));
        match protocol {
            Protocol::Tcp(_) if !askable => Err(Problem::new(
                place,
                format!("`{rule}` is a policy of QUIC; allowed for TCP: \"stack\" or \"1:N\""),
            )),
            Protocol::Quic(_)
                if self.quic.ack_by.is_some()
                    && by == AckBy::Sender
                    && !askable
                    && rule != AckRule::Auto =>
            {
                Err(Problem::new(
                    place,
                    format!(
                        "a sender cannot ask for `{rule}`; allowed with quic.ack_by \
                            = \"sender\": \"stack\", \"1:N\" or \"auto\""
                    ),
                ))
            }
            _ => Ok((rule, by)),
        }
    }
}

//! The protocols of a flow, which follow from its workload, `transport` and `http`.

use super::transport::{HttpKind, Transport, TransportKind};
use super::workload::{Clocks, Workload};
use crate::error::Problem;
use bentpipe_quic::{AckBy, AckRule, Http};
use bentpipe_tcp::http::Version;
use serde_spanned::Spanned;

/// Transport and application protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// QUIC.
    Quic(Http),
    /// TCP.
    Tcp(Version),
    /// Datagrams of the workload, without a transport protocol.
    Datagrams,
    /// The protocol of external programs.
    External,
}

impl Protocol {
    /// Returns the protocols of a flow with these keys.
    ///
    /// # Errors
    /// Returns an error if the HTTP version does not run over the transport.
    pub fn of(keys: &Transport, workload: &Workload) -> Result<Self, Problem> {
        if workload.is_echo() {
            return echo(keys);
        }
        match workload.clocks() {
            Clocks::Datagrams | Clocks::DatagramsOrQuic => return Ok(Self::Datagrams),
            Clocks::Programs => return Ok(Self::External),
            Clocks::VirtualQuic => return over_quic(keys, workload),
            Clocks::Both | Clocks::RealTcp | Clocks::Virtual => {}
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
                    "this version does not run over transport = \"{transport}\"; allowed: {allowed}"
                );
                Err(Problem::new(place, message))
            }
        }
    }

    /// Returns the names in `x-accepted-by` that match the flow.
    pub fn facets(self) -> &'static [&'static str] {
        match self {
            Self::Quic(_) => &["quic"],
            Self::Tcp(Version::H2) => &["tcp", "h2"],
            Self::Tcp(Version::H1) => &["tcp", "h1"],
            Self::Tcp(Version::Raw | Version::Echo) => &["tcp"],
            Self::External => &["external"],
            Self::Datagrams => &["datagrams"],
        }
    }
}

/// Returns the protocol of keystrokes and their echoes, which are a byte stream over TCP.
fn echo(keys: &Transport) -> Result<Protocol, Problem> {
    if let Some(transport) =
        keys.transport.as_ref().filter(|one| *one.get_ref() != TransportKind::Tcp)
    {
        let message = "keystrokes and echoes go over TCP; allowed: `transport = \"tcp\"`";
        return Err(Problem::new(transport.span(), message));
    }
    if let Some(http) = keys.http.as_ref().filter(|one| *one.get_ref() != HttpKind::Raw) {
        let message = "keystrokes and echoes do not use HTTP; allowed: `http = \"raw\"`";
        return Err(Problem::new(http.span(), message));
    }
    Ok(Protocol::Tcp(Version::Echo))
}

/// Returns the protocol of a workload that only QUIC carries, without HTTP.
fn over_quic(keys: &Transport, workload: &Workload) -> Result<Protocol, Problem> {
    let name = workload.name();
    if let Some(transport) =
        keys.transport.as_ref().filter(|one| *one.get_ref() == TransportKind::Tcp)
    {
        let message = format!("QUIC carries this `{name}`; allowed: `transport = \"quic\"`");
        return Err(Problem::new(transport.span(), message));
    }
    if let Some(http) = keys.http.as_ref().filter(|one| *one.get_ref() != HttpKind::Raw) {
        let message = format!("`{name}` does not use HTTP; allowed: `http = \"raw\"`");
        return Err(Problem::new(http.span(), message));
    }
    Ok(Protocol::Quic(Http::Raw))
}

impl Transport {
    /// Returns the ACK policy and the endpoint that decides it.
    ///
    /// # Errors
    /// Returns an error if the transport does not have the policy, or a sender cannot request it.
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
                        "a sender cannot request `{rule}`; allowed with quic.ack_by \
                            = \"sender\": \"stack\", \"1:N\" or \"auto\""
                    ),
                ))
            }
            _ => Ok((rule, by)),
        }
    }
}

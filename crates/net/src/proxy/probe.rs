//! Asks the servers of an upstream whether they answer for a host, for an operator.

use super::client::{CHECK_TIME, FORWARDED_PROTO, UpstreamClient};
use super::outgoing::OutgoingHead;
use super::pool::Member;
use super::upload::Upload;
use futures_util::future::join_all;
use http::header::{ALT_SVC, CONNECTION, HOST, HeaderName, HeaderValue, LOCATION};
use http::uri::Authority;
use http::{HeaderMap, Method};
use tokio::time::timeout;

/// What a server answered to a request for the root of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The server.
    pub server: String,
    /// Its answer, or why there is none.
    pub answer: Result<ProbeAnswer, String>,
}

/// An answer to a request for the root of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The status.
    pub status: u16,
    /// `Alt-Svc`, by which it announces HTTP/3.
    pub alt_svc: Option<String>,
    /// `Location`, where it redirects to.
    pub location: Option<String>,
}

impl UpstreamClient {
    /// Asks each server for the head of the root of `host`, as the front would ask for it.
    pub async fn probe(&self, host: &Authority) -> Vec<Probe> {
        join_all(self.pool.members().iter().map(|member| async move {
            let server = member.server.to_string();
            Probe { server, answer: self.probe_one(member, host).await }
        }))
        .await
    }

    async fn probe_one(&self, member: &Member, host: &Authority) -> Result<ProbeAnswer, String> {
        let connections = self.connections.get(member.index).ok_or("it has no client")?;
        let value = HeaderValue::from_str(host.as_str()).map_err(|error| error.to_string())?;
        let headers = HeaderMap::from_iter([
            (HOST, value),
            (CONNECTION, HeaderValue::from_static("close")),
            (FORWARDED_PROTO, HeaderValue::from_static("https")),
        ]);
        let mut outgoing = OutgoingHead::own(&Method::HEAD, "/", headers, false);
        outgoing.name = self.upstream.beside.is_some().then(|| host.clone());
        let request = outgoing
            .to(&member.server, Upload::empty())
            .map_err(|_| "its name cannot be asked for".to_owned())?;
        let response = match timeout(CHECK_TIME, connections.send(request)).await {
            Ok(Ok((response, _))) => response,
            Ok(Err(unanswered)) => return Err(unanswered.error.reason()),
            Err(_) => return Err(format!("no answer within {} s", CHECK_TIME.as_secs())),
        };
        let field = |name: HeaderName| {
            response
                .headers()
                .get(name)
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let (alt_svc, location) = (field(ALT_SVC), field(LOCATION));
        Ok(ProbeAnswer { status: response.status().as_u16(), alt_svc, location })
    }
}

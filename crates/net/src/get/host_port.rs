//! The host and port of a server.

use super::error::ClientError;
use crate::authority::host_and_port;
use http::Uri;

/// The host and port of a server, from a URL.
#[derive(Debug, Clone)]
pub(super) struct HostPort {
    pub host: String,
    pub port: u16,
}

impl HostPort {
    /// Reads the host and port of `url`. The default port is 443.
    ///
    /// # Errors
    /// A scheme other than https, no host, or an invalid port.
    pub fn of(url: &Uri) -> Result<Self, ClientError> {
        let wrong = |reason| ClientError::Url { url: url.to_string(), reason };
        if url.scheme_str() != Some("https") {
            return Err(wrong("its scheme is not https"));
        }
        let authority = url.authority().ok_or_else(|| wrong("it has no host"))?;
        let (host, port) = host_and_port(authority).map_err(wrong)?;
        Ok(Self { host: host.to_owned(), port: port.unwrap_or(443) })
    }

    /// Returns `host:port`, the key of tokens and connections.
    pub fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

//! Who may ask: requests to our own host name, from our own page, with the secret.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use ring::rand::{SecureRandom, SystemRandom};
use std::net::SocketAddr;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The `Host` field names another host, as with a name that an attacker points to this machine
    /// (DNS rebinding).
    Host,
    /// The request comes from another page.
    Origin,
    /// The address lacks the secret.
    Secret,
}

/// The secret of a studio, and the names of its socket.
#[derive(Debug)]
pub struct Access {
    secret: String,
    hosts: [String; 2],
}

impl Access {
    /// Draws a secret of 128 bits for the socket `address`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(address: SocketAddr) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| std::io::Error::other("the system has no random numbers"))?;
        let secret = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { secret, hosts: [address.to_string(), format!("localhost:{}", address.port())] })
    }

    /// Returns the address to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.secret)
    }

    /// Returns what follows the secret in `path`, without its slash.
    pub fn admit<'a>(&self, headers: &HeaderMap, path: &'a str) -> Result<&'a str, Refusal> {
        let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.hosts.iter().any(|known| known == host) || headers.get_all(HOST).iter().count() > 1
        {
            return Err(Refusal::Host);
        }
        if let Some(origin) = headers.get(ORIGIN)
            && origin.to_str().ok() != Some(&format!("http://{host}"))
        {
            return Err(Refusal::Origin);
        }
        // Browsers that send it say more than `Origin`, which GET lacks.
        let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        if matches!(site, Some("cross-site" | "same-site")) {
            return Err(Refusal::Origin);
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let (secret, rest) = path.split_once('/').unwrap_or((path, ""));
        if secret.len() != self.secret.len() || !equal(secret.as_bytes(), self.secret.as_bytes()) {
            return Err(Refusal::Secret);
        }
        Ok(rest)
    }
}

/// Compares in a time that does not depend on where the texts differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::new(([127, 0, 0, 1], 8000).into()).unwrap()
    }

    fn admitted(fields: &[(&'static str, &str)], secret: Option<&str>) -> Result<(), Refusal> {
        let access = access();
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        let path = format!("/{}/api", secret.unwrap_or(&access.secret));
        access.admit(&headers, &path).map(|rest| assert_eq!(rest, "api"))
    }

    #[test]
    fn own_requests_are_admitted() {
        for host in ["127.0.0.1:8000", "localhost:8000"] {
            assert_eq!(admitted(&[("host", host)], None), Ok(()));
            let origin = format!("http://{host}");
            assert_eq!(admitted(&[("host", host), ("origin", &origin)], None), Ok(()));
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        for host in ["evil.example:8000", "127.0.0.1", "127.0.0.1:80", ""] {
            assert_eq!(admitted(&[("host", host)], None), Err(Refusal::Host), "{host}");
        }
        assert_eq!(admitted(&[], None), Err(Refusal::Host));
        let two = [("host", "127.0.0.1:8000"), ("host", "evil.example")];
        assert_eq!(admitted(&two, None), Err(Refusal::Host));
    }

    #[test]
    fn other_pages_are_refused() {
        let host = ("host", "127.0.0.1:8000");
        for origin in ["null", "http://evil.example", "http://localhost:8000", "https://127.0.0.1"]
        {
            let fields = [host, ("origin", origin)];
            assert_eq!(admitted(&fields, None), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(admitted(&[host, ("sec-fetch-site", "cross-site")], None), Err(Refusal::Origin));
    }

    #[test]
    fn wrong_secrets_are_refused() {
        let host = [("host", "127.0.0.1:8000")];
        for secret in ["", "0", "00000000000000000000000000000000", "é"] {
            assert_eq!(admitted(&host, Some(secret)), Err(Refusal::Secret));
        }
        assert_ne!(access().secret, access().secret);
    }
}

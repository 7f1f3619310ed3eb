//! Who may ask: requests to our own host name, from our own page, with the secret.
//!
//! Pages of reports have a secret of their own in their address, which opens nothing else: a script
//! in a report can read its address, and tell it to others by leaving for another one.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use ring::rand::{SecureRandom, SystemRandom};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

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

/// What a secret opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Studio,
    /// Pages of reports.
    Reports,
}

/// The secrets of a studio, and the names of its socket.
#[derive(Debug)]
pub struct Access {
    secret: String,
    /// That of the addresses of reports.
    reports: String,
    hosts: [String; 2],
    /// What a browser shows once instead of the secret. `None` after that.
    once: Mutex<Option<String>>,
}

/// First part of the path that leads a browser to the address with the secret.
const OPEN: &str = "/open/";

impl Access {
    /// Draws secrets of 128 bits for the socket `address`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(address: SocketAddr) -> std::io::Result<Self> {
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        let once = Mutex::new(Some(draw()?));
        Ok(Self { secret: draw()?, reports: draw()?, hosts, once })
    }

    /// Returns an address for the arguments of the program that opens a browser, which every user
    /// of the machine can read. It leads to that with the secret once, and only a program of this
    /// user.
    pub fn opening_url(&self) -> String {
        let once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}{OPEN}{}", self.hosts[0], once.as_deref().unwrap_or_default())
    }

    /// Returns true if a request comes from [`Access::opening_url`], which no other is then.
    /// `is_own` tells whether its sender is a program of this user.
    pub fn open(&self, headers: &HeaderMap, path: &str, is_own: impl FnOnce() -> bool) -> bool {
        let Some(given) = path.strip_prefix(OPEN) else { return false };
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let known = once.as_ref().is_some_and(|known| same(given, known));
        if !known || self.check_sender(headers).is_err() || !is_own() {
            return false;
        }
        *once = None;
        true
    }

    /// Returns the address to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.secret)
    }

    /// Returns the address of a page of a report, whose path in a studio is `path`.
    pub fn report_path(&self, path: &str) -> String {
        format!("/{}/{path}", self.reports)
    }

    /// Returns what the secret in `path` opens, and what follows it, without its slash.
    pub fn admit<'a>(
        &self,
        headers: &HeaderMap,
        path: &'a str,
    ) -> Result<(Scope, &'a str), Refusal> {
        self.check_sender(headers)?;
        let path = path.strip_prefix('/').unwrap_or(path);
        let (secret, rest) = path.split_once('/').unwrap_or((path, ""));
        if same(secret, &self.secret) {
            Ok((Scope::Studio, rest))
        } else if same(secret, &self.reports) {
            Ok((Scope::Reports, rest))
        } else {
            Err(Refusal::Secret)
        }
    }

    /// Checks the host that a request names, and the page that it comes from.
    fn check_sender(&self, headers: &HeaderMap) -> Result<(), Refusal> {
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
        let field = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // A studio that was started anew is opened from the page of the one before, with the
        // secret.
        let opens = field("sec-fetch-mode") == Some("navigate")
            && field("sec-fetch-dest") == Some("document");
        if matches!(field("sec-fetch-site"), Some("cross-site" | "same-site")) && !opens {
            return Err(Refusal::Origin);
        }
        Ok(())
    }
}

/// Draws 128 bits, as hexadecimal digits.
fn draw() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_err(|_| std::io::Error::other("the system has no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in a time that does not depend on where the texts differ.
fn same(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    a.len() == b.len() && differing == 0
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
        access.admit(&headers, &path).map(|admitted| assert_eq!(admitted, (Scope::Studio, "api")))
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
        let site = ("sec-fetch-site", "cross-site");
        assert_eq!(admitted(&[host, site], None), Err(Refusal::Origin));
        let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        assert_eq!(admitted(&[host, site, frame[0], frame[1]], None), Err(Refusal::Origin));
        // A link that opens the page has the secret.
        let opens = [host, site, frame[0], ("sec-fetch-dest", "document")];
        assert_eq!(admitted(&opens, None), Ok(()));
        assert_eq!(admitted(&opens, Some("0")), Err(Refusal::Secret));
    }

    #[test]
    fn a_browser_is_led_to_the_secret_once() {
        let access = access();
        let url = access.opening_url();
        assert!(!url.contains(&access.secret));
        let path = url.strip_prefix("http://127.0.0.1:8000").unwrap().to_owned();
        let headers = HeaderMap::from_iter([(HOST, "127.0.0.1:8000".parse().unwrap())]);
        let elsewhere = HeaderMap::from_iter([(HOST, "evil.example".parse().unwrap())]);
        assert!(!access.open(&elsewhere, &path, || true));
        assert!(!access.open(&headers, "/open/", || true));
        assert!(!access.open(&headers, &format!("/open/{}", access.secret), || true));
        assert!(!access.open(&headers, &path, || false), "another user has read the arguments");
        assert!(access.open(&headers, &path, || true));
        assert!(!access.open(&headers, &path, || true), "twice");
        assert!(!access.open(&headers, "/open/", || true));
        assert_eq!(access.admit(&headers, &path), Err(Refusal::Secret));
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

//! Host and port of a URL's authority, for the client and the proxy.

use http::uri::Authority;
use std::net::Ipv6Addr;

/// Returns the host, without the brackets of an IPv6 address, and the port if there is one.
///
/// # Errors
/// What is wrong, for a sentence about the URL.
pub(crate) fn host_and_port(authority: &Authority) -> Result<(&str, Option<u16>), &'static str> {
    let (text, host) = (authority.as_str(), authority.host());
    if text.contains('@') {
        return Err("it has user information");
    }
    let inside = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => Some(host).filter(|host| !host.is_empty()),
    };
    let (Some(inside), Some(rest)) = (inside, text.strip_prefix(host)) else {
        return Err("it has no host");
    };
    let port = match rest.strip_prefix(':') {
        // The port may be empty (RFC 3986 §3.2.3).
        Some("") => None,
        // A reader that ignores an invalid port would use the scheme's default. `parse` alone
        // accepts a sign.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok().filter(|port| *port > 0).ok_or("its port is not 1 to 65535")?)
        }
        None if rest.is_empty() => None,
        _ => return Err("its port is not 1 to 65535"),
    };
    Ok((inside, port))
}

/// Returns the name of a host: in lower case, without the dot that may end it.
pub(crate) fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_valid_or_refused() {
        for (text, expected) in [
            ("host", Ok(("host", None))),
            ("host:", Ok(("host", None))),
            ("host:8443", Ok(("host", Some(8443)))),
            ("192.0.2.1:1", Ok(("192.0.2.1", Some(1)))),
            ("[::1]", Ok(("::1", None))),
            ("[2001:db8::1]:65535", Ok(("2001:db8::1", Some(65535)))),
            ("host:0", Err("its port is not 1 to 65535")),
            ("host:65536", Err("its port is not 1 to 65535")),
            ("host:+80", Err("its port is not 1 to 65535")),
            ("host:http", Err("its port is not 1 to 65535")),
            ("[::1]:99999", Err("its port is not 1 to 65535")),
            ("[host]:80", Err("it has no host")),
            (":80", Err("it has no host")),
            ("user@host:80", Err("it has user information")),
        ] {
            // An invalid authority is refused before.
            if let Ok(authority) = text.parse::<Authority>() {
                assert_eq!(host_and_port(&authority), expected, "{text}");
            } else {
                assert!(expected.is_err(), "{text}");
            }
        }
    }
}

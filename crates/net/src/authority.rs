//! The host and the port that a URL names, as the client and the proxy read them.

use http::uri::Authority;
use std::net::Ipv6Addr;

/// The host, an IPv6 address without its brackets, and the port, where one is named.
///
/// # Errors
/// What is wrong, for a sentence about the URL.
pub(crate) fn host_and_port(authority: &Authority) -> Result<(&str, Option<u16>), &'static str> {
    let (text, host) = (authority.as_str(), authority.host());
    if text.contains('@') {
        return Err("it holds a user's name");
    }
    let inside = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => Some(host).filter(|host| !host.is_empty()),
    };
    let (Some(inside), Some(rest)) = (inside, text.strip_prefix(host)) else {
        return Err("it names no host");
    };
    let port = match rest.strip_prefix(':') {
        // The port may be empty (RFC 3986 §3.2.3).
        Some("") => None,
        // A number that is none would be passed over by whoever asks for it later, and the scheme's
        // taken. `parse` alone would take a sign.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok().filter(|port| *port > 0).ok_or("its port is not 1 to 65535")?)
        }
        None if rest.is_empty() => None,
        _ => return Err("its port is not 1 to 65535"),
    };
    Ok((inside, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port_or_none_and_not_another_than_it_says() {
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
            ("[host]:80", Err("it names no host")),
            (":80", Err("it names no host")),
            ("user@host:80", Err("it holds a user's name")),
        ] {
            // What is no authority at all does not get here.
            if let Ok(authority) = text.parse::<Authority>() {
                assert_eq!(host_and_port(&authority), expected, "{text}");
            } else {
                assert!(expected.is_err(), "{text}");
            }
        }
    }
}

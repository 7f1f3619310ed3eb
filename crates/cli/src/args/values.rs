//! Parsers for values of options.

use bentpipe_units::Span;
use std::net::SocketAddr;

/// Parses a number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "allowed: at least 1".to_owned())
}

/// Parses an address with a port.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "allowed: an address and a port, such as 127.0.0.1:4433 or [::1]:4433".to_owned()
    })
}

/// Parses a time span longer than zero.
pub fn nonzero_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error| format!("{error}"))?;
    if time.is_zero() { Err("allowed: more than 0 s".to_owned()) } else { Ok(time) }
}

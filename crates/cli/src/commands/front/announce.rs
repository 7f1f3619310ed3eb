//! The lines by which web servers announce HTTP/3 at a port.

/// Lifetime of an announcement, seconds: one day, the default of RFC 7838 §3.1.
const LIFETIME: u32 = 86_400;

/// Returns the value of `Alt-Svc` (RFC 7838 §3) for `port`.
pub fn value(port: u16) -> String {
    format!("h3=\":{port}\"; ma={LIFETIME}")
}

/// Returns web servers and what to write into their configuration.
pub fn lines(port: u16) -> [(&'static str, String); 4] {
    let value = value(port);
    let escaped = value.replace('"', "\\\"");
    [
        ("nginx", format!("add_header Alt-Svc '{value}' always;")),
        ("caddy", format!("header Alt-Svc \"{escaped}\"")),
        ("apache", format!("Header always set Alt-Svc \"{escaped}\"")),
        ("haproxy", format!("http-response set-header Alt-Svc '{value}'")),
    ]
}

/// Returns whether an `Alt-Svc` announces HTTP/3 at `port` of the same host.
pub fn announces(alt_svc: &str, port: u16) -> bool {
    alt_svc.split(',').any(|one| {
        let mut parts = one.trim().split(';');
        parts.next().is_some_and(|service| service.trim() == format!("h3=\":{port}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_names_the_port() {
        assert!(announces(&value(443), 443) && !announces(&value(4433), 443));
        assert!(announces("h2=\":443\", h3=\":443\"", 443));
        for other in ["clear", "", "h3-29=\":443\"", "h3=\"other:443\""] {
            assert!(!announces(other, 443), "{other}");
        }
        let [_, (_, caddy), ..] = lines(443);
        assert_eq!(caddy, r#"header Alt-Svc "h3=\":443\"; ma=86400""#);
    }
}

//! Firewall rules that divert connections to the proxy. The operator applies them.

use super::config::Listener;
use std::fmt::Write;
use std::net::SocketAddr;

/// Mark of the proxy's packets, and routing table that delivers them locally. Our choice of rarely
/// used numbers.
const MARK: u32 = 0x62;
const TABLE: u32 = 862;

/// Returns shell commands that divert TCP connections from `interface` to the proxy at `listen`.
/// They run as root in the network namespace of the proxy. Comments at the end show how to undo
/// them. `None` for proxies that need no rules.
pub fn rules(listener: &Listener, listen: SocketAddr, interface: &str) -> Option<String> {
    let (v4, address) = (listen.is_ipv4(), listen.ip());
    let family = if v4 { "ip" } else { "ip6" };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "# Diverts TCP from {interface} to other machines to bentpipe pep on {listen}."
    );
    let nfproto = if v4 { "ipv4" } else { "ipv6" };
    let matching = format!(
        "iifname \"{interface}\" meta nfproto {nfproto} meta l4proto tcp fib daddr type != local"
    );
    match listener {
        Listener::Explicit { .. } | Listener::Tunnel { .. } => return None,
        Listener::Transparent { keep_source } => {
            let _ = write!(
                text,
                "nft -f - <<'END'\n\
                 table inet bentpipe_pep {{\n  \
                 chain prerouting {{\n    \
                 type filter hook prerouting priority mangle; policy accept;\n    \
                 meta l4proto tcp socket transparent 1 meta mark set {MARK:#x} accept\n    \
                 {matching} tproxy {family} to {listen} meta mark set {MARK:#x} accept\n  \
                 }}\n}}\nEND\n"
            );
            let (option, all) = if v4 { ("", "0.0.0.0/0") } else { ("-6 ", "::/0") };
            let _ = writeln!(text, "ip {option}rule add fwmark {MARK:#x} lookup {TABLE}");
            let _ = writeln!(text, "ip {option}route add local {all} dev lo table {TABLE}");
            if v4 {
                let _ = writeln!(
                    text,
                    "sysctl -w net.ipv4.conf.{interface}.rp_filter=0 net.ipv4.conf.all.rp_filter=0"
                );
            }
            if *keep_source {
                let _ = writeln!(
                    text,
                    "# --keep-source: servers respond to the client's address. Route their packets \
                     through this machine,\n\
                     # and set rp_filter=0 on the interface where they arrive."
                );
            }
            let _ = writeln!(text, "# To undo: nft delete table inet bentpipe_pep");
            let _ =
                writeln!(text, "#          ip {option}rule del fwmark {MARK:#x} lookup {TABLE}");
            let _ = writeln!(text, "#          ip {option}route flush table {TABLE}");
        }
        Listener::Redirected => {
            let to = if address.is_unspecified() {
                format!(":{}", listen.port())
            } else {
                listen.to_string()
            };
            // `redirect` leads to the address of the interface. Other local addresses need `dnat`.
            let action = if address.is_unspecified() {
                "redirect".to_owned()
            } else {
                format!("dnat {family}")
            };
            let _ = write!(
                text,
                "nft -f - <<'END'\n\
                 table inet bentpipe_pep {{\n  \
                 chain prerouting {{\n    \
                 type nat hook prerouting priority dstnat; policy accept;\n    \
                 {matching} {action} to {to}\n  \
                 }}\n}}\nEND\n"
            );
            if address.is_loopback() && v4 {
                let _ = writeln!(text, "sysctl -w net.ipv4.conf.{interface}.route_localnet=1");
            }
            let _ = writeln!(text, "# To undo: nft delete table inet bentpipe_pep");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_the_address_the_interface_and_the_commands_to_undo_them() {
        let transparent = Listener::Transparent { keep_source: false };
        let text = rules(&transparent, "127.0.0.1:8118".parse().unwrap(), "lan0").unwrap();
        assert!(
            text.contains("tproxy ip to 127.0.0.1:8118 ") && text.contains("iifname \"lan0\""),
            "{text}"
        );
        assert!(
            text.contains("ip rule add fwmark 0x62 lookup 862\n") && text.contains("# To undo"),
            "{text}"
        );
        let text = rules(&transparent, "[::1]:8118".parse().unwrap(), "lan0").unwrap();
        assert!(
            text.contains("tproxy ip6 to [::1]:8118 ")
                && text.contains("ip -6 route add local ::/0"),
            "{text}"
        );
        let text = rules(&Listener::Redirected, "0.0.0.0:8118".parse().unwrap(), "lan0").unwrap();
        assert!(text.contains(" redirect to :8118\n"), "{text}");
        assert_eq!(
            rules(
                &Listener::Explicit { credentials: None },
                "127.0.0.1:1080".parse().unwrap(),
                "x"
            ),
            None
        );
    }
}

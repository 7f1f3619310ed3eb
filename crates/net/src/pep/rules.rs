//! What an operator sets so that connections come to the proxy by themselves. The proxy sets
//! nothing.

use super::Listener;
use std::fmt::Write;
use std::net::SocketAddr;

/// The mark of packets that belong to the proxy, and the routing table that keeps them on the
/// machine: our choice, of numbers that are rarely taken.
const MARK: u32 = 0x62;
const TABLE: u32 = 862;

/// Commands for a shell, as root, in the network namespace of the proxy: what arrives at
/// `interface` over TCP goes to the proxy at `listen`. Those that undo it stand at the end, as
/// comments. Nothing for an explicit proxy, which needs no rules.
pub fn rules(entrance: &Listener, listen: SocketAddr, interface: &str) -> Option<String> {
    let (v4, address) = (listen.is_ipv4(), listen.ip());
    let family = if v4 { "ip" } else { "ip6" };
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(
        text,
        "# TCP that arrives at {interface} and is for other machines goes to bentpipe pep at \
            {listen}."
    );
    let nfproto = if v4 { "ipv4" } else { "ipv6" };
    let matching = format!(
        "iifname \"{interface}\" meta nfproto {nfproto} meta l4proto tcp fib daddr type != local"
    );
    match entrance {
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
                    "# --keep-source: servers answer the client's address, and their answers have \
                        to come through this machine; on the\n\
                     # interface that they arrive at, rp_filter=0 too."
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
            // Redirected is what goes to the machine itself; elsewhere on it, it is changed as for
            // any other machine.
            let verdict = if address.is_unspecified() {
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
                 {matching} {verdict} to {to}\n  \
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
    fn rules_name_the_address_and_the_interface_and_how_to_undo_them() {
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

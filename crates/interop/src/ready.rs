//! When a server is ready: what waits at its port, as the kernel of its namespace has it.

use crate::Protocol;
use bentpipe_emu::{EmuError, Namespace, Program};
use std::time::Duration;

/// State `TCP_LISTEN` in /proc/net/tcp (proc_net_tcp.rst in the kernel).
const LISTEN: &str = "0A";
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// How often to look: for 20 s, since a browser's or an interpreter's start is slow on a busy
/// machine. Our choice.
const LOOKS: u32 = 1000;

/// Waits until `server` listens at `port` for `protocol`; says what it did instead.
pub fn wait(
    server: &mut Program,
    namespace: &Namespace,
    protocol: Protocol,
    port: u16,
) -> Result<Option<String>, EmuError> {
    let families = match protocol {
        Protocol::H3 => ["udp", "udp6"],
        Protocol::H2 | Protocol::H1 => ["tcp", "tcp6"],
    };
    for _ in 0..LOOKS {
        let read = |family: &str| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{family}")).unwrap_or_default()
        };
        let open = namespace.inside(|| {
            families.iter().any(|family| listens(&read(family), port, protocol != Protocol::H3))
        })?;
        if open {
            return Ok(None);
        }
        if let Some(status) = server.wait_for(PAUSE)? {
            return Ok(Some(format!("ended with status {status} before it listened")));
        }
    }
    Ok(Some(format!("did not listen within {} s", (PAUSE * LOOKS).as_secs())))
}

/// Whether a table of sockets has one at `port`; of TCP's, one that listens.
fn listens(table: &str, port: u16, tcp: bool) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().is_some_and(|local| local.ends_with(&port));
        local && (!tcp || words.nth(1) == Some(LISTEN))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_counts_only_where_a_socket_waits_at_it() {
        let table = |state: &str| {
            format!(
                "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 {state} \
                    00000000\n"
            )
        };
        assert!(listens(&table("0A"), 8080, true) && listens(&table("07"), 8080, false));
        assert!(!listens(&table("01"), 8080, true), "a connection is no listener");
        assert!(!listens(&table("0A"), 8081, true) && !listens("", 8080, false));
    }
}

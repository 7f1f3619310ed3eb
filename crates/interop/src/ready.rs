//! Detection that a server is ready, from the kernel's table of sockets in its namespace.

use crate::Protocol;
use bentpipe_emu::{EmuError, Namespace, Program};
use std::time::Duration;

/// State `TCP_LISTEN` in /proc/net/tcp (proc_net_tcp.rst in the kernel).
const LISTEN: &str = "0A";
/// Interval between checks.
const INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of checks. Our choice: 20 s, because browsers and interpreters start slowly on a
/// busy machine.
const MAX_CHECKS: u32 = 1000;

/// Waits until `server` listens on `port` for `protocol`. Returns the reason if it does not.
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
    for _ in 0..MAX_CHECKS {
        let read = |family: &str| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{family}")).unwrap_or_default()
        };
        let open = namespace.inside(|| {
            families.iter().any(|family| listens(&read(family), port, protocol != Protocol::H3))
        })?;
        if open {
            return Ok(None);
        }
        if let Some(status) = server.wait_for(INTERVAL)? {
            return Ok(Some(format!("exited with status {status} before it listened")));
        }
    }
    Ok(Some(format!("did not listen within {} s", (INTERVAL * MAX_CHECKS).as_secs())))
}

/// Returns true if a table of sockets has one on `port`, for TCP in state `LISTEN`.
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
    fn only_a_waiting_socket_makes_a_port_ready() {
        let table = |state: &str| {
            format!(
                "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 {state} \
                    00000000\n"
            )
        };
        assert!(listens(&table("0A"), 8080, true) && listens(&table("07"), 8080, false));
        assert!(!listens(&table("01"), 8080, true), "a connection is not a listening socket");
        assert!(!listens(&table("0A"), 8081, true) && !listens("", 8080, false));
    }
}

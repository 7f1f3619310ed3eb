//! Whose program asks: the kernel lists the user of each TCP connection.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::unix::fs::MetadataExt;

/// Column of the user ID in `/proc/net/tcp` (proc_net_tcp in the kernel's documentation).
const USER: usize = 7;

/// Returns true if the program at `client` that is connected to `server` belongs to this user.
/// False where that cannot be told.
pub fn is_own(client: SocketAddr, server: SocketAddr) -> bool {
    let (SocketAddr::V4(client), SocketAddr::V4(server)) = (client, server) else { return false };
    let Ok(own) = std::fs::metadata("/proc/self").map(|metadata| metadata.uid()) else {
        return false;
    };
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    user(&connections, client, server) == Some(own)
}

/// Returns the user of a connection in the table `connections`.
fn user(connections: &str, local: SocketAddrV4, remote: SocketAddrV4) -> Option<u32> {
    let (local, remote) = (written(local), written(remote));
    connections.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let found = fields.get(1) == Some(&&*local) && fields.get(2) == Some(&&*remote);
        found.then(|| fields.get(USER)?.parse().ok()).flatten()
    })
}

/// Writes an address as the kernel does: the bytes of the network as one number of this machine.
fn written(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_user_of_a_connection_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let stream = TcpStream::connect(server).unwrap();
        assert!(is_own(stream.local_addr().unwrap(), server));
        // Nobody has this connection.
        assert!(!is_own(server, server));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_table_of_the_kernel_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
            uid  timeout inode\n   0: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 \
            00:00000000 00000000  1000        0 12345 1 0000000000000000 20 4 30 10 -1\n";
        let at = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        assert_eq!(user(table, at(40_000), at(8080)), Some(1000));
        assert_eq!(user(table, at(40_001), at(8080)), None);
    }
}

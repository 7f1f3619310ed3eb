//! Packets of connections that the server does not have, as after its process was killed.

use super::TestServer;
use super::peer::SOON;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Clients, and bytes of the packet that each sends.
const CLIENTS: u64 = 100;
const PACKET: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_clients_of_a_killed_server_learn_at_once_that_their_connections_are_gone() {
    let site = TestServer::new().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(site.server.address()).await.unwrap();
    for client in 1..=CLIENTS {
        // A short header, and a connection ID of its own (RFC 9000 §17.3.1).
        let mut packet = [0x5a; PACKET];
        packet[1..9].copy_from_slice(&client.to_be_bytes());
        socket.send(&packet).await.unwrap();
    }
    let mut reset = [0; 2000];
    for client in 1..=CLIENTS {
        let length = timeout(SOON, socket.recv(&mut reset)).await;
        let length =
            length.unwrap_or_else(|_| panic!("{} of {CLIENTS} heard", client - 1)).unwrap();
        // Shorter than what it answers, so that two servers do not answer each other for ever.
        assert!(length < PACKET, "{length} bytes");
    }
}

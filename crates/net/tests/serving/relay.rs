//! A relay of datagrams between a client and a server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::sleep;

pub struct Relay {
    pub address: SocketAddr,
    /// What the client has sent.
    pub sent: Arc<Mutex<Vec<Vec<u8>>>>,
    /// True if what the server sends is dropped.
    pub muted: Arc<AtomicBool>,
}

impl Relay {
    /// Returns a relay to `server`, from which datagrams take `delay`. Without a server, nothing
    /// passes.
    pub async fn new(server: Option<SocketAddr>, delay: Duration) -> Self {
        let outside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = outside.local_addr().unwrap();
        let relay = Self { address, sent: Arc::default(), muted: Arc::default() };
        let (kept, muted) = (relay.sent.clone(), relay.muted.clone());
        tokio::spawn(async move {
            let (mut up, mut down) = ([0; 2048], [0; 2048]);
            let mut client = None;
            loop {
                // Datagrams are lost if they cannot be sent.
                tokio::select! {
                    Ok((length, from)) = outside.recv_from(&mut up) => {
                        client = Some(from);
                        kept.lock().unwrap().push(up[..length].to_vec());
                        if let Some(server) = server {
                            let _ = inside.send_to(&up[..length], server).await;
                        }
                    }
                    Ok(length) = inside.recv(&mut down) => {
                        let Some(client) = client else { continue };
                        if muted.load(Relaxed) {
                            continue;
                        }
                        let (outside, data) = (outside.clone(), down[..length].to_vec());
                        tokio::spawn(async move {
                            sleep(delay).await;
                            let _ = outside.send_to(&data, client).await;
                        });
                    }
                }
            }
        });
        relay
    }
}

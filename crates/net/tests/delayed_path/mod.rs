//! A path on loopback that delays, for tests in real time.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A path on loopback between one client and a server.
pub struct DelayedPath {
    /// The address that the client sends to.
    pub address: SocketAddr,
    server: SocketAddr,
    /// The socket towards the server, and the delay in either direction.
    far: watch::Sender<(Arc<UdpSocket>, Duration)>,
    back: mpsc::Sender<(Instant, Vec<u8>)>,
}

impl DelayedPath {
    /// A path to `server` that delays by `one_way`.
    pub async fn new(server: SocketAddr, one_way: Duration) -> Outcome<Self> {
        let near = Arc::new(UdpSocket::bind(LOOPBACK).await?);
        let (far, current) = watch::channel((Arc::new(UdpSocket::bind(LOOPBACK).await?), one_way));
        let address = near.local_addr()?;
        let (client, known) = watch::channel(None);
        let (there, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
        let (back, mut returning) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
        let (from, delay) = (near.clone(), current.clone());
        tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while let Ok((length, sender)) = from.recv_from(&mut datagram).await {
                client.send_replace(Some(sender));
                let due = Instant::now() + delay.borrow().1;
                // A full channel is a full queue. The datagram is lost.
                let _ = there.try_send((due, datagram[..length].to_vec()));
            }
        });
        tokio::spawn(async move {
            while let Some((due, datagram)) = arriving.recv().await {
                sleep_until(due).await;
                let far = current.borrow().0.clone();
                let _ = far.send(&datagram).await;
            }
        });
        tokio::spawn(async move {
            while let Some((due, datagram)) = returning.recv().await {
                sleep_until(due).await;
                let client = *known.borrow();
                if let Some(client) = client {
                    let _ = near.send_to(&datagram, client).await;
                }
            }
        });
        let path = Self { address, server, far, back };
        path.migrate(LOOPBACK.ip(), one_way).await?;
        Ok(path)
    }

    /// Lets the client's datagrams arrive from `from`, after the delay `one_way`. Those that the
    /// server sends to the old address are lost.
    pub async fn migrate(&self, from: IpAddr, one_way: Duration) -> Outcome<()> {
        let far = Arc::new(UdpSocket::bind((from, 0)).await?);
        far.connect(self.server).await?;
        self.far.send_replace((far.clone(), one_way));
        let (back, current) = (self.back.clone(), self.far.subscribe());
        tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while let Ok(length) = far.recv(&mut datagram).await {
                if !Arc::ptr_eq(&far, &current.borrow().0) {
                    return;
                }
                let _ = back.try_send((Instant::now() + one_way, datagram[..length].to_vec()));
            }
        });
        Ok(())
    }
}

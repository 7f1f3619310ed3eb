//! A client that speaks QUIC and leaves HTTP/3 to the test, byte by byte.

use super::exchange::tls;
use super::frames::{SETTINGS, frame};
use bentpipe_net::Trust;
use bentpipe_net::serve::Server;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::tls::ALPN_H3;
use noq::{
    ClientConfig, Connection, ConnectionError, Endpoint, RecvStream, SendStream, TransportConfig,
    VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit of operations that take milliseconds, for a busy machine.
pub const SOON: Duration = Duration::from_secs(20);

/// Returns the beginning of a control stream: its type, and SETTINGS.
pub fn control() -> Vec<u8> {
    [&[0x00][..], &frame(SETTINGS, 0)].concat()
}

/// A client that has sent SETTINGS.
pub struct Peer {
    pub endpoint: Endpoint,
    pub connection: Connection,
    pub control: SendStream,
}

impl Peer {
    pub async fn connect(server: &Server, trust: &Trust) -> Self {
        Self::with_control(server, trust, &control()).await
    }

    /// Connects and sends `bytes` on the first unidirectional stream.
    pub async fn with_control(server: &Server, trust: &Trust, bytes: &[u8]) -> Self {
        Self::at(server.address(), trust, bytes).await
    }

    /// Connects to `address`, which leads to the server.
    pub async fn at(address: SocketAddr, trust: &Trust, bytes: &[u8]) -> Self {
        Self::configured(address, trust, bytes, TransportConfig::default()).await
    }

    /// Connects to `address` with settings of the transport.
    pub async fn configured(
        address: SocketAddr,
        trust: &Trust,
        bytes: &[u8],
        transport: TransportConfig,
    ) -> Self {
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let mut config =
            ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls(trust, ALPN_H3)).unwrap()));
        config.transport_config(Arc::new(transport));
        let connection =
            endpoint.connect_with(config, address, "localhost").unwrap().await.unwrap();
        let mut control = connection.open_uni().await.unwrap();
        control.write_all(bytes).await.unwrap();
        Self { endpoint, connection, control }
    }

    pub async fn ask(&self, request: &[u8]) -> (SendStream, RecvStream) {
        let opened = timeout(SOON, self.connection.open_bi()).await;
        let (mut send, recv) = opened.expect("the server gives no more streams").unwrap();
        send.write_all(request).await.unwrap();
        (send, recv)
    }

    /// Waits for the server to close the connection and returns its error code.
    pub async fn closed(&self) -> u64 {
        match timeout(SOON, self.connection.closed()).await.expect("the connection goes on") {
            ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
            other => panic!("{other}"),
        }
    }

    pub async fn leave(self) {
        self.connection.close(VarInt::from_u32(0x100), b"");
        self.endpoint.wait_idle().await;
    }
}

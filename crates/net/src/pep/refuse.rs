//! Refuses clients in their protocol.

use super::handshake::machine::ClientHandshake;
use super::refusal::Refusal;
use super::stream::{ProxyStream, TcpProxyStream};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, timeout};

/// Time for a refused client to close its connection, before it is reset. Our choice.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Refuses a client: with a reply in its protocol, or by a reset if there was no handshake.
pub(super) async fn refuse(
    mut client: TcpProxyStream,
    handshake: Option<ClientHandshake>,
    refusal: Refusal,
) {
    if let Some(handshake) = handshake {
        send_last(&mut client, &handshake.refuse(refusal)).await;
    }
}

/// Sends the last bytes to a client. The kernel resets a connection that is closed with unread
/// data, perhaps before the client has read its reply, so this reads some of the data.
pub(super) async fn send_last(client: &mut TcpProxyStream, reply: &[u8]) {
    let stream = client.stream();
    let closed = async {
        stream.write_all(reply).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        for _ in 0..64 {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    if matches!(timeout(CLOSE_TIME, closed).await, Ok(Ok(()))) {
        client.done();
    }
}

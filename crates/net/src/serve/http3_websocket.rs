//! WebSockets on streams of HTTP/3 (RFC 9220).

use super::shared::Shared;
use crate::admission::activity::Activity;
use crate::admission::send_memory::SendBufferGrant;
use crate::proxy::{BUFFER, IdleTimer, UpstreamSide, WebSocket};
use bentpipe_quic::{Conn, RecvStream, SendStream};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::RequestStream;
use http::Response;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// A WebSocket that the upstream has agreed to, and the client's stream.
pub(super) struct Agreed {
    pub head: Response<()>,
    pub websocket: WebSocket,
    pub content: RequestStream<RecvStream, Bytes>,
}

/// Sends the upstream's agreement, and passes bytes between the client and the upstream until both
/// directions have ended, or the server is stopped and its time to drain is over. Returns the bytes
/// that the client was sent.
///
/// # Errors
/// A side failed, or nothing was passed for too long: the code to reset the stream with.
pub(super) async fn relay(
    Agreed { head, websocket, mut content }: Agreed,
    (conn, stream): (&Conn, &mut RequestStream<SendStream, Bytes>),
    shared: &Shared,
    (grant, activity): (&mut SendBufferGrant, &Activity),
) -> Result<u64, Code> {
    shared.metrics.websockets.fetch_add(1, Relaxed);
    // The connection to the upstream ends with an error too (RFC 9220 §3).
    let cancelled = |_: io::Error| Code::H3_REQUEST_CANCELLED;
    let mut sent = 0;
    let mut forced = shared.shutdown.clone();
    let stall = Duration::from(shared.limits.stall_time);
    let relayed = async {
        timeout(stall, stream.send_response(head)).await?.map_err(io::Error::other)?;
        let mut upstream = websocket.upstream().await?;
        let UpstreamSide { from, to, .. } = &mut upstream;
        let timer = IdleTimer::new(activity);
        let up = async {
            while let Some(mut data) = content.recv_data().await.map_err(io::Error::other)? {
                to.write_all(&data.copy_to_bytes(data.remaining())).await?;
                to.flush().await?;
                timer.passed();
            }
            to.shutdown().await
        };
        let down = async {
            let mut buffer = vec![0; BUFFER];
            loop {
                let length = from.read(&mut buffer).await?;
                let Some(data) = buffer.get(..length).filter(|data| !data.is_empty()) else {
                    break;
                };
                conn.set_send_buffer(grant.for_window(conn.congestion_window()));
                let sending = stream.send_data(Bytes::copy_from_slice(data));
                timeout(stall, sending).await?.map_err(io::Error::other)?;
                grant.written();
                sent += length as u64;
                timer.passed();
            }
            timeout(stall, stream.finish()).await?.map_err(io::Error::other)
        };
        tokio::select! {
            both = async { tokio::try_join!(up, down) } => both.map(|_| ()),
            () = timer.idle_for(shared.limits.websocket_idle.into()) => {
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    };
    let result = tokio::select! {
        relayed = relayed => relayed.map_err(cancelled),
        () = activity.revoked() => Err(Code::H3_EXCESSIVE_LOAD),
        () = forced.forced() => Err(Code::H3_REQUEST_CANCELLED),
    };
    if let Err(code) = result {
        content.stop_sending(code);
        return Err(code);
    }
    Ok(sent)
}

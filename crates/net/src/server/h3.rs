//! HTTP/3: one task for each connection and one for each request, inside the endpoint's calls.

use super::limits::{ConnectionGuard, SendBufferGrant};
use super::reply::{Origin, StreamedResponse};
use super::upstream::{Piece, Relay, RequestContext, Upload, announced, expects_continue};
use super::{RequestLog, Shared};
use crate::path_report::{PathReport, takes_trailers};
use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::{BidiStream, Conn, Http3, RecvStream, SendStream};
use bentpipe_units::Span;
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::error::StreamError;
use h3::quic::StreamId;
use h3::server::{RequestResolver, RequestStream};
use http::header::TRAILER;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;
use tokio::time::{Duration, timeout};

/// How often it is looked whether a connection has nothing more to do.
const LOOK: Duration = Duration::from_millis(50);

/// Least bytes that are read of a file at once: our choice, few enough for thousands of responses,
/// and each is a call to another thread.
const LEAST_PIECE: u64 = 32 * 1024;
/// Bytes of a send buffer of which a client takes some within the time that it may stall.
const TAKEN: u64 = 256 * 1024;

/// Pieces of a request's content that wait to be passed on: our choice. Each is what came at once.
const PIECES: usize = 32;

/// Serves a connection until it ends. The pass goes with the task: it is kept until the connection
/// is forgotten.
pub(super) async fn serve(
    conn: Conn,
    shared: Arc<Shared>,
    mut pass: ConnectionGuard,
    notes: Option<ResumeHandle>,
) {
    let limit = shared.door.limits().handshake_time;
    let (watched, counts) = (conn.clone(), shared.metrics.clone());
    conn.spawn(async move {
        // Requests may come, and be answered, before the handshake is complete (0-RTT).
        match within(limit, watched.handshaken()).await {
            Some(Ok(())) => {
                pass.shaken();
                if watched.has_0rtt() {
                    counts.early.fetch_add(1, Relaxed);
                }
                watched.ended().await;
            }
            failed => {
                counts.handshakes_failed.fetch_add(1, Relaxed);
                if failed.is_none() {
                    watched.close(Code::H3_REQUEST_CANCELLED.value(), b"handshake too slow");
                }
            }
        }
        drop(pass);
    });
    let window = Http3::new(conn.clone(), shared.tuning.stream_window())
        .limit_headers(shared.tuning.max_header_frame(), shared.header_memory.clone());
    let built = h3::server::builder()
        .max_field_section_size(shared.door.limits().header.get())
        .build::<_, Bytes>(window)
        .await;
    let Ok(mut connection) = built else { return };
    let client = conn
        .remote_address()
        .map_or(IpAddr::from([0, 0, 0, 0]), |remote| remote.ip().to_canonical());
    let mut stop = shared.stop.clone();
    let idle = Duration::from(shared.door.limits().idle_time);
    let mut busy = tokio::time::Instant::now();
    let mut stopping = false;
    loop {
        let look = if stopping { LOOK } else { idle / 4 };
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    busy = tokio::time::Instant::now();
                    conn.spawn(request(conn.clone(), Box::new(resolver), shared.clone(), client, notes.clone()));
                }
                // The client's close appears as an error here.
                Ok(None) | Err(_) => break,
            },
            _ = stop.changed(), if !stopping => {
                stopping = true;
                if connection.shutdown(0).await.is_err() {
                    break;
                }
            }
            () = tokio::time::sleep(look) => {
                let open = conn.open_requests() > 0;
                if open {
                    busy = tokio::time::Instant::now();
                } else if stopping || busy.elapsed() >= idle {
                    conn.close(Code::H3_NO_ERROR.value(), b"");
                    break;
                }
            }
        }
    }
}

/// What `work` gives, or nothing where it takes longer than `limit`.
async fn within<T>(limit: Span, work: impl Future<Output = T>) -> Option<T> {
    timeout(limit.into(), work).await.ok()
}

/// Waits for a request's header. Little is held until it is there: everything else is on the heap
/// from then on.
async fn request(
    conn: Conn,
    mut resolver: Box<RequestResolver<Http3, Bytes>>,
    shared: Arc<Shared>,
    client: IpAddr,
    notes: Option<ResumeHandle>,
) {
    let limit = shared.door.limits().header_time;
    let Some(first) = within(limit, poll_fn(|cx| resolver.frame_stream.poll_next(cx))).await else {
        return too_slow(&conn, &shared);
    };
    let id = resolver.frame_stream.id();
    if let Ok(resolved) = resolver.accept_with_frame(first) {
        Box::pin(exchange(conn, id, resolved.resolve(), shared, client, notes)).await;
    }
}

/// Ends the connection of a client that plays for time with a header: dropped, its stream would
/// stay open on its side.
fn too_slow(conn: &Conn, shared: &Shared) {
    shared.metrics.slow.fetch_add(1, Relaxed);
    conn.close(Code::H3_EXCESSIVE_LOAD.value(), b"request header too slow");
}

/// Answers the request on stream `id`, unless the client abandons it.
async fn exchange(
    conn: Conn,
    id: StreamId,
    resolving: impl Future<
        Output = Result<(Request<()>, RequestStream<BidiStream, Bytes>), StreamError>,
    >,
    shared: Arc<Shared>,
    client: IpAddr,
    notes: Option<ResumeHandle>,
) {
    // A header that breaks a limit is answered by the library itself (431, RFC 6585 §5), which does
    // not finish the stream.
    let refusal = conn.finish_when_dropped(id);
    let resolved = within(shared.door.limits().stall_time, resolving).await;
    drop(refusal);
    let (request, stream) = match resolved {
        Some(Ok(resolved)) => resolved,
        Some(Err(_)) => return,
        None => return too_slow(&conn, &shared),
    };
    tokio::select! {
        // The client wants no more of it, or has gone: whatever is still under way for it ends
        // here.
        () = conn.stopped(id) => {}
        () = respond(&conn, request, stream, &shared, client, notes) => {}
    }
}

/// Answers a request, and waits until the client has all of the answer.
async fn respond(
    conn: &Conn,
    request: Request<()>,
    stream: RequestStream<BidiStream, Bytes>,
    shared: &Arc<Shared>,
    client: IpAddr,
    notes: Option<ResumeHandle>,
) {
    let limits = *shared.door.limits();
    let (mut stream, mut content) = stream.split();
    let mut served = RequestLog::begin(shared, client, &request, Version::HTTP_3);
    let notes =
        notes.filter(|_| *request.method() == Method::GET && takes_trailers(request.headers()));
    let now = shared.clock.system();
    let reply = match &shared.origin {
        Origin::Files(root) => {
            // Content of a request is not read: it would only cost credit.
            content.stop_sending(Code::H3_NO_ERROR);
            drop(content);
            StreamedResponse::file(shared, root, request, client, now).await
        }
        Origin::Upstream(relay) => {
            let early = conn.connected_at().is_none();
            if early && !request.method().is_safe() && conn.handshaken().await.is_err() {
                return;
            }
            let early = early && request.method().is_safe();
            let asker = RequestContext { client, version: Version::HTTP_3, early, now };
            let Some(reply) =
                relayed(conn, (&mut stream, content), relay, &request, asker, limits.stall_time)
                    .await
            else {
                return;
            };
            reply
        }
    };
    served.status(reply.head.status());
    let mut sending = shared.door.send(client);
    match send(conn, &mut stream, reply, notes, &mut sending, &mut served).await {
        Ok(()) => {
            served.complete();
            acknowledged(conn, &stream, sending, limits.stall_time).await;
        }
        Err(Some(code)) => {
            if code == Code::H3_EXCESSIVE_LOAD {
                shared.metrics.slow.fetch_add(1, Relaxed);
            }
            stream.stop_stream(code);
        }
        // The client has gone, or wants no more.
        Err(None) => {}
    }
}

/// Asks the server behind, and passes content on to it while it takes any. Nothing where the client
/// has gone.
async fn relayed(
    conn: &Conn,
    (stream, content): (&mut RequestStream<SendStream, Bytes>, RequestStream<RecvStream, Bytes>),
    relay: &Relay,
    request: &Request<()>,
    asker: RequestContext,
    stall: Span,
) -> Option<StreamedResponse> {
    if expects_continue(request.headers()) && relay.refusal(request).is_none() {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::CONTINUE;
        within(stall, stream.send_response(head)).await?.ok()?;
    }
    let (sender, pieces) = mpsc::channel(PIECES);
    conn.spawn(pass_on(content, sender, stall));
    Some(relay.forward(request, Upload::of_quic(pieces, announced(request.headers())), asker).await)
}

/// Reads a request's content as long as somebody wants it.
async fn pass_on(
    mut content: RequestStream<RecvStream, Bytes>,
    sender: mpsc::Sender<Piece>,
    stall: Span,
) {
    loop {
        let piece = tokio::select! {
            () = sender.closed() => break,
            piece = within(stall, content.recv_data()) => match piece {
                None => Piece::Failed(io::ErrorKind::TimedOut.into()),
                Some(Err(error)) => Piece::Failed(io::Error::other(error)),
                Some(Ok(None)) => {
                    // The receiver may be gone: then nobody needs the end.
                    let _ = sender.send(Piece::End).await;
                    return;
                }
                Some(Ok(Some(mut data))) => Piece::Data(data.copy_to_bytes(data.remaining())),
            },
        };
        let failed = matches!(piece, Piece::Failed(_));
        if sender.send(piece).await.is_err() || failed {
            break;
        }
    }
    // RFC 9114 §4.1: the response does not depend on the rest.
    content.stop_sending(Code::H3_NO_ERROR);
}

/// Keeps the response's part of the memory while something of it is not acknowledged; a client for
/// which that takes too long is given up.
async fn acknowledged(
    conn: &Conn,
    stream: &RequestStream<SendStream, Bytes>,
    sending: SendBufferGrant,
    stall: Span,
) {
    let pieces = sending.granted() / TAKEN + 1;
    if within(
        Span::from_nanos(stall.as_nanos().saturating_mul(pieces)),
        conn.acknowledged(stream.send_id()),
    )
    .await
    .is_none()
    {
        sending.too_slow();
        conn.close(Code::H3_EXCESSIVE_LOAD.value(), b"nothing is taken");
    }
}

/// Sends a response; an error is the code to end the stream with, where it still can be.
async fn send(
    conn: &Conn,
    stream: &mut RequestStream<SendStream, Bytes>,
    StreamedResponse { mut head, mut content }: StreamedResponse,
    notes: Option<ResumeHandle>,
    sending: &mut SendBufferGrant,
    served: &mut RequestLog,
) -> Result<(), Option<Code>> {
    let stall = sending.limits().stall_time;
    let slow = || Some(Code::H3_EXCESSIVE_LOAD);
    if notes.is_some() {
        head.headers_mut().insert(TRAILER, HeaderValue::from_static("server-timing"));
    }
    within(stall, stream.send_response(head)).await.ok_or_else(slow)?.map_err(|_| None)?;
    loop {
        // Twice the window: what is in flight, and as much again for the round trip in which the
        // window may double.
        let window = conn.congestion_window().map_or(0, |window| window.get());
        let buffer = sending.buffer(window.saturating_mul(2));
        // A small part of the buffer, since it is memory too; of few sizes, so that what one piece
        // leaves, another fits.
        let most = 1 << (buffer / 8).max(LEAST_PIECE).ilog2();
        let Some(piece) = content.next(most).await.map_err(|_| Some(Code::H3_INTERNAL_ERROR))?
        else {
            break;
        };
        conn.set_send_buffer(buffer);
        let bytes = piece.len() as u64;
        within(stall, stream.send_data(piece)).await.ok_or_else(slow)?.map_err(|_| None)?;
        sending.written();
        served.sent(bytes);
    }
    if let Some(notes) = notes {
        let trailers = PathReport::of(&notes).trailers();
        within(stall, stream.send_trailers(trailers)).await.ok_or_else(slow)?.map_err(|_| None)?;
    }
    within(stall, stream.finish()).await.ok_or_else(slow)?.map_err(|_| None)
}

//! Simulated applications: a client that requests objects and a server that generates them, over
//! HTTP/3 or bare streams.

use crate::spec::{Direction, Pieces};
use crate::visit_progress::VisitProgress;
use bentpipe_quic::{
    Conn, Http, Http3, MAX_ZEROS, QuicSettings, RawStream, Task, take_tokens, zeros,
};
use bentpipe_units::Time;
use bytes::{Buf, Bytes};
use http::{Method, Request, Response};
use std::future::poll_fn;
use std::task::Poll;

/// H3_NO_ERROR (RFC 9114 §8.1), with which a client closes after its last object.
pub const NO_ERROR: u64 = 0x100;
/// Name in the certificate of the simulated servers.
pub const SERVER_NAME: &str = "server.test";

/// Runs the client's application, which requests each object of `origin` as soon as its
/// dependencies are complete.
pub fn client(conn: Conn, settings: &QuicSettings, progress: VisitProgress, origin: usize) -> Task {
    let stream_window = settings.stream_window.get();
    match settings.http {
        Http::H3 => Box::pin(h3_client(conn, stream_window, progress, origin)),
        Http::Raw => {
            conn.spawn(take_tokens(conn.clone()));
            Box::pin(raw_client(conn, progress, origin))
        }
    }
}

/// Runs the server's application, which responds to requests until the connection ends.
pub fn server(conn: Conn, settings: &QuicSettings, progress: VisitProgress) -> Task {
    let stream_window = settings.stream_window.get();
    match settings.http {
        Http::H3 => Box::pin(h3_server(conn, stream_window, progress)),
        Http::Raw => {
            conn.spawn(take_tokens(conn.clone()));
            Box::pin(raw_server(conn, progress))
        }
    }
}

/// Returns the direction and the index of each object of `origin`, with the progress to which it
/// belongs.
fn plan(progress: &VisitProgress, origin: usize) -> Vec<(VisitProgress, Direction, usize)> {
    let mut all = Vec::new();
    for one in progress.all() {
        let state = one.state();
        let of = |index: &usize| state.page.as_ref().map_or(0, |page| page.source(*index).origin);
        let objects = (0..state.objects.len()).filter(|index| of(index) == origin);
        all.extend(objects.map(|index| (one.clone(), state.direction, index)));
    }
    all
}

/// The content of an object as its sender writes it.
struct Content<'a> {
    conn: &'a Conn,
    progress: &'a VisitProgress,
    /// Index of the object.
    index: usize,
    /// Bytes that are left.
    left: u64,
    /// Pieces that the sender writes, if it does not write as fast as it can.
    pieces: Option<Pieces>,
    /// Time of the next piece.
    due: Time,
}

impl<'a> Content<'a> {
    fn new(conn: &'a Conn, progress: &'a VisitProgress, index: usize, bytes: u64) -> Self {
        let (pieces, due) = (progress.pieces(index), conn.now());
        Self { conn, progress, index, left: bytes, pieces, due }
    }

    /// Waits until the next piece is to be written, and returns it; `None` after the last one.
    async fn next(&mut self) -> Option<Bytes> {
        let most = self.pieces.map_or(MAX_ZEROS, |pieces| pieces.size.get() as usize);
        let size = (most.min(MAX_ZEROS) as u64).min(self.left);
        if size == 0 {
            return None;
        }
        if let Some(Pieces { interval, .. }) = self.pieces {
            let Self { conn, progress, due, .. } = self;
            poll_fn(|cx| progress.poll_until(*due, conn.now(), cx)).await;
            self.due += interval;
        }
        self.left -= size;
        if self.left == 0 {
            self.progress.wrote_last(self.index, self.conn.now());
        }
        Some(zeros(size as usize))
    }
}

/// Returns the client's HTTP/3 application, to run it again.
fn h3_task(conn: Conn, stream_window: u64, progress: VisitProgress, origin: usize) -> Task {
    Box::pin(h3_client(conn, stream_window, progress, origin))
}

async fn h3_client(conn: Conn, stream_window: u64, progress: VisitProgress, origin: usize) {
    let early = is_early(&conn);
    // Grease would draw from an unseeded generator and vary in length.
    let mut builder = h3::client::builder();
    let built = builder.send_grease(false).build(Http3::new(conn.clone(), stream_window));
    let (mut connection, requests) = match unless_refused(&conn, early, built).await {
        Some(Ok(built)) => built,
        Some(Err(error)) => return progress.failed(format!("HTTP/3: {error}")),
        None => return conn.clone().spawn(h3_task(conn, stream_window, progress, origin)),
    };
    for (progress, direction, index) in plan(&progress, origin) {
        let (conn, mut requests) = (conn.clone(), requests.clone());
        conn.clone().spawn(async move {
            let exchange = async {
                poll_fn(|cx| progress.poll_due(index, conn.now(), cx)).await;
                let bytes = progress.started(index, conn.now());
                h3_exchange(&conn, &mut requests, direction, index, bytes, &progress).await
            };
            match unless_refused(&conn, early, exchange).await {
                Some(Ok(())) => progress.ended(index, conn.now()),
                Some(Err(error)) => progress.failed(format!("object {index}: {error}")),
                None => {}
            }
        });
    }
    // `requests` lives as long as this task, because the flow ends the connection, not its last
    // request.
    let end = poll_fn(|cx| connection.poll_close(cx));
    match unless_refused(&conn, early, end).await {
        Some(error) => progress.failed(format!("HTTP/3 connection ended: {error}")),
        // HTTP/3 cannot continue: its own streams are lost with the requests.
        None => conn.spawn(h3_task(conn.clone(), stream_window, progress, origin)),
    }
    drop(requests);
}

/// Returns true if what is sent now is early data.
fn is_early(conn: &Conn) -> bool {
    conn.has_0rtt() && conn.connected_at().is_none()
}

/// Waits for `future`; `None` once the server has refused the early data in which it began.
async fn unless_refused<T>(conn: &Conn, early: bool, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    poll_fn(|cx| match early && conn.early_data_refused() {
        true => Poll::Ready(None),
        false => future.as_mut().poll(cx).map(Some),
    })
    .await
}

async fn h3_exchange(
    conn: &Conn,
    requests: &mut h3::client::SendRequest<Http3, Bytes>,
    direction: Direction,
    index: usize,
    bytes: u64,
    progress: &VisitProgress,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let method = match direction {
        Direction::Download => Method::GET,
        Direction::Upload => Method::PUT,
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("https://{SERVER_NAME}/{index}/{bytes}"))
        .body(())?;
    let mut stream = requests.send_request(request).await?;
    if direction == Direction::Upload {
        let mut content = Content::new(conn, progress, index, bytes);
        while let Some(piece) = content.next().await {
            stream.send_data(piece).await?;
        }
    }
    stream.finish().await?;
    let response = stream.recv_response().await?;
    if !response.status().is_success() {
        return Err(format!("status {}", response.status()).into());
    }
    while let Some(data) = stream.recv_data().await? {
        if direction == Direction::Download {
            progress.received(index, data.remaining(), conn.now());
        }
    }
    Ok(())
}

async fn h3_server(conn: Conn, stream_window: u64, progress: VisitProgress) {
    let built = h3::server::builder()
        .send_grease(false)
        .build::<_, Bytes>(Http3::new(conn.clone(), stream_window))
        .await;
    let mut connection = match built {
        Ok(connection) => connection,
        Err(error) => return progress.failed(format!("HTTP/3 server: {error}")),
    };
    // The client's close appears as an error here. The client reports the relevant errors.
    while let Ok(Some(resolver)) = connection.accept().await {
        let (task_conn, progress) = (conn.clone(), progress.clone());
        conn.spawn(async move {
            if let Err(error) = h3_answer(&task_conn, resolver, &progress).await {
                progress.failed(format!("HTTP/3 server: {error}"));
            }
        });
    }
}

async fn h3_answer(
    conn: &Conn,
    resolver: h3::server::RequestResolver<Http3, Bytes>,
    progress: &VisitProgress,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let mut path = request.uri().path().trim_start_matches('/').split('/');
    let mut number = || path.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(index), Some(bytes)) = (number(), number()) else {
        stream.send_response(Response::builder().status(404).body(())?).await?;
        stream.finish().await?;
        return Ok(());
    };
    let id = stream.id();
    work(conn, progress, index as usize, |priority| conn.set_priority(id, priority)).await;
    if request.method() == Method::PUT {
        while let Some(data) = stream.recv_data().await? {
            progress.received(index as usize, data.remaining(), conn.now());
        }
        stream.send_response(Response::builder().status(200).body(())?).await?;
    } else {
        stream
            .send_response(
                Response::builder().status(200).header("content-length", bytes).body(())?,
            )
            .await?;
        let mut content = Content::new(conn, progress, index as usize, bytes);
        while let Some(piece) = content.next().await {
            stream.send_data(piece).await?;
        }
    }
    stream.finish().await?;
    Ok(())
}

/// Plays the server's work on the request for an object of a page: gives its stream the priority
/// that it is to have, and waits until the answer is ready.
async fn work(conn: &Conn, progress: &VisitProgress, index: usize, set_priority: impl FnOnce(i32)) {
    let page = progress
        .state()
        .page
        .as_mut()
        .map(|page| (page.next_place(index), page.source(index).server_time));
    if let Some((place, server_time)) = page {
        // The stack sends streams of higher priority first.
        if let Some(place) = place {
            set_priority(-place);
        }
        if !server_time.is_zero() {
            let due = conn.now() + server_time;
            poll_fn(|cx| progress.poll_until(due, conn.now(), cx)).await;
        }
    }
    progress.answered(conn.now());
}

/// Bytes of a bare request: direction (0 down, 1 up), object, size.
const RAW_REQUEST: usize = 17;

async fn raw_client(conn: Conn, progress: VisitProgress, origin: usize) {
    for (progress, direction, index) in plan(&progress, origin) {
        conn.spawn(raw_object(conn.clone(), direction, index, progress));
    }
}

/// Returns the exchange of object `index`, which is made again if the server refuses it as early
/// data.
fn raw_object(conn: Conn, direction: Direction, index: usize, progress: VisitProgress) -> Task {
    Box::pin(async move {
        let early = is_early(&conn);
        let exchange = async {
            poll_fn(|cx| progress.poll_due(index, conn.now(), cx)).await;
            let bytes = progress.started(index, conn.now());
            raw_exchange(&conn, direction, index, bytes, &progress).await
        };
        match unless_refused(&conn, early, exchange).await {
            Some(Ok(())) => progress.ended(index, conn.now()),
            Some(Err(error)) => progress.failed(format!("object {index}: {error}")),
            None => conn.spawn(raw_object(conn.clone(), direction, index, progress)),
        }
    })
}

/// Transfers an object of `bytes` on a stream of its own.
///
/// # Errors
/// Why the stream or the connection ended.
pub async fn raw_exchange(
    conn: &Conn,
    direction: Direction,
    index: usize,
    bytes: u64,
    progress: &VisitProgress,
) -> Result<(), String> {
    let mut stream = RawStream::open(conn).await?;
    let mut request = Vec::with_capacity(RAW_REQUEST);
    request.push(u8::from(direction == Direction::Upload));
    request.extend_from_slice(&(index as u64).to_be_bytes());
    request.extend_from_slice(&bytes.to_be_bytes());
    stream.write_all(&request).await?;
    if direction == Direction::Upload {
        let mut content = Content::new(conn, progress, index, bytes);
        while let Some(piece) = content.next().await {
            stream.write_all(&piece).await?;
        }
    }
    stream.finish()?;
    while let Some(data) = stream.read().await? {
        if direction == Direction::Download {
            progress.received(index, data.len(), conn.now());
        }
    }
    Ok(())
}

async fn raw_server(conn: Conn, progress: VisitProgress) {
    while let Ok(stream) = RawStream::accept(&conn).await {
        let (task_conn, progress) = (conn.clone(), progress.clone());
        conn.spawn(async move {
            if let Err(error) = raw_answer(&task_conn, stream, &progress).await {
                progress.failed(format!("server: {error}"));
            }
        });
    }
}

async fn raw_answer(
    conn: &Conn,
    mut stream: RawStream,
    progress: &VisitProgress,
) -> Result<(), String> {
    let mut request = Vec::with_capacity(RAW_REQUEST);
    let mut surplus = 0;
    while request.len() < RAW_REQUEST {
        let Some(data) = stream.read().await? else {
            return Err(format!("request of {} bytes, expected {RAW_REQUEST}", request.len()));
        };
        let head = data.len().min(RAW_REQUEST - request.len());
        request.extend_from_slice(&data[..head]);
        surplus = data.len() - head;
    }
    let number = |at: usize| {
        request[at..at + 8].iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let (index, bytes) = (number(1) as usize, number(9));
    work(conn, progress, index, |priority| stream.set_priority(priority)).await;
    if request[0] == 1 {
        if surplus > 0 {
            progress.received(index, surplus, conn.now());
        }
        while let Some(data) = stream.read().await? {
            progress.received(index, data.len(), conn.now());
        }
    } else {
        let mut content = Content::new(conn, progress, index, bytes);
        while let Some(piece) = content.next().await {
            stream.write_all(&piece).await?;
        }
    }
    stream.finish()
}

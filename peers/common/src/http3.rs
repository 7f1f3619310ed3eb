//! HTTP/3 with the crate h3, over any QUIC library that implements its traits.

use crate::{Error, Fetch, Fetched, PIECE, Root, interop};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h3::quic;
use http::{Request, Response, StatusCode, header};
use std::future::{Future, poll_fn};
use tokio::io::AsyncReadExt;

/// Downloads the file of `fetch` into `fetched`.
///
/// # Errors
/// The connection or the request failed, or the file is incomplete.
pub async fn get<C, O>(connection: C, fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error>
where
    C: quic::Connection<Bytes, OpenStreams = O> + Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
    O: quic::OpenStreams<Bytes> + Send,
{
    let (mut driver, mut requests) = h3::client::new(connection).await?;
    let exchange = async {
        let mut stream = requests.send_request(Request::get(fetch.url()).body(())?).await?;
        stream.finish().await?;
        let response = stream.recv_response().await?;
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status()).into());
        }
        let length = response.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        while let Some(mut data) = stream.recv_data().await? {
            while data.has_remaining() {
                let piece = data.chunk();
                let taken = piece.len();
                fetched.body(piece)?;
                data.advance(taken);
            }
        }
        fetched.complete(length)
    };
    tokio::select! {
        biased;
        result = exchange => result,
        error = poll_fn(|cx| driver.poll_close(cx)) => Err(error.into()),
    }
}

/// Downloads files at the same time, over one connection, for the QUIC interop runner.
///
/// # Errors
/// The connection or a request failed, or a file cannot be written.
pub async fn get_all<C, O>(connection: C, requests: &[interop::Request]) -> Result<(), Error>
where
    C: quic::Connection<Bytes, OpenStreams = O> + Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
    O: quic::OpenStreams<Bytes> + Send,
{
    let (mut driver, mut sender) = h3::client::new(connection).await?;
    let exchange = async {
        let mut streams = Vec::new();
        for request in requests {
            let mut stream = sender.send_request(Request::get(request.url()).body(())?).await?;
            stream.finish().await?;
            streams.push((stream, request));
        }
        for (mut stream, request) in streams {
            let status = stream.recv_response().await?.status();
            if status != StatusCode::OK {
                return Err(format!("{}: status {status}", request.url()).into());
            }
            let mut content = Vec::new();
            while let Some(data) = stream.recv_data().await? {
                content.put(data);
            }
            tokio::fs::write(request.file(), content).await?;
        }
        Ok(())
    };
    tokio::select! {
        biased;
        result = exchange => result,
        error = poll_fn(|cx| driver.poll_close(cx)) => Err(error.into()),
    }
}

/// Spawns a task that awaits `connecting` and serves the requests of its connection. Errors go to
/// standard error.
pub fn spawn<C>(connecting: impl Future<Output = Result<C, Error>> + Send + 'static, root: &Root)
where
    C: quic::Connection<Bytes, OpenStreams: Send> + Send + 'static,
    C::BidiStream: quic::BidiStream<Bytes> + Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
{
    let root = root.clone();
    tokio::spawn(async move {
        let served = async { serve(connecting.await?, root).await };
        if let Err(error) = served.await {
            eprintln!("{error}");
        }
    });
}

/// Serves requests until the client closes the connection.
async fn serve<C>(connection: C, root: Root) -> Result<(), Error>
where
    C: quic::Connection<Bytes>,
    C::BidiStream: quic::BidiStream<Bytes> + Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
{
    let mut connection = h3::server::Connection::new(connection).await?;
    while let Some(request) = connection.accept().await? {
        let (request, mut stream) = request.resolve_request().await?;
        let root = root.clone();
        tokio::spawn(async move {
            let answer = async {
                // Read to the end. Otherwise dropping the stream stops it with a code that HTTP/3
                // does not define, and libcurl then abandons the response.
                while stream.recv_data().await?.is_some() {}
                let Ok((mut file, length)) = root.open(request.uri().path()).await else {
                    stream
                        .send_response(Response::builder().status(StatusCode::NOT_FOUND).body(())?)
                        .await?;
                    stream.finish().await?;
                    return Ok::<(), Error>(());
                };
                stream
                    .send_response(
                        Response::builder().header(header::CONTENT_LENGTH, length).body(())?,
                    )
                    .await?;
                let mut piece = BytesMut::new();
                loop {
                    piece.reserve(PIECE);
                    if file.read_buf(&mut piece).await? == 0 {
                        break;
                    }
                    stream.send_data(piece.split().freeze()).await?;
                }
                stream.finish().await?;
                Ok(())
            };
            if let Err(error) = answer.await {
                eprintln!("{}: {error}", request.uri());
            }
        });
    }
    Ok(())
}

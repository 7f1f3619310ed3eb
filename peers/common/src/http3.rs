//! Requests and answers through the crate h3, over any QUIC that has its traits.

use crate::{Error, Fetch, Fetched, PIECE, Root};
use bytes::{Buf, Bytes, BytesMut};
use h3::quic;
use http::{Request, Response, StatusCode, header};
use std::future::{Future, poll_fn};
use tokio::io::AsyncReadExt;

/// Gets what `fetch` names into `fetched`.
///
/// # Errors
/// Whatever keeps the file from being whole.
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

/// Answers the requests of a connection in a task of its own, once `connecting` has it, and says on
/// standard error what ended it but its regular end.
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

/// Answers requests until the client is gone.
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
                // To its end: a stream that is let go before is stopped with a code that is none of
                // HTTP/3's, and libcurl gives up the answer for it.
                while stream.recv_data().await?.is_some() {}
                let Ok((mut file, length)) = root.open(request.uri().path()).await else {
                    stream.send_response(Response::builder().status(StatusCode::NOT_FOUND).body(())?).await?;
                    stream.finish().await?;
                    return Ok::<(), Error>(());
                };
                stream.send_response(Response::builder().header(header::CONTENT_LENGTH, length).body(())?).await?;
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

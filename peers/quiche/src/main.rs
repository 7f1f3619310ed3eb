//! A small HTTP/3 client and server on tokio-quiche, with its default settings. They include a
//! Retry by the server before each handshake.
//!
//! The client does not verify the server's certificate, because tokio-quiche has no setting for
//! trusted certificates.

use bytes::BytesMut;
use futures::{SinkExt, StreamExt};
use peer_common::{Error, Fetch, Fetched, PIECE, Root, Serve, run};
use std::process::ExitCode;
use tokio::io::AsyncReadExt;
use tokio::net::UdpSocket;
use tokio_quiche::http3::driver::{
    ClientH3Event, H3Event, InboundFrame, IncomingH3Headers, NewClientRequest, OutboundFrame,
    ServerH3Event,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quiche::h3::{Header, NameValue};
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::socket::Socket;
use tokio_quiche::{ClientH3Driver, ConnectionParams, ServerH3Driver};

#[tokio::main]
async fn main() -> ExitCode {
    run(get, serve).await
}

async fn get(fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error> {
    let socket = UdpSocket::bind(fetch.local()).await?;
    socket.connect(fetch.server).await?;
    let params = ConnectionParams::new_client(QuicSettings::default(), None, Hooks::default());
    let (driver, mut controller) = ClientH3Driver::new(Http3Settings::default());
    let socket: Socket<_, _> = socket.try_into()?;
    let connection =
        tokio_quiche::quic::connect_with_config(socket, Some(&fetch.name), &params, driver).await?;
    fetched.handshake_done();
    let authority = fetch.authority();
    let headers = vec![
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", authority.as_bytes()),
        Header::new(b":path", fetch.path.as_bytes()),
    ];
    let request = NewClientRequest { request_id: 0, headers, body_writer: None };
    controller.request_sender().send(request).map_err(|_| "the connection is closed")?;
    let _connection = connection;
    while let Some(event) = controller.event_receiver_mut().recv().await {
        match event {
            ClientH3Event::Core(H3Event::IncomingHeaders(answer)) => {
                return receive(answer, fetched).await;
            }
            ClientH3Event::Core(H3Event::ConnectionError(error)) => return Err(error.into()),
            ClientH3Event::Core(H3Event::ConnectionShutdown(error)) => {
                return Err(format!("closed: {error:?}").into());
            }
            ClientH3Event::Core(H3Event::ResetStream { .. }) => {
                return Err("the server reset the stream".into());
            }
            _ => {}
        }
    }
    Err("the connection closed before the response".into())
}

/// Receives the body of a response.
async fn receive(mut answer: IncomingH3Headers, fetched: &mut Fetched) -> Result<(), Error> {
    let value = |name: &[u8]| {
        let header = answer.headers.iter().find(|header| header.name() == name);
        header.and_then(|header| std::str::from_utf8(header.value()).ok()).unwrap_or_default()
    };
    if value(b":status") != "200" {
        return Err(format!("status {}", value(b":status")).into());
    }
    let length = value(b"content-length").parse().ok();
    while let Some(frame) = answer.recv.recv().await {
        if let InboundFrame::Body(data, last) = frame {
            if !data.is_empty() {
                fetched.body(&data)?;
            }
            if last {
                return fetched.complete(length);
            }
        }
    }
    Err("the stream ended before its last frame".into())
}

async fn serve(directory: &Serve) -> Result<(), Error> {
    let socket = UdpSocket::bind(directory.listen).await?;
    let words =
        |path: &std::path::Path| path.to_str().map(str::to_owned).ok_or("a path is not UTF-8");
    let (cert, private_key) = (words(&directory.cert)?, words(&directory.key)?);
    let tls =
        TlsCertificatePaths { cert: &cert, private_key: &private_key, kind: CertificateKind::X509 };
    let params = ConnectionParams::new_server(QuicSettings::default(), tls, Hooks::default());
    let mut listeners = tokio_quiche::listen([socket], params, DefaultMetrics)?;
    let root = Root::new(&directory.root);
    while let Some(connection) = listeners[0].next().await {
        let (driver, mut controller) = ServerH3Driver::new(Http3Settings::default());
        match connection {
            Ok(connection) => _ = connection.start(driver),
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        }
        let root = root.clone();
        tokio::spawn(async move {
            while let Some(event) = controller.event_receiver_mut().recv().await {
                match event {
                    ServerH3Event::Headers { incoming_headers, .. } => {
                        let root = root.clone();
                        tokio::spawn(async move {
                            if let Err(error) = answer(incoming_headers, &root).await {
                                eprintln!("{error}");
                            }
                        });
                    }
                    ServerH3Event::Core(H3Event::ConnectionError(error)) => eprintln!("{error}"),
                    ServerH3Event::Core(_) => {}
                }
            }
        });
    }
    Ok(())
}

/// Responds to a request with its file, or with status 404.
async fn answer(mut request: IncomingH3Headers, root: &Root) -> Result<(), Error> {
    let path = request.headers.iter().find(|header| header.name() == b":path");
    let path = path.and_then(|header| std::str::from_utf8(header.value()).ok()).unwrap_or_default();
    let Ok((mut file, length)) = root.open(path).await else {
        request
            .send
            .send(OutboundFrame::Headers(vec![Header::new(b":status", b"404")], None))
            .await?;
        request.send.send(OutboundFrame::Body(bytes::Bytes::new(), true)).await?;
        return Ok(());
    };
    let headers = vec![
        Header::new(b":status", b"200"),
        Header::new(b"content-length", length.to_string().as_bytes()),
    ];
    request.send.send(OutboundFrame::Headers(headers, None)).await?;
    let mut piece = BytesMut::new();
    loop {
        piece.reserve(PIECE);
        let last = file.read_buf(&mut piece).await? == 0;
        request.send.send(OutboundFrame::Body(piece.split().freeze(), last)).await?;
        if last {
            return Ok(());
        }
    }
}

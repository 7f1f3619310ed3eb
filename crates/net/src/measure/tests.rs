//! A server that has the token and does not keep to the protocol.

use super::server::MeasureServer;
use super::transfer::read_message;
use super::wire::Message;
use super::{Measurement, Outcome, Secret};
use crate::clock::RealClock;
use bentpipe_quic::{Conn, RawStream};
use bentpipe_units::{Bytes, Span};
use bytes::Bytes as Piece;
use std::net::Ipv4Addr;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Grants everything, takes an upload, and answers it with `report`, after which it keeps the
/// connection alive and sends nothing more on the stream.
async fn serve(conn: Conn, report: Vec<u8>) -> Result<(), String> {
    let (time, bytes) = (Span::from_secs(60), 100_000_000);
    loop {
        let mut stream = RawStream::accept(&conn).await?;
        match read_message(&mut stream).await?.0 {
            Message::Begin { .. } => {
                stream.write_all(&Message::Granted { time, bytes }.encode()).await?;
                stream.finish()?;
            }
            Message::Upload { .. } => {
                stream.write_all(&Message::Granted { time, bytes: 10_000 }.encode()).await?;
                while stream.read().await?.is_some() {}
                stream.write_all(&report).await?;
                loop {
                    sleep(Span::from_secs(1).into()).await;
                    conn.send_datagram(Piece::from_static(b"alive"))?;
                }
            }
            _ => stream.finish()?,
        }
    }
}

/// Measures for up to 15 s with a server that answers an upload with `report`.
async fn measured(report: Vec<u8>) -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("token");
    Secret::make(&file).expect("a token");
    let token = Secret::from_file(&file).expect("the token");
    let clock = RealClock::new();
    let app = move |conn: Conn, _, guard| {
        let report = report.clone();
        Box::pin(async move {
            let _guard = guard;
            let _ = serve(conn, report).await;
        }) as bentpipe_quic::Task
    };
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let server = MeasureServer::listen(address, &token, &clock, app).expect("a server");
    let plan = Measurement {
        server: server.address(),
        token,
        bytes: Bytes::from_mb(10),
        time: Span::from_secs(15),
        pings: Span::from_secs(1),
        transfer: (Span::from_secs(1), Bytes::from_mb(1)),
        start: Box::new(|_| None),
    };
    let (progress, _told) = mpsc::channel(8);
    let outcome = plan.run(&clock, progress).await.expect("pings");
    server.stop().await;
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measurement_ends_with_its_time_whatever_the_server_does() {
    let outcome = measured(Message::Bins { count: 10 }.encode().to_vec()).await;
    assert!(outcome.samples.len() > 50, "{}", outcome.samples.len());
    assert_eq!(outcome.ended.as_deref(), Some("it did not end within 15 s"));
    assert!((14.5..17.0).contains(&outcome.took.as_secs_f64()), "{}", outcome.took);
}

/// The rate of an upload is what the server says.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_reports_more_than_was_sent_is_not_believed() {
    let mut report = Message::Bins { count: 2 }.encode().to_vec();
    report.extend([u64::MAX; 2].into_iter().flat_map(u64::to_be_bytes));
    let outcome = measured(report).await;
    assert!(outcome.transfers[1].bins.is_empty());
    let reason = outcome.ended.expect("a reason");
    assert!(reason.starts_with("the server reports more than the"), "{reason}");
}

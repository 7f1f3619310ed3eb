//! qlog files of connections.

use super::{TestServer, content};
use bentpipe_net::Qlog;
use bentpipe_net::get::Client;
use bentpipe_quic::qlog::check::check;
use bentpipe_units::{Bytes, Span};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Checks the traces in a directory and returns their records.
fn traces(directory: &Path) -> Vec<Vec<Value>> {
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let trace = check(&std::fs::read(file).unwrap());
        let trace = trace.unwrap_or_else(|defect| panic!("{}: {defect}", file.display()));
        std::iter::once(trace.head).chain(trace.events).collect()
    };
    files.iter().map(read).collect()
}

fn count(trace: &[Value], name: &str) -> usize {
    trace.iter().filter(|record| record["name"] == name).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ends_trace_a_connection_from_its_first_packet_to_its_last() {
    let traced = tempfile::tempdir().unwrap();
    let (server_dir, client_dir) = (traced.path().join("server"), traced.path().join("client"));
    let site = TestServer::with(|builder| builder.qlog(Qlog::in_directory(&server_dir))).await;
    let expected = site.file("big.bin", 1_000_000);
    let client = Client::builder()
        .trust(site.trust.clone())
        .qlog(Qlog::in_directory(&client_dir))
        .build()
        .unwrap();
    assert!(content(site.get(&client, "/big.bin").await.unwrap()).await.unwrap() == expected);
    client.disconnect().await;
    drop(client);
    let counts = site.server.qlog_counts().unwrap();
    site.server.stop(Span::from_secs(5)).await;
    assert_eq!(
        [&counts.traces, &counts.skipped, &counts.truncated].map(|count| count.load(Relaxed)),
        [1, 0, 0]
    );

    let (server, client) = (traces(&server_dir), traces(&client_dir));
    assert_eq!((server.len(), client.len()), (1, 1));
    let (server, client) = (&server[0], &client[0]);
    assert_eq!(server[0]["trace"]["vantage_point"]["type"], "server");
    assert_eq!(client[0]["trace"]["vantage_point"]["type"], "client");
    let group = |trace: &[Value]| trace[0]["trace"]["common_fields"]["group_id"].clone();
    assert_eq!(group(server), group(client), "the same connection");
    // 1 MB in packets of at most 1452 bytes.
    assert!(count(server, "quic:packet_sent") > 688, "{}", count(server, "quic:packet_sent"));
    assert!(
        count(client, "quic:packet_received") > 688,
        "{}",
        count(client, "quic:packet_received")
    );
    let times: Vec<f64> =
        server[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
    assert!((0.0..1000.0).contains(&times[0]), "since the start of the connection: {}", times[0]);
    for trace in [server, client] {
        assert_eq!(count(trace, "quic:connection_started"), 1);
        assert_eq!(count(trace, "quic:connection_closed"), 1);
        assert_eq!(count(trace, "quic:parameters_set"), 2);
        assert!(count(trace, "http3:frame_created") > 1 && count(trace, "http3:frame_parsed") > 1);
        // Whoever reads a stateless reset token could end the connection.
        let text = serde_json::to_string(trace).unwrap();
        assert!(text.contains("new_connection_id") && !text.contains("reset_token"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_stay_within_the_bounds_and_transfers_continue() {
    let traced = tempfile::tempdir().unwrap();
    let qlog = Qlog {
        directory: traced.path().to_owned(),
        files: 2,
        bytes: Bytes::new(30_000),
        qvis: false,
    };
    let site = TestServer::with(|builder| builder.qlog(qlog)).await;
    let expected = site.file("big.bin", 1_000_000);
    for _ in 0..3 {
        let client = site.client();
        assert!(content(site.get(&client, "/big.bin").await.unwrap()).await.unwrap() == expected);
        client.disconnect().await;
    }
    let counts = site.server.qlog_counts().unwrap();
    site.server.stop(Span::from_secs(5)).await;
    assert_eq!([&counts.traces, &counts.skipped].map(|count| count.load(Relaxed)), [2, 1]);
    let bytes: u64 = std::fs::read_dir(traced.path())
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((20_000..=30_000).contains(&bytes), "{bytes}");
    let first = &traces(traced.path())[0];
    let last = &first[first.len() - 1];
    assert_eq!(last["name"], "loglevel:warning", "{last}");
}

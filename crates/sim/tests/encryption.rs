//! Runs with and without encryption of QUIC packets.

mod common;

use bentpipe_quic::{Handshake, Http, Settings};
use bentpipe_series::SeriesLimit;
use bentpipe_sim::{QlogFile, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};

/// Returns the records of a qlog file, which tell time, number and length of every packet. The
/// bytes of tokens are left out: the key that encrypts them is never seeded.
fn records(file: &QlogFile) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let pieces: Vec<String> = text.split(['\n', '{', '}']).map(str::to_owned).collect();
    pieces.into_iter().filter(|piece| !piece.contains("\"data\":\""))
}

#[test]
fn packets_are_the_same_without_encryption() {
    for (http, patch) in [(Http::H3, ""), (Http::H3, "loss = 0.02"), (Http::Raw, "loss = 0.1")] {
        let window = Bytes::from_mb(16);
        let stack = Stack::quic(Settings {
            http,
            stream_window: window,
            connection_window: window,
            send_buffer: window,
            ..Settings::default()
        });
        let visit = |handshake, measured| Visit {
            idle_before: Span::from_millis(500),
            measured,
            ..download(500_000, handshake)
        };
        let visits = vec![visit(Handshake::OneRtt, true), visit(Handshake::ZeroRtt, true)];
        let direction = || link(Rate::from_mbps(50), Span::from_millis(300), patch);
        let hops = vec![hop("satellite", direction(), direction())];
        let flows = vec![flow("main", stack, visits)];
        let spec = RunSpec {
            qlog: true,
            trace: Some(SeriesLimit::DEFAULT),
            ..run_spec(Span::from_millis(600), hops, flows)
        };
        let [clear, encrypted] =
            [false, true].map(|encrypt| run_complete(&RunSpec { encrypt, ..spec.clone() }));
        assert_eq!(format!("{:?}", clear.flows), format!("{:?}", encrypted.flows), "{patch}");
        assert_eq!(clear.events, encrypted.events, "{patch}");
        assert_eq!(clear.qlog.len(), 4, "both ends of both visits");
        for (clear, encrypted) in clear.qlog.iter().zip(&encrypted.qlog) {
            for (clear, encrypted) in records(clear).zip(records(encrypted)) {
                assert_eq!(clear, encrypted, "{patch}");
            }
            assert_eq!(clear.bytes.len(), encrypted.bytes.len(), "{patch}");
        }
    }
}

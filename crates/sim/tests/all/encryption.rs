//! Runs with and without encryption of QUIC packets.

use crate::common;

use bentpipe_quic::qlog::Forms;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{RunSpec, Stack, Visit};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};

#[test]
fn packets_are_the_same_without_encryption() {
    for (http, patch) in [(Http::H3, ""), (Http::H3, "loss = 0.02"), (Http::Raw, "loss = 0.1")] {
        let window = Bytes::from_mb(16);
        let stack = Stack::quic(QuicSettings {
            http,
            stream_window: window,
            connection_window: window,
            send_buffer: window,
            ..QuicSettings::default()
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
            qlog: Forms::CURRENT,
            trace: Some(SeriesLimit::DEFAULT),
            ..run_spec(Span::from_millis(600), hops, flows)
        };
        let [clear, encrypted] =
            [false, true].map(|encrypt| run_complete(&RunSpec { encrypt, ..spec.clone() }));
        assert_eq!(format!("{:?}", clear.flows), format!("{:?}", encrypted.flows), "{patch}");
        assert_eq!(clear.events, encrypted.events, "{patch}");
        assert_eq!(clear.qlog.len(), 4, "both ends of both visits");
        for (clear, encrypted) in clear.qlog.iter().zip(&encrypted.qlog) {
            let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (clear, encrypted) = (lines(&clear.current), lines(&encrypted.current));
            for (clear, encrypted) in clear.lines().zip(encrypted.lines()) {
                assert_eq!(clear, encrypted, "{patch}");
            }
            assert_eq!(clear.len(), encrypted.len(), "{patch}");
        }
    }
}

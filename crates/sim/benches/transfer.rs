//! CPU time of whole simulated transfers.

use bentpipe_link::DirectionConfig;
use bentpipe_quic::qlog::Forms;
use bentpipe_quic::{Http, QuicSettings};
use bentpipe_sim::{FlowSpec, HopSpec, Object, RunSpec, Stack, Visit};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use criterion::{Criterion, criterion_group, criterion_main};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// 10 MB over 250/3 Mbps, 600 ms.
fn spec(http: Http, trace: bool, qlog: Forms) -> RunSpec {
    let rtt = Span::from_millis(600);
    let direction = |mbps| {
        DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(300))
            .load(Path::new("."))
            .expect("valid direction")
    };
    let bdp = Rate::from_mbps(250).bytes_in(rtt);
    RunSpec {
        seed: 1,
        run: 0,
        base_rtt: rtt,
        mesh: None,
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(250),
            reverse: direction(3),
            shared: true,
        }],
        terminals: 1,
        flows: vec![FlowSpec::new(
            "download",
            Stack::quic(QuicSettings {
                http,
                stream_window: bdp.mul_f64(4.0),
                connection_window: bdp.mul_f64(4.0),
                send_buffer: bdp.mul_f64(2.0),
                ..QuicSettings::default()
            }),
            vec![Visit {
                objects: vec![Object::new("object", Bytes::from_mb(10))],
                ..Visit::default()
            }],
        )],
        time_limit: Span::from_secs(600),
        trace: trace.then_some(SeriesLimit::DEFAULT),
        qlog,
        capture: None,
        controller_state: false,
        reconfigurations: Vec::new(),
        path_changes: Vec::new(),
        encrypt: false,
    }
}

fn transfers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("10 MB, 250/3 Mbps, 600 ms");
    group.sample_size(20);
    for (name, http, trace, qlog) in [
        ("HTTP/3", Http::H3, false, Forms::NONE),
        ("bare streams", Http::Raw, false, Forms::NONE),
        ("HTTP/3 with time series", Http::H3, true, Forms::NONE),
        ("HTTP/3 with qlog", Http::H3, false, Forms::CURRENT),
    ] {
        let spec = spec(http, trace, qlog);
        let stop = AtomicBool::new(false);
        group.bench_function(name, |bencher| {
            bencher.iter(|| bentpipe_sim::run(&spec, &stop).expect("transfer runs").events)
        });
    }
    group.finish();
}

criterion_group!(benches, transfers);
criterion_main!(benches);

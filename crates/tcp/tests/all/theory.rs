//! Long-run goodput compared with closed-form models.

use crate::support;

use bentpipe_link::LossConfig;
use bentpipe_link::loss::Periodic;
use bentpipe_tcp::{AckPolicy, TcpSettings};
use bentpipe_units::{Bytes, Ratio, Span, Time};
use support::{CLIENT, Pair, SERVER};

/// Returns the long-run number of segments per RTT over a path whose capacity is far away.
fn mean_window(name: &str, rtt: Span, loss: LossConfig, losses: u64, p: f64) -> f64 {
    let large = Bytes::new(1 << 30);
    let settings = TcpSettings {
        receive_buffer: large,
        receive_buffer_start: large,
        window_share: 1000,
        autotune: false,
        send_buffer: large,
        // The delayed-ACK timer would be a large part of a small window's RTT.
        ack: AckPolicy { every: 1, ..AckPolicy::default() },
        ..TcpSettings::default()
    };
    let mut path = Pair::path(100_000, rtt / 2);
    path[SERVER].loss = loss;
    let mut pair = Pair::new([settings.clone(), settings], name, &path, 7);
    pair.logs = false;
    pair.applications[SERVER].to_write = u64::MAX / 4;
    let received = |pair: &Pair| pair.ends[CLIENT].received() / 1448;
    // Excludes slow start and the reduction after it.
    let warm = (10.0 / p) as u64;
    while received(&pair) < warm {
        pair.step(Time::MAX);
    }
    let (since, before) = (pair.now, received(&pair));
    while received(&pair) < before + (losses as f64 / p) as u64 {
        pair.step(Time::MAX);
    }
    (received(&pair) - before) as f64 * rtt.as_secs_f64() / pair.now.since(since).as_secs_f64()
}

/// Returns the segments per RTT of a window that is halved once in 1/p segments. A maximum of W
/// segments yields 3/8 W² + W/2 - W/4, since the RTT of the repair brings no growth and half a
/// segment per RTT of the window is no whole one. The square-root law is the limit for large
/// windows.
fn counted(p: f64) -> f64 {
    let window = ((0.0625 + 1.5 / p).sqrt() - 0.25) / 0.75;
    1.0 / p / (window / 2.0 + 1.0)
}

#[test]
fn newreno_follows_the_square_root_law() {
    // Mathis et al., CCR 27(3), 1997: C / sqrt(p) with C = sqrt(3/2), since the window grows by a
    // segment per RTT whatever the number of ACKs (RFC 9002 counts bytes). With independent losses
    // C is 1.31 (Ott, Kemperman and Mathis, 1996), 7 % more; 150 losses have a standard error of
    // about 4 %. At 1 % the window has a dozen segments, and the terms that the law ignores make 10
    // % and more of it: there the test uses the exact count.
    for p in [0.0001, 0.001, 0.01] {
        let every = (1.0 / p) as u64;
        for (loss, losses) in [
            (LossConfig::from(Periodic { every, offset: 5 }), 40),
            (LossConfig::bernoulli(Ratio::new(p).unwrap()), 150),
        ] {
            let window = mean_window("newreno", Span::from_millis(100), loss.clone(), losses, p);
            let law = if p < 0.01 { (1.5 / p).sqrt() } else { counted(p) };
            assert!((window / law - 1.0).abs() < 0.15, "{p}: {window} of {law} with {loss:?}");
        }
    }
}

#[test]
fn cubic_follows_its_deterministic_loss_model() {
    // RFC 9438 §5.1, equation 5, where the cubic function rather than Reno's growth decides: (C (3
    // + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4).
    for (p, rtt_ms) in [(0.0001, 100), (0.0001, 600), (0.00003, 100)] {
        let rtt = Span::from_millis(rtt_ms);
        let loss = LossConfig::from(Periodic { every: (1.0 / p) as u64, offset: 5 });
        let window = mean_window("cubic", rtt, loss, 20, p);
        let law = (0.4_f64 * 3.7 / (4.0 * 0.3)).powf(0.25) * (rtt.as_secs_f64() / p).powf(0.75);
        assert!((window / law - 1.0).abs() < 0.15, "{p} {rtt}: {window} of {law}");
    }
}

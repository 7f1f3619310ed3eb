//! Loss detection and recovery, one mechanism per test.

use crate::support;

use bentpipe_congestion::SenderMetrics;
use bentpipe_tcp::{AckPolicy, TcpSettings};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeSet;
use support::{CLIENT, Pair, SERVER, Sent, Treatment};

/// One-way delay. The RTT is twice that, plus the transmission time at 100 Mbps.
const ONE_WAY: Span = Span::from_millis(50);

fn settings() -> TcpSettings {
    // One ACK per segment, so that times are exact.
    TcpSettings { ack: AckPolicy { every: 1, ..AckPolicy::default() }, ..TcpSettings::default() }
}

fn pair(metrics: Option<SenderMetrics>) -> Pair {
    Pair::probed([settings(), settings()], "newreno", &Pair::path(100, ONE_WAY), 1, metrics)
}

/// Applies an outcome to the server's data segments at these positions in the order of their first
/// transmission, once each.
fn once(
    places: impl IntoIterator<Item = u64>,
    treatment: Treatment,
) -> impl FnMut(&Sent) -> Treatment {
    let mut places: BTreeSet<u64> = places.into_iter().map(|place| 1 + 1448 * place).collect();
    move |sent| {
        let hit = sent.from == SERVER && sent.segment.len > 0 && places.remove(&sent.segment.seq);
        if hit { treatment } else { Treatment::Pass }
    }
}

fn times(pair: &Pair, place: u64) -> Vec<Time> {
    pair.data().filter(|sent| sent.segment.seq == 1 + 1448 * place).map(|sent| sent.at).collect()
}

fn between(earlier: Time, later: Time, from_ms: u64, to_ms: u64) -> bool {
    (Span::from_millis(from_ms)..=Span::from_millis(to_ms)).contains(&later.since(earlier))
}

#[test]
fn a_lost_segment_is_retransmitted_once_after_an_rtt() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    pair.set_treatment(once([40], Treatment::Drop));
    pair.download(1448 * 200);
    assert!(pair.finish(Time::from_secs(20)));
    let times = times(&pair, 40);
    assert_eq!((times.len(), pair.ends[SERVER].record().timeouts), (2, 0));
    assert!(between(times[0], times[1], 100, 105), "{times:?}");
    assert_eq!(pair.ends[SERVER].record().retransmitted, 1);
    let record = metrics.stats();
    assert_eq!(
        (record.congestion_events, record.spurious_events, record.packets_declared_lost),
        (1, 0, 1)
    );
}

#[test]
fn many_losses_of_a_window_are_repaired_in_one_recovery() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    let lost: Vec<u64> = (70..140).step_by(3).collect();
    pair.set_treatment(once(lost.clone(), Treatment::Drop));
    pair.download(1448 * 400);
    assert!(pair.finish(Time::from_secs(20)));
    let record = pair.ends[SERVER].record();
    assert_eq!((record.retransmitted, record.timeouts), (lost.len() as u64, 0));
    assert_eq!(pair.ends[CLIENT].record().duplicates, 0);
}

#[test]
fn a_lost_tail_is_detected_by_a_probe() {
    let mut pair = pair(None);
    pair.set_treatment(once([199], Treatment::Drop));
    pair.download(1448 * 200);
    assert!(pair.finish(Time::from_secs(20)));
    let times = times(&pair, 199);
    let record = pair.ends[SERVER].record();
    assert_eq!((times.len(), record.retransmitted, record.timeouts), (2, 1, 0));
    // An RTT until the last acknowledgement, then two more and 200 ms because the segment is alone
    // in flight. The retransmission timer would expire earlier, so the probe replaces it (RFC 8985
    // §7.2).
    assert!(between(times[0], times[1], 400, 410), "{times:?}");
}

#[test]
fn a_lost_tail_of_several_segments_is_repaired_without_a_timeout() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    pair.set_treatment(once(195..200, Treatment::Drop));
    pair.download(1448 * 200);
    assert!(pair.finish(Time::from_secs(20)));
    let record = pair.ends[SERVER].record();
    assert_eq!((record.retransmitted, record.timeouts), (5, 0));
    // The probe, and an RTT later the other four.
    assert!(
        between(times(&pair, 195)[0], times(&pair, 195)[1], 390, 420),
        "{:?}",
        times(&pair, 195)
    );
    assert!(metrics.stats().congestion_events >= 1);
}

#[test]
fn a_probe_that_repairs_the_only_loss_is_a_congestion_event() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut pair = pair(Some(metrics.clone()));
    pair.set_treatment(once([99], Treatment::Drop));
    pair.applications[SERVER].to_write = 1448 * 100;
    pair.run(Time::from_secs(3));
    let record = metrics.stats();
    assert_eq!(
        (record.congestion_events, record.packets_declared_lost, record.spurious_events),
        (1, 1, 0)
    );
    // 100 acknowledged segments double a window of 10 as far as it was in use; half of that
    // remains.
    let cwnd: Vec<_> = record.series.as_ref().unwrap().cwnd.iter().collect();
    let (before, after) = (cwnd[cwnd.len() - 2].1, cwnd[cwnd.len() - 1].1);
    assert!((after / before - 0.5).abs() < 0.02, "{before} {after}");
}

#[test]
fn a_probe_for_a_lost_acknowledgement_is_no_congestion_event() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    let end = 1 + 1448 * 100;
    let mut lost = false;
    pair.set_treatment(move |sent| {
        let last =
            sent.from == CLIENT && sent.segment.ack == end && !std::mem::replace(&mut lost, true);
        if last { Treatment::Drop } else { Treatment::Pass }
    });
    pair.applications[SERVER].to_write = 1448 * 100;
    pair.run(Time::from_secs(3));
    assert_eq!(pair.ends[SERVER].acknowledged(), 1448 * 100);
    assert_eq!(pair.ends[SERVER].record().retransmitted, 1);
    let record = metrics.stats();
    assert_eq!((record.congestion_events, record.packets_declared_lost), (0, 0));
}

#[test]
fn a_lost_retransmission_is_detected_after_an_rtt() {
    let mut pair = pair(None);
    let mut transmissions = 0;
    pair.set_treatment(move |sent| {
        let hit = sent.from == SERVER && sent.segment.seq == 1 + 1448 * 40;
        transmissions += u32::from(hit);
        if hit && transmissions <= 3 { Treatment::Drop } else { Treatment::Pass }
    });
    pair.download(1448 * 2000);
    assert!(pair.finish(Time::from_secs(20)));
    let times = times(&pair, 40);
    let record = pair.ends[SERVER].record();
    assert_eq!((times.len(), record.retransmitted, record.timeouts), (4, 3, 0));
    for pair in times.windows(2) {
        assert!(between(pair[0], pair[1], 99, 115), "{times:?}");
    }
}

#[test]
fn the_timeout_backs_off_and_the_transfer_continues_when_the_path_is_back() {
    let mut pair = pair(None);
    pair.applications[SERVER].to_write = 1448 * 5000;
    pair.run(Time::from_millis(1000));
    let away = pair.now;
    pair.set_treatment(move |sent| {
        if sent.at < away + Span::from_secs(10) { Treatment::Drop } else { Treatment::Pass }
    });
    pair.applications[SERVER].finish = true;
    pair.applications[CLIENT].finish = true;
    assert!(pair.finish(Time::from_secs(60)));
    let mut outage: Vec<Time> =
        pair.data().map(|sent| sent.at).filter(|at| *at > away + Span::from_millis(150)).collect();
    // The window collapses to two segments, which are sent together.
    outage.dedup();
    let gaps: Vec<u64> = outage
        .windows(2)
        .take(5)
        .map(|pair| pair[1].since(pair[0]).as_nanos() / 1_000_000)
        .collect();
    let doubling = gaps[..4].windows(2).all(|pair| (pair[0] * 2).abs_diff(pair[1]) <= 2);
    assert!(doubling, "{gaps:?}");
    assert!(pair.ends[SERVER].record().timeouts >= 5);
}

#[test]
fn after_a_timeout_the_first_segment_leaves_though_others_fill_a_window_of_one() {
    // BBRv1 keeps one segment after a timeout; the tail loss probe was sent too late to be lost.
    let path = Pair::path(10, Span::from_millis(600));
    let small = TcpSettings {
        receive_buffer: Bytes::new(100_000),
        autotune: false,
        ..TcpSettings::default()
    };
    let mut pair = Pair::probed([small.clone(), small], "bbr1", &path, 1, None);
    pair.logs = false;
    pair.applications[SERVER].to_write = 1448 * 50_000;
    pair.run(Time::from_secs(30));
    let away = pair.now;
    pair.set_treatment(move |sent| {
        if sent.at < away + Span::from_secs(2) { Treatment::Drop } else { Treatment::Pass }
    });
    pair.run(away + Span::from_secs(12));
    assert_eq!(pair.ends[SERVER].record().timeouts, 1);
}

#[test]
fn consecutive_timeouts_keep_the_threshold_of_the_first() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut pair = pair(Some(metrics.clone()));
    pair.applications[SERVER].to_write = 1448 * 20_000;
    pair.run(Time::from_millis(1000));
    let away = pair.now;
    pair.set_treatment(move |sent| {
        if sent.at < away + Span::from_secs(10) { Treatment::Drop } else { Treatment::Pass }
    });
    pair.run(Time::from_millis(11_000));
    let record = metrics.stats();
    let series = record.series.as_ref().unwrap();
    let before = series.cwnd.iter().take_while(|(at, _)| *at < away).last().unwrap().1;
    let ssthresh: Vec<_> = series.ssthresh.iter().collect();
    assert!(ssthresh.len() == 1 && ssthresh[0].1 >= before / 2.0, "{ssthresh:?}");
    assert_eq!(series.cwnd.last().unwrap().1, 2.0 * 1448.0);
}

#[test]
fn reordering_within_a_quarter_of_an_rtt_causes_no_retransmission() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    // Before the first reordering is known, a segment must not arrive behind three others; later
    // ones may.
    let mut seen = 0;
    pair.set_treatment(move |sent| {
        let data = sent.from == SERVER && sent.segment.len > 0;
        seen += u64::from(data);
        match seen {
            20 if data => Treatment::Late(Span::from_micros(200)),
            n if data && n > 100 && n.is_multiple_of(25) => Treatment::Late(Span::from_millis(20)),
            _ => Treatment::Pass,
        }
    });
    pair.download(1448 * 2000);
    assert!(pair.finish(Time::from_secs(20)));
    let record = pair.ends[SERVER].record();
    assert_eq!((record.retransmitted, record.timeouts), (0, 0));
    assert_eq!(metrics.stats().congestion_events, 0);
}

#[test]
fn reordering_by_half_an_rtt_is_learned() {
    let metrics = SenderMetrics::new(None);
    let mut pair = pair(Some(metrics.clone()));
    let mut seen = 0;
    pair.set_treatment(move |sent| {
        let data = sent.from == SERVER && sent.segment.len > 0;
        seen += u64::from(data);
        if data && seen % 50 == 0 {
            Treatment::Late(Span::from_millis(50))
        } else {
            Treatment::Pass
        }
    });
    pair.applications[SERVER].to_write = 1448 * 40_000;
    pair.run(Time::from_secs(3));
    let early = pair.ends[SERVER].record();
    pair.run(Time::from_secs(20));
    let late = pair.ends[SERVER].record();
    assert!(early.retransmitted > 0, "the first reordered segments must look like losses");
    assert!(late.data_segments > early.data_segments + 10_000, "{late:?}");
    assert_eq!((late.retransmitted, late.timeouts), (early.retransmitted, 0));
    let record = metrics.stats();
    assert_eq!(record.spurious_events, record.congestion_events);
}

#[test]
fn a_recovery_for_a_late_segment_is_undone() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut pair = pair(Some(metrics.clone()));
    pair.set_treatment(once([60], Treatment::Late(Span::from_millis(20))));
    pair.download(1448 * 1000);
    assert!(pair.finish(Time::from_secs(20)));
    let record = metrics.stats();
    assert_eq!((record.congestion_events, record.spurious_events), (1, 1));
    let cwnd: Vec<_> = record.series.as_ref().unwrap().cwnd.iter().collect();
    let reduced = cwnd.windows(2).position(|pair| pair[1].1 < pair[0].1).unwrap();
    let before = cwnd[reduced].1;
    let restored = cwnd[reduced + 1..].iter().find(|(_, window)| *window >= before).unwrap();
    assert!(restored.0.since(cwnd[reduced + 1].0) <= Span::from_millis(25), "{restored:?}");
    assert!(pair.ends[SERVER].record().retransmitted <= 1);
}

#[test]
fn a_timeout_on_a_path_that_paused_is_undone() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut pair = pair(Some(metrics.clone()));
    pair.applications[SERVER].to_write = 1448 * 10_000;
    pair.run(Time::from_millis(800));
    let paused = pair.now;
    let until = paused + Span::from_millis(1000);
    // A pause: all segments wait, in order, and arrive.
    pair.set_treatment(move |sent| {
        if sent.at < until { Treatment::Late(until.since(sent.at)) } else { Treatment::Pass }
    });
    pair.applications[SERVER].finish = true;
    pair.applications[CLIENT].finish = true;
    assert!(pair.finish(Time::from_secs(30)));
    assert_eq!(pair.ends[SERVER].record().timeouts, 1);
    let record = metrics.stats();
    assert_eq!(record.spurious_events, 1);
    let series = record.series.as_ref().unwrap();
    let before = series.cwnd.iter().take_while(|(at, _)| *at <= paused).last().unwrap().1;
    let after = series.cwnd.iter().find(|(at, _)| *at > until + Span::from_millis(110)).unwrap().1;
    assert!(after >= before, "{before} {after}");
    // The timed-out segment and the probe were retransmitted, but not the rest of the flight.
    assert!(pair.ends[SERVER].record().retransmitted <= 4, "{:?}", pair.ends[SERVER].record());
}

#[test]
fn every_second_delivery_releases_a_segment_during_a_reduction() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut directions = Pair::path(1000, ONE_WAY);
    // A bottleneck that spaces the ACKs.
    directions[SERVER].rate = bentpipe_link::RateConfig::Constant(Rate::from_mbps(20));
    let mut pair =
        Pair::probed([settings(), settings()], "newreno", &directions, 1, Some(metrics.clone()));
    pair.set_treatment(once([400], Treatment::Drop));
    pair.applications[SERVER].to_write = 1448 * 3000;
    pair.run(Time::from_secs(3));
    let again = times(&pair, 400)[1];
    let done = again + Span::from_millis(100);
    let delivered = pair
        .log
        .iter()
        .filter(|sent| sent.from == CLIENT && (again..done).contains(&(sent.at + ONE_WAY)));
    let (delivered, sent) =
        (delivered.count(), pair.data().filter(|sent| (again..done).contains(&sent.at)).count());
    assert!(delivered > 100, "{delivered}");
    assert!((sent as f64 / delivered as f64 - 0.5).abs() < 0.03, "{sent} of {delivered}");
}

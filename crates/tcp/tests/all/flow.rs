//! Limits of a sender other than loss: the peer's window, idle periods, ECN-CE, pacing.

use crate::support;

use bentpipe_congestion::SenderMetrics;
use bentpipe_link::Ecn;
use bentpipe_tcp::{AckPolicy, BufferModel, EcnSupport, TcpSettings};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Span, Time};
use support::{CLIENT, Pair, SERVER, Treatment};

const ONE_WAY: Span = Span::from_millis(50);

fn settings() -> TcpSettings {
    TcpSettings { ack: AckPolicy { every: 1, ..AckPolicy::default() }, ..TcpSettings::default() }
}

fn fixed(buffer: u64) -> TcpSettings {
    let buffer = Bytes::new(buffer);
    TcpSettings {
        receive_buffer: buffer,
        receive_buffer_start: buffer,
        window_share: 1000,
        autotune: false,
        ..settings()
    }
}

#[test]
fn a_small_receive_window_limits_the_rate_to_window_over_rtt() {
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let window = 40 * 1448;
    let directions = Pair::path(1000, ONE_WAY);
    let mut pair =
        Pair::probed([fixed(window), settings()], "newreno", &directions, 1, Some(metrics.clone()));
    pair.applications[SERVER].to_write = 1448 * 10_000;
    pair.run(Time::from_secs(2));
    let before = pair.ends[CLIENT].received();
    pair.run(Time::from_secs(22));
    let rate = (pair.ends[CLIENT].received() - before) as f64 / 20.0;
    // A segment and an ACK take 12.4 us to transmit.
    let expected = window as f64 / 0.100_012;
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} {expected}");
    let record = metrics.stats();
    // The congestion window grew while it was the limit, and no longer.
    let last = record.series.as_ref().unwrap().cwnd.last().unwrap().1;
    assert!(last < 2.1 * window as f64, "{last}");
    // Always, except during slow start.
    assert!(record.window_blocked > Span::from_secs(21), "{}", record.window_blocked);
}

#[test]
fn a_closed_window_is_probed_and_the_transfer_continues_when_it_opens() {
    let mut pair =
        Pair::new([fixed(64 * 1024), settings()], "newreno", &Pair::path(100, ONE_WAY), 1);
    pair.download(500_000);
    pair.applications[CLIENT].reads = false;
    pair.run(Time::from_secs(40));
    assert_eq!(pair.ends[SERVER].end(), None);
    let received = pair.ends[CLIENT].received();
    assert!(received <= 64 * 1024 && received > 62 * 1024, "{received}");
    let probes: Vec<Time> = pair
        .log
        .iter()
        .filter(|sent| sent.from == SERVER && sent.at > Time::from_secs(1) && sent.segment.len == 0)
        .map(|sent| sent.at)
        .collect();
    let gaps: Vec<f64> =
        probes.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 4 && gaps.windows(2).all(|pair| pair[1] > 1.5 * pair[0]), "{gaps:?}");
    // The window update is lost: a probe detects the open window.
    let opened = pair.now;
    pair.set_treatment(move |sent| {
        if sent.from == CLIENT && sent.at == opened { Treatment::Drop } else { Treatment::Pass }
    });
    pair.applications[CLIENT].reads = true;
    assert!(pair.finish(opened + Span::from_secs(120)), "{:?}", pair.ends[SERVER]);
    assert_eq!((pair.ends[CLIENT].received(), pair.ends[SERVER].record().timeouts), (500_000, 0));
}

#[test]
fn a_closed_window_is_tolerated_while_the_peer_answers() {
    let mut pair =
        Pair::new([fixed(64 * 1024), settings()], "newreno", &Pair::path(100, ONE_WAY), 1);
    pair.applications[SERVER].to_write = 500_000;
    pair.applications[CLIENT].reads = false;
    pair.run(Time::from_secs(10_000));
    assert_eq!(pair.ends[SERVER].end(), None);
    pair.set_treatment(|_| Treatment::Drop);
    pair.run(Time::from_secs(20_000));
    assert_eq!(pair.ends[SERVER].end(), Some(bentpipe_tcp::CloseReason::TimedOut));
}

#[test]
fn idle_periods_halve_the_window_per_timeout_down_to_the_initial_one() {
    for (idle_restart, kept) in [(true, 0.25), (false, 1.0)] {
        let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
        let server = TcpSettings { idle_restart, ..settings() };
        let mut pair = Pair::probed(
            [settings(), server],
            "newreno",
            &Pair::path(1000, ONE_WAY),
            1,
            Some(metrics.clone()),
        );
        pair.applications[SERVER].to_write = 1448 * 640;
        pair.run(Time::from_secs(1));
        let last = pair.data().last().unwrap().at;
        let window = |metrics: &SenderMetrics| {
            metrics.stats().series.as_ref().unwrap().cwnd.last().unwrap().1
        };
        let before = window(&metrics);
        // The timeout is slightly above 300 ms: 750 ms are two and a half of it.
        pair.run(last + Span::from_millis(750));
        pair.applications[SERVER].to_write = 1448;
        pair.run(last + Span::from_millis(760));
        let after = window(&metrics);
        assert!((after / before - kept).abs() < 0.01, "{before} {after}");
        pair.run(last + Span::from_secs(100));
        pair.applications[SERVER].to_write = 1448;
        pair.run(last + Span::from_secs(101));
        assert!(!idle_restart || window(&metrics) < 11.5 * 1448.0, "{}", window(&metrics));
    }
}

#[test]
fn accurate_ecn_counts_every_mark_and_keeps_the_window_of_prague() {
    // Ten of a hundred packets are marked. RFC 3168 would halve the window in each RTT.
    let accurate = |l4s| TcpSettings { ecn: EcnSupport::Accurate { l4s }, ..settings() };
    for (client, expected) in [
        (accurate(true), Ecn::Ect1),
        (TcpSettings { ecn: EcnSupport::Classic, ..settings() }, Ecn::Ect0),
        (settings(), Ecn::NotEct),
    ] {
        let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
        let mut pair = Pair::probed(
            [client, accurate(true)],
            "prague",
            &Pair::path(100, ONE_WAY),
            1,
            Some(metrics.clone()),
        );
        let mut seen = 0u64;
        pair.set_treatment(move |sent| {
            let data = sent.from == SERVER && sent.segment.len > 0;
            seen += u64::from(data);
            let marks = data && seen > 300 && seen.is_multiple_of(10);
            if marks { Treatment::Mark } else { Treatment::Pass }
        });
        pair.download(1448 * 6000);
        assert!(pair.finish(Time::from_secs(600)));
        let first = pair.data().find(|sent| sent.segment.len > 0).map(|sent| sent.ecn);
        assert_eq!(first, Some(expected));
        let record = metrics.stats();
        assert_eq!(record.packets_declared_lost, 0);
        let windows: Vec<f64> =
            record.series.as_ref().unwrap().cwnd.iter().map(|(_, cwnd)| cwnd / 1448.0).collect();
        let last = windows[windows.len() / 2..].iter().copied();
        let mean = last.clone().sum::<f64>() / last.len() as f64;
        match expected {
            // x²/2 = 0.9 (x + 1) for x = pW: between 20 and 27 packets, as marks are regular.
            Ecn::Ect1 => assert!((17.0..28.0).contains(&mean), "{mean}"),
            // The first mark after each RTT halves: √(1.5/p) = 3.9.
            Ecn::Ect0 => assert!((2.0..9.0).contains(&mean), "{mean}"),
            _ => assert!(mean > 100.0, "no packet can be marked: {mean}"),
        }
    }
}

#[test]
fn ecn_ce_halves_the_window_once_per_rtt_and_is_acknowledged() {
    let ecn = TcpSettings { ecn: EcnSupport::Classic, ..settings() };
    let metrics = SenderMetrics::new(Some(SeriesLimit::DEFAULT));
    let mut pair = Pair::probed(
        [ecn.clone(), ecn],
        "newreno",
        &Pair::path(100, ONE_WAY),
        1,
        Some(metrics.clone()),
    );
    let mut seen = 0;
    pair.set_treatment(move |sent| {
        let data = sent.from == SERVER && sent.segment.len > 0;
        seen += u64::from(data);
        // Every segment during a part of one RTT.
        if data && (150..180).contains(&seen) { Treatment::Mark } else { Treatment::Pass }
    });
    pair.download(1448 * 2000);
    assert!(pair.finish(Time::from_secs(20)));
    let record = metrics.stats();
    assert_eq!((record.congestion_events, record.packets_declared_lost), (1, 0));
    let cwnd: Vec<_> = record.series.as_ref().unwrap().cwnd.iter().collect();
    let drops: Vec<f64> = cwnd
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1)
        .map(|pair| pair[1].1 / pair[0].1)
        .collect();
    assert!(drops.len() == 1 && (drops[0] - 0.5).abs() < 0.02, "{drops:?}");
    let summary = pair.data().filter(|sent| sent.segment.flags.cwr).count();
    assert_eq!(summary, 1);
    let echoes = pair
        .log
        .iter()
        .filter(|sent| sent.from == CLIENT && sent.segment.flags.ece && !sent.segment.flags.syn);
    let times: Vec<Time> = echoes.map(|sent| sent.at).collect();
    let lasted = times[times.len() - 1].since(times[0]);
    assert!((Span::from_millis(95)..Span::from_millis(160)).contains(&lasted), "{lasted}");
    assert!(pair.data().all(|sent| sent.ecn == Ecn::Ect0));
}

#[test]
fn ecn_is_used_only_if_both_ends_agree() {
    for which in [CLIENT, SERVER] {
        let mut both = [settings(), settings()];
        both[which].ecn = EcnSupport::Classic;
        let mut pair = Pair::new(both, "newreno", &Pair::path(100, ONE_WAY), 1);
        pair.download(100_000);
        assert!(pair.finish(Time::from_secs(20)));
        assert!(pair.log.iter().all(|sent| sent.ecn == Ecn::NotEct));
    }
}

#[test]
fn only_rate_based_controllers_are_paced() {
    // Longest time without a segment in the slow start of the fourth round trip, as a fraction of
    // the RTT.
    let gap = |name: &str| {
        let mut pair = Pair::new([settings(), settings()], name, &Pair::path(1000, ONE_WAY), 1);
        pair.applications[SERVER].to_write = 1448 * 3000;
        pair.run(Time::from_millis(640));
        let times: Vec<Time> =
            pair.data().map(|sent| sent.at).filter(|at| *at > Time::from_millis(350)).collect();
        times.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    };
    assert!(gap("newreno") > Span::from_millis(80), "{}", gap("newreno"));
    assert!(gap("bbr3") < Span::from_millis(60), "{}", gap("bbr3"));
}

#[test]
fn segments_are_full_except_the_last_and_the_initial_window_is_ten() {
    let mut pair = Pair::new([settings(), settings()], "newreno", &Pair::path(100, ONE_WAY), 1);
    pair.download(1448 * 50 + 17);
    assert!(pair.finish(Time::from_secs(20)));
    let lengths: Vec<u32> = pair.data().map(|sent| sent.segment.len).collect();
    assert!(lengths[..50].iter().all(|len| *len == 1448) && lengths[50..] == [17], "{lengths:?}");
    let first = pair.data().next().unwrap().at;
    assert_eq!(pair.data().filter(|sent| sent.at == first).count(), 10);
}

#[test]
fn a_send_buffer_that_counts_memory_holds_less_payload_once_it_is_sent() {
    // 100 Mbps and 100 ms: 1.25 MB in flight, of which the buffer allows a part. Buffers that leave
    // within a millisecond hold two segments and 832 bytes besides.
    let rate = |buffers| {
        let buffer = Bytes::new(300_000);
        let settings = TcpSettings { buffers, send_buffer: buffer, ..TcpSettings::default() };
        let paths = Pair::path(100, ONE_WAY);
        let mut pair = Pair::new([settings.clone(), settings], "newreno", &paths, 1);
        pair.applications[SERVER].to_write = 100_000_000;
        pair.run(Time::from_secs(4));
        let before = pair.ends[CLIENT].received();
        pair.run(Time::from_secs(14));
        (pair.ends[CLIENT].received() - before) as f64 / 10.0
    };
    let (payload, linux) = (rate(BufferModel::Payload), rate(BufferModel::Linux));
    assert!((payload / (300_000.0 / 0.1) - 1.0).abs() < 0.02, "{payload}");
    let share = f64::from(2 * 1448) / f64::from(2 * 1448 + 832);
    assert!((share..1.0).contains(&(linux / payload)), "{linux} {payload}");
    assert!(linux / payload < 0.9, "{linux} {payload}");
}

#[test]
fn every_segment_is_acknowledged_while_linuxs_window_grows_and_every_second_one_later() {
    let linux = TcpSettings { buffers: BufferModel::Linux, ..TcpSettings::default() };
    let mut pair = Pair::new([linux.clone(), linux], "newreno", &Pair::path(1000, ONE_WAY), 1);
    pair.download(12_000_000);
    assert!(pair.finish(Time::from_secs(60)), "{:?}", pair.ends[SERVER]);
    let acknowledgements = |from: usize, until: usize| {
        let acks = pair.log.iter().filter(|sent| sent.from == CLIENT && sent.segment.len == 0);
        let bounds = (from as u64 * 1_000_000)..(until as u64 * 1_000_000);
        acks.filter(|sent| bounds.contains(&sent.segment.ack)).count() as f64
    };
    let segments = 1_000_000.0 / 1448.0;
    let (early, late) = (acknowledgements(0, 1) / segments, acknowledgements(11, 12) / segments);
    // Not quite each: the window waits at times for the buffer, which grows once per RTT.
    assert!(early > 0.8, "{early}");
    assert!(late < 0.6, "{late}");
}

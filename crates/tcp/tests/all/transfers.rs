//! Whole transfers: they complete, all data arrives, and nothing is sent needlessly.

use crate::support;

use bentpipe_congestion::catalogue::CONTROLLERS;
use bentpipe_link::LossConfig;
use bentpipe_tcp::{CloseReason, TcpSettings};
use bentpipe_units::{Ratio, Span, Time};
use support::{CLIENT, Pair, SERVER, Treatment};

fn defaults() -> [TcpSettings; 2] {
    [TcpSettings::default(), TcpSettings::default()]
}

#[test]
fn a_transfer_without_loss_sends_each_byte_once_and_closes_both_ends() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    pair.download(3_000_000);
    assert!(pair.finish(Time::from_secs(60)), "{:?}", pair.ends);
    assert_eq!(
        (pair.ends[CLIENT].received(), pair.ends[SERVER].acknowledged()),
        (3_000_000, 3_000_000)
    );
    let record = pair.ends[SERVER].record();
    assert_eq!((record.retransmitted, record.timeouts), (0, 0));
    assert_eq!(record.data_segments, 3_000_000_u64.div_ceil(1448));
    // 2072 segments of 1500 bytes take 1.24 s, plus a few RTTs of handshake and slow start.
    assert!(pair.now < Time::from_millis(2300), "{}", pair.now);
}

#[test]
fn every_controller_completes_with_losses() {
    for part in CONTROLLERS {
        let mut path = Pair::path(20, Span::from_millis(50));
        for direction in &mut path {
            direction.loss = LossConfig::bernoulli(Ratio::new(0.01).unwrap());
        }
        let mut pair = Pair::new(defaults(), part.name, &path, 1);
        pair.logs = false;
        pair.download(3_000_000);
        assert!(pair.finish(Time::from_secs(120)), "{}: {:?}", part.name, pair.ends[SERVER]);
        assert_eq!(pair.ends[CLIENT].received(), 3_000_000, "{}", part.name);
        let record = pair.ends[SERVER].record();
        // The path loses 1 %; retransmissions of 3 % or more would be needless.
        assert!(record.retransmitted < record.data_segments * 3 / 100, "{}: {record:?}", part.name);
    }
}

#[test]
fn a_reset_ends_both_sides() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    pair.download(3_000_000);
    pair.run(Time::from_millis(500));
    let now = pair.now;
    pair.ends[SERVER].reset(now);
    pair.finish(Time::from_secs(10));
    assert_eq!(pair.ends.each_ref().map(|end| end.end()), [Some(CloseReason::Reset); 2]);
    assert_eq!(pair.ends[SERVER].next_timeout(), None);
}

#[test]
fn a_lost_reset_is_repeated_to_a_peer_that_continues() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    pair.download(3_000_000);
    pair.run(Time::from_millis(500));
    let mut resets = 0;
    pair.set_treatment(move |sent| {
        resets += u32::from(sent.segment.flags.rst);
        if sent.segment.flags.rst && resets == 1 { Treatment::Drop } else { Treatment::Pass }
    });
    let now = pair.now;
    pair.ends[CLIENT].reset(now);
    pair.finish(Time::from_secs(10));
    assert_eq!(pair.ends[SERVER].end(), Some(CloseReason::Reset));
}

#[test]
fn a_lost_syn_and_a_lost_syn_ack_are_each_retransmitted_after_a_second() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    let mut seen = [false; 2];
    pair.set_treatment(move |sent| {
        let first = sent.segment.flags.syn && !std::mem::replace(&mut seen[sent.from], true);
        if first { Treatment::Drop } else { Treatment::Pass }
    });
    pair.download(1000);
    assert!(pair.finish(Time::from_secs(20)));
    // The SYN is lost at 0, its SYN-ACK at 1 s, which is sent again a second later (the client's
    // third SYN would be sent at 3 s).
    let opened = pair.data().next().map(|sent| sent.at).unwrap();
    assert!((Time::from_millis(2150)..Time::from_millis(2160)).contains(&opened), "{opened}");
}

#[test]
fn the_syn_ack_is_acknowledged_at_once_and_data_follows_in_the_next_packet() {
    let request = 300;
    for lost in [None, Some(1), Some(2)] {
        let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
        let mut sent_before = 0;
        pair.set_treatment(move |sent| {
            let drop = sent.from == CLIENT && lost == Some(sent_before);
            sent_before += u32::from(sent.from == CLIENT);
            if drop { Treatment::Drop } else { Treatment::Pass }
        });
        // Data written before the connection is open waits nevertheless.
        pair.applications[CLIENT].to_write = request;
        pair.run(Time::from_secs(5));
        let from_client: Vec<_> = pair.log.iter().filter(|sent| sent.from == CLIENT).collect();
        let [syn, ack, data] = [0, 1, 2].map(|index| from_client[index]);
        assert!(syn.segment.flags.syn && ack.segment.is_pure_ack(), "{syn:?} {ack:?}");
        assert_eq!((ack.segment.seq, data.segment.seq, data.segment.len), (1, 1, request as u32));
        assert_eq!(ack.at, data.at);
        // Either packet opens the server; only the request must be retransmitted.
        assert!(pair.ends[SERVER].is_open());
        assert_eq!(
            (pair.ends[SERVER].received(), pair.ends[SERVER].record().duplicates),
            (request, 0)
        );
        let repaired = pair.ends[CLIENT].record().retransmitted;
        assert_eq!(repaired, u64::from(lost == Some(2)), "{lost:?}");
        assert_eq!(from_client.len(), 3 + usize::from(lost == Some(2)));
    }
}

#[test]
fn a_lost_last_acknowledgement_is_answered_after_the_end() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    let mut fins = 0;
    let mut lost = false;
    pair.set_treatment(move |sent| {
        fins += u32::from(sent.from == CLIENT && sent.segment.flags.fin);
        // The server's acknowledgement of the client's FIN, once.
        if fins > 0 && sent.from == SERVER && !lost && sent.segment.is_pure_ack() {
            lost = true;
            return Treatment::Drop;
        }
        Treatment::Pass
    });
    pair.download(10_000);
    assert!(pair.finish(Time::from_secs(20)), "{:?}", pair.ends);
}

#[test]
fn a_connection_without_response_times_out() {
    let settings = TcpSettings { retries: 4, ..TcpSettings::default() };
    let mut pair = Pair::new(
        [settings.clone(), settings],
        "newreno",
        &Pair::path(20, Span::from_millis(50)),
        1,
    );
    pair.download(3_000_000);
    pair.run(Time::from_millis(500));
    pair.set_treatment(|_| Treatment::Drop);
    pair.finish(Time::from_secs(200));
    assert_eq!(pair.ends[SERVER].end(), Some(CloseReason::TimedOut));
    let mut unheard = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(50)), 1);
    unheard.set_treatment(|_| Treatment::Drop);
    while unheard.ends[CLIENT].end().is_none() && unheard.step(Time::from_secs(300)) {}
    assert_eq!(unheard.ends[CLIENT].end(), Some(CloseReason::TimedOut));
    // SYNs at 0, 1, 3, 7, 15, 31, 63 s, and a last wait of 64 s.
    assert_eq!((unheard.log.len(), unheard.now), (7, Time::from_secs(127)));
}

#[test]
fn simultaneous_directions_carry_acknowledgements_with_data() {
    let mut pair = Pair::new(defaults(), "newreno", &Pair::path(20, Span::from_millis(20)), 1);
    for application in &mut pair.applications {
        application.to_write = 2_000_000;
        application.finish = true;
    }
    assert!(pair.finish(Time::from_secs(60)), "{:?}", pair.ends);
    assert_eq!(pair.ends.each_ref().map(|end| end.received()), [2_000_000; 2]);
    assert_eq!(pair.ends.each_ref().map(|end| end.record().retransmitted), [0; 2]);
}

//! The receiver during a whole transfer: its window stays ahead of the sender, and its
//! acknowledgements follow its policy.

use crate::support;

use bentpipe_tcp::{AckPolicy, TcpSettings};
use bentpipe_units::{Bytes, Span, Time};
use support::{CLIENT, Pair, SERVER};

fn pair(client: TcpSettings, mbps: u64, one_way: Span) -> Pair {
    let server = TcpSettings { send_buffer: Bytes::new(64 << 20), ..TcpSettings::default() };
    Pair::new([client, server], "newreno", &Pair::path(mbps, one_way), 1)
}

#[test]
fn data_echoes_the_newest_acknowledgement_so_that_a_receiver_can_measure_the_rtt() {
    let mut pair = pair(TcpSettings::default(), 20, Span::from_millis(50));
    pair.download(3_000_000);
    assert!(pair.finish(Time::from_secs(60)));
    let echoes: Vec<Time> = pair.data().map(|sent| sent.segment.echo).collect();
    assert!(echoes.is_sorted() && echoes.iter().all(|&echo| echo > Time::ZERO));
    // An acknowledgement of two segments releases four in slow start, and two later.
    let mut different = echoes.clone();
    different.dedup();
    assert!(different.len() > echoes.len() / 5, "{} of {}", different.len(), echoes.len());
    // The last data segment answers an acknowledgement of an RTT earlier, queueing included.
    let last = pair.data().last().unwrap();
    assert!(last.at.since(last.segment.echo) < Span::from_millis(80), "{last:?}");
}

#[test]
fn slow_start_is_as_fast_as_with_the_largest_window_from_the_start() {
    // 250 Mbps and 600 ms hold 18.75 MB. Slow start doubles from 10 segments, and the window never
    // limits it.
    let largest = Bytes::new(64 << 20);
    let grown = TcpSettings { receive_buffer: largest, ..TcpSettings::default() };
    let fixed = TcpSettings { autotune: false, ..grown.clone() };
    let ends = [grown, fixed].map(|client| {
        let mut pair = pair(client, 250, Span::from_millis(300));
        pair.logs = false;
        pair.download(30_000_000);
        assert!(pair.finish(Time::from_secs(60)));
        pair.now
    });
    let apart = ends[0].since(ends[1]).max(ends[1].since(ends[0]));
    assert!(apart < Span::from_millis(1), "{ends:?}");
}

#[test]
fn a_growing_queue_grows_the_buffer() {
    // 20 Mbps and 20 ms hold 50 kB. A sender without loss fills the queue up to half of the largest
    // buffer: 3 MiB, 1.26 s.
    let mut pair = pair(TcpSettings::default(), 20, Span::from_millis(10));
    pair.download(30_000_000);
    assert!(pair.finish(Time::from_secs(60)));
    let ack = pair
        .log
        .iter()
        .filter(|sent| sent.from == CLIENT)
        .map(|sent| sent.segment.window)
        .max()
        .unwrap();
    assert_eq!(ack, 3 << 20);
    let last = pair.data().last().unwrap();
    assert!(last.at.since(last.segment.echo) < Span::from_secs(2));
}

#[test]
fn the_number_of_acknowledgements_follows_the_policy() {
    let count = |ack: AckPolicy| {
        let mut pair =
            pair(TcpSettings { ack, ..TcpSettings::default() }, 100, Span::from_millis(20));
        pair.download(3_000_000);
        assert!(pair.finish(Time::from_secs(60)));
        let acks = pair
            .log
            .iter()
            .filter(|sent| sent.from == CLIENT && sent.segment.is_pure_ack())
            .count();
        (pair.ends[SERVER].record().data_segments as usize, acks)
    };
    let (segments, second) = count(AckPolicy::default());
    // Sixteen quick acknowledgements, handshake and end.
    assert!(second >= segments / 2 && second <= segments / 2 + 16 + 4, "{second} for {segments}");
    let (_, tenth) = count(AckPolicy { every: 10, ..AckPolicy::default() });
    assert!(tenth >= segments / 10 && tenth <= segments / 10 + 16 + 60, "{tenth} for {segments}");
    // Back to back at 120 µs: 45 of them are 64 kB.
    let (_, coalesced) =
        count(AckPolicy { coalesce: Some(Span::from_micros(150)), ..AckPolicy::default() });
    assert!(coalesced >= segments / 45 && coalesced < segments / 10, "{coalesced} for {segments}");
}

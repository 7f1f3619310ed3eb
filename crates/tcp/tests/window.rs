//! What the receiver does for a whole transfer: its window is ahead of the sender, its
//! acknowledgements are as many as its policy says.

mod support;

use bentpipe_tcp::{AckPolicy, Settings};
use bentpipe_units::{Bytes, Span, Time};
use support::{CLIENT, Pair, SERVER};

fn pair(client: Settings, mbps: u64, one_way: Span) -> Pair {
    let server = Settings { send_buffer: Bytes::new(64 << 20), ..Settings::default() };
    Pair::new([client, server], "newreno", &Pair::path(mbps, one_way), 1)
}

#[test]
fn data_echoes_the_newest_acknowledgement_so_that_a_receiver_sees_the_round_trip() {
    let mut pair = pair(Settings::default(), 20, Span::from_millis(50));
    pair.download(3_000_000);
    assert!(pair.finish(Time::from_secs(60)));
    let echoes: Vec<Time> = pair.data().map(|sent| sent.segment.echo).collect();
    assert!(echoes.is_sorted() && echoes.iter().all(|&echo| echo > Time::ZERO));
    // An acknowledgement for two segments lets four go in slow start, two later.
    let mut different = echoes.clone();
    different.dedup();
    assert!(different.len() > echoes.len() / 5, "{} of {}", different.len(), echoes.len());
    // What was sent last answers what was sent a round trip before, queue included.
    let last = pair.data().last().unwrap();
    assert!(last.at.since(last.segment.echo) < Span::from_millis(80), "{last:?}");
}

#[test]
fn slow_start_is_as_fast_as_with_the_largest_window_from_the_beginning() {
    // 250 Mbps and 600 ms hold 18.75 MB; slow start sends 10 segments, doubling, and the window is
    // never in its way.
    let largest = Bytes::new(64 << 20);
    let grown = Settings { receive_buffer: largest, ..Settings::default() };
    let fixed = Settings { autotune: false, ..grown.clone() };
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
fn a_queue_that_grows_takes_the_buffer_with_it() {
    // 20 Mbps and 20 ms hold 50 kB; a sender without loss queues without end, up to the largest
    // buffer's half: 3 MiB, 1.26 s.
    let mut pair = pair(Settings::default(), 20, Span::from_millis(10));
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
fn acknowledgements_are_as_many_as_the_policy_says() {
    let count = |ack: AckPolicy| {
        let mut pair = pair(Settings { ack, ..Settings::default() }, 100, Span::from_millis(20));
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
    // Sixteen quick ones, handshake and end.
    assert!(second >= segments / 2 && second <= segments / 2 + 16 + 4, "{second} for {segments}");
    let (_, tenth) = count(AckPolicy { every: 10, ..AckPolicy::default() });
    assert!(tenth >= segments / 10 && tenth <= segments / 10 + 16 + 60, "{tenth} for {segments}");
    // Back to back at 120 µs: 45 of them are 64 kB.
    let (_, coalesced) =
        count(AckPolicy { coalesce: Some(Span::from_micros(150)), ..AckPolicy::default() });
    assert!(coalesced >= segments / 45 && coalesced < segments / 10, "{coalesced} for {segments}");
}

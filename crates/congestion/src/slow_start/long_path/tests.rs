//! Tests with single events; whole transfers are in `tests/all/starts.rs`.

use super::*;
use crate::sent_packets::SentPackets;
use crate::testing::{MTU, config};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

/// A slow start and the packets that it has sent.
struct Sender {
    slow_start: LongPath,
    sent_packets: SentPackets,
}

impl Sender {
    fn new() -> Self {
        let slow_start = LongPath::new(&config(), &Parameters::default());
        Self { slow_start, sent_packets: SentPackets::new() }
    }

    /// Returns a sender on a path of 600 ms after the ACK of its first packet, the only data that
    /// the application had.
    fn begun() -> Self {
        let mut sender = Self::new();
        sender.send(0, 1);
        assert_eq!(sender.ack(600, 0, true), Progress::Continue);
        sender
    }

    fn send(&mut self, at_ms: u64, packets: u64) {
        for _ in 0..packets {
            self.slow_start
                .on_packet_sent(&self.sent_packets.on_sent(Time::from_millis(at_ms), MTU));
        }
    }

    fn ack(&mut self, at_ms: u64, number: u64, app_limited: bool) -> Progress {
        let now = Time::from_millis(at_ms);
        self.sent_packets.on_acked(now, number);
        let mut progress = Progress::Continue;
        self.sent_packets
            .report_ack(now, app_limited, |ack| progress = self.slow_start.on_ack(ack));
        progress
    }

    fn lose(&mut self, at_ms: u64, numbers: std::ops::Range<u64>, persistent: bool) -> Progress {
        for number in numbers {
            self.sent_packets.on_lost(number);
        }
        let mut progress = Progress::Continue;
        self.sent_packets.report_loss(Time::from_millis(at_ms), persistent, |loss| {
            progress = self.slow_start.on_loss(loss)
        });
        progress
    }

    /// Handles the ACKs of `numbers` of the first burst, two per millisecond as they were sent,
    /// such that packet 0 would be acknowledged at `start_ms`.
    fn ack_as_sent(&mut self, start_ms: u64, numbers: std::ops::RangeInclusive<u64>) {
        for number in numbers {
            self.ack(start_ms + number / 2, number, false);
        }
    }

    /// Sends the first burst at its pacing rate: 120 packets in 60 ms.
    fn burst(&mut self) {
        for step in 0..60 {
            self.send(600 + step, 2);
        }
    }
}

#[test]
fn a_short_path_is_left_to_the_controller() {
    let mut sender = Sender::new();
    sender.send(0, 10);
    assert_eq!(sender.ack(99, 0, false), Progress::Fallback);
    assert_eq!(sender.slow_start.window(), Bytes::new(11_000));
}

#[test]
fn the_first_burst_is_ten_packets_per_50_ms_in_a_tenth_of_the_rtt() {
    let sender = Sender::begun();
    assert_eq!(sender.slow_start.window(), Bytes::new(120_000));
    assert_eq!(sender.slow_start.pacing_rate(), Some(Rate::from_mbps(16)));
}

#[test]
fn late_acks_of_older_packets_do_not_change_the_first_burst() {
    let mut sender = Sender::new();
    sender.send(0, 3);
    sender.ack(600, 0, true);
    let first = (sender.slow_start.window(), sender.slow_start.pacing_rate());
    sender.ack(610, 1, true);
    sender.ack(650, 2, true);
    assert_eq!((sender.slow_start.window(), sender.slow_start.pacing_rate()), first);
}

#[test]
fn a_burst_delivered_as_fast_as_sent_proves_its_rate() {
    let mut sender = Sender::begun();
    sender.burst();
    for step in 0..60 {
        sender.ack(1200 + step, 2 * step + 1, false);
        sender.ack(1200 + step, 2 * step + 2, false);
    }
    assert_eq!(sender.slow_start.phase(), "bursts");
    // 2000 bytes per millisecond are 1.2 MB per RTT, of which the measured rate may miss a little.
    // The window allows 15 % more, since sixteen times what was acknowledged in this round would
    // be more still. It is sent three times as fast.
    let window = sender.slow_start.window().get();
    assert!((1_150_000..=1_380_000).contains(&window), "{window}");
    let rate = sender.slow_start.pacing_rate().unwrap().as_mbps_f64();
    assert!((40.0..=48.0).contains(&rate), "{rate}");
}

#[test]
fn an_initial_window_whose_last_ack_waited_for_a_timer_leaves_the_rate_as_it_is() {
    // Ten packets of early data's response; the receiver acknowledges two at a time, and the last
    // one after 25 ms.
    let windows = [600, 625].map(|last| {
        let mut sender = Sender::new();
        sender.send(0, 10);
        sender.ack(600, 8, false);
        sender.ack(last, 9, false);
        for step in 0..60 {
            sender.send(600 + step, 2);
        }
        for step in 0..50 {
            sender.ack(1200 + step, 10 + 2 * step, false);
            sender.ack(1200 + step, 11 + 2 * step, false);
        }
        assert_eq!(sender.slow_start.phase(), "bursts");
        sender.slow_start.window()
    });
    assert_eq!(windows[0], windows[1]);
}

#[test]
fn bursts_that_spurious_losses_have_ended_go_on() {
    let senders = [true, false].map(|lose| {
        let mut sender = Sender::begun();
        sender.burst();
        sender.ack(1204, 9, false);
        if lose {
            sender.lose(1204, 1..7, false);
            assert_eq!(sender.slow_start.phase(), "settle");
        }
        for number in 10..=60 {
            sender.ack(1200 + number / 2, number, false);
        }
        sender.slow_start.on_spurious_loss();
        assert_eq!(sender.slow_start.phase(), "bursts");
        sender.slow_start
    });
    assert_eq!(senders[0].window(), senders[1].window());
    assert_eq!(senders[0].pacing_rate(), senders[1].pacing_rate());
}

#[test]
fn a_lasting_rtt_increase_ends_the_bursts() {
    let mut sender = Sender::begun();
    sender.burst();
    for number in 1..=120 {
        // Ten times slower than sent.
        sender.ack(1200 + 5 * number, number, false);
        if sender.slow_start.phase() == "settle" {
            assert!((50..150).contains(&(5 * number)), "after {} ms", 5 * number);
            return;
        }
    }
    panic!("still {}", sender.slow_start.phase());
}

#[test]
fn a_first_burst_behind_a_queue_of_others_keeps_what_it_proves() {
    let mut sender = Sender::begun();
    sender.burst();
    // Delayed by 100 ms, but no slower than sent. The first ACK ends the bursts and proves nothing.
    sender.ack(1300, 1, false);
    assert_eq!(sender.slow_start.phase(), "settle");
    assert_eq!(sender.slow_start.window(), config().initial_window);
    sender.ack_as_sent(1300, 2..=120);
    // 120 packets were delivered within an RTT.
    let window = sender.slow_start.window().get();
    assert!((90_000..=140_000).contains(&window), "{window}");
}

#[test]
fn a_sender_with_little_to_send_keeps_the_initial_window_until_a_loss() {
    let mut sender = Sender::begun();
    // A packet now and then, behind the queue of what the peer sends.
    for number in 1..=20 {
        let sent_at = 600 + 50 * number;
        sender.send(sent_at, 1);
        sender.ack(sent_at + 600 + 10 * number, number, true);
        assert!(sender.slow_start.window() >= config().initial_window, "packet {number}");
        // 10,000 bytes in 600 ms.
        let rate = sender.slow_start.pacing_rate().unwrap();
        assert!(rate >= Rate::from_bps(133_000), "packet {number}: {rate}");
    }
    assert_ne!(sender.slow_start.phase(), "bursts");
    let mut sender = Sender::begun();
    sender.burst();
    sender.lose(1200, 1..60, false);
    sender.ack(1300, 100, false);
    assert!(sender.slow_start.window() < config().initial_window);
}

#[test]
fn few_losses_are_absorbed() {
    let mut sender = Sender::begun();
    sender.burst();
    sender.ack_as_sent(1200, 10..=120);
    let window = sender.slow_start.window();
    assert_eq!(sender.lose(1261, 1..4, false), Progress::Continue);
    assert_eq!((sender.slow_start.phase(), sender.slow_start.window()), ("bursts", window));
}

#[test]
fn many_losses_end_the_bursts_without_a_response_of_the_controller() {
    let mut sender = Sender::begun();
    sender.burst();
    sender.ack_as_sent(1200, 40..=120);
    assert_eq!(sender.lose(1261, 1..40, false), Progress::Continue);
    assert_eq!(sender.slow_start.phase(), "settle");
    // The slow start covers the packets in flight at that time.
    let ecn_ce = EcnCe {
        now: Time::from_millis(1262),
        newest: 119,
        bytes_in_flight: Bytes::ZERO,
        next_number: sender.sent_packets.next_number(),
        marked: None,
    };
    assert_eq!(sender.slow_start.on_ecn_ce(&ecn_ce), Progress::Continue);
}

#[test]
fn a_first_burst_that_proves_little_falls_back_to_slow_start_and_covers_its_losses() {
    let mut sender = Sender::begun();
    sender.burst();
    for step in 0..20 {
        sender.ack(1250 + 3 * step, 101 + step, false);
    }
    assert_eq!(sender.lose(1310, 1..90, false), Progress::Continue);
    sender.send(1311, 1);
    let until = sender.sent_packets.next_number();
    assert_eq!(sender.ack(1911, until - 1, false), Progress::Fallback);
    assert_eq!(sender.slow_start.recovery_start(), until - 1);
    assert!(sender.slow_start.window() < Bytes::new(240_000));
}

fn jump_to(window: u64) -> Restart {
    Restart {
        now: Time::from_millis(1200),
        window: Bytes::new(window),
        ssthresh: None,
        rate: None,
        min_rtt: None,
        recovery_start: 0,
    }
}

#[test]
fn growth_after_a_jump_counts_from_the_jump() {
    let mut sender = Sender::begun();
    sender.burst();
    sender.ack_as_sent(1200, 1..=100);
    // 2000 bytes per millisecond are proven, or 1.2 MB per RTT, and 1.38 MB may be in flight.
    assert!(sender.slow_start.on_restart(&jump_to(1_200_000)));
    sender.ack(1251, 101, false);
    let window = sender.slow_start.window().get();
    assert_eq!(window, 1_215_000, "an ACK of 1000 bytes adds fifteen times as many");
}

/// Returns a sender whose first burst was delivered as fast as sent, which then jumped to 1.2 MB if
/// `jump`.
fn after_first_burst(jump: bool) -> Sender {
    let mut sender = Sender::begun();
    sender.burst();
    sender.ack_as_sent(1200, 1..=120);
    if jump {
        assert!(sender.slow_start.on_restart(&jump_to(1_200_000)));
    }
    sender
}

#[test]
fn after_a_jump_the_whole_window_is_sent_at_the_rate_of_a_burst() {
    let rate = |sender: &Sender| sender.slow_start.pacing_rate().unwrap().as_mbps_f64();
    for jump in [false, true] {
        let mut sender = after_first_burst(jump);
        // 2 MB/s are proven, and bursts have three times this rate.
        sender.send(1260, 500);
        assert!((40.0..=48.0).contains(&rate(&sender)), "{jump}: {}", rate(&sender));
        sender.send(1260, 200);
        assert_eq!(rate(&sender) >= 40.0, jump, "more than half of the volume: {}", rate(&sender));
    }
}

#[test]
fn after_a_jump_the_window_doubles_only_on_a_path_that_no_other_may_use() {
    let doubled = 2_000_000..=2_500_000;
    let limited = 1_200_000..=1_400_000;
    for (jump, delay_ms, grown) in
        [(false, 0, &doubled), (false, 15, &doubled), (true, 0, &doubled), (true, 15, &limited)]
    {
        let mut sender = after_first_burst(jump);
        for step in 0..600 {
            sender.send(1261 + step, 2);
        }
        // As fast as the first burst: 2 MB/s are proven, or 1.2 MB per RTT.
        sender.ack_as_sent(1801 + delay_ms, 121..=1320);
        assert_eq!(sender.slow_start.phase(), "bursts");
        let window = sender.slow_start.window().get();
        assert!(grown.contains(&window), "jump {jump}, delayed by {delay_ms} ms: {window}");
    }
}

/// Returns the outcome of a jump to 2 MB on a remembered path, all of which but `lost` packets
/// arrives at 0.7 MB/s, and the window then.
fn jump_that_arrives_slowly(lost: u64) -> (Progress, Bytes) {
    let mut sender = Sender::begun();
    sender.burst();
    sender.ack(1200, 1, false);
    assert!(sender.slow_start.on_restart(&jump_to(2_000_000)));
    for step in 0..500 {
        sender.send(1200 + step, 4);
    }
    for step in 0..2000 {
        if step == 100 {
            sender.lose(1950, 2..2 + lost, false);
        }
        sender.ack(1800 + 3 * step / 2, 121 + step, false);
    }
    assert_eq!(sender.slow_start.phase(), "settle");
    sender.send(4200, 1);
    let progress = sender.ack(4800, 2121, false);
    (progress, sender.slow_start.window())
}

#[test]
fn a_jump_that_arrives_whole_but_slowly_is_no_evidence_against_the_remembered_capacity() {
    let (progress, window) = jump_that_arrives_slowly(0);
    assert_eq!(progress, Progress::Fallback);
    assert!((240_000..1_000_000).contains(&window.get()), "{window}");
    // With losses, the path may hold less than remembered.
    assert_ne!(jump_that_arrives_slowly(5).0, Progress::Fallback);
}

#[test]
fn ecn_ce_during_the_bursts_is_left_to_the_controller() {
    let mut sender = Sender::begun();
    sender.burst();
    let ecn_ce = EcnCe {
        now: Time::from_millis(1200),
        newest: 5,
        bytes_in_flight: Bytes::ZERO,
        next_number: 121,
        marked: None,
    };
    assert_eq!(sender.slow_start.on_ecn_ce(&ecn_ce), Progress::Congested);
}

#[test]
fn persistent_congestion_is_left_to_the_controller() {
    let mut sender = Sender::begun();
    sender.burst();
    assert_eq!(sender.lose(4000, 1..120, true), Progress::Congested);
}

#[test]
fn losses_before_the_first_rtt_sample_are_left_to_the_controller() {
    let mut sender = Sender::new();
    sender.send(0, 10);
    assert_eq!(sender.lose(900, 0..3, false), Progress::Congested);
}

proptest! {
    /// Window and rate stay valid whatever is acknowledged or lost, and when.
    #[test]
    fn window_and_rate_stay_sane(
        events in proptest::collection::vec(
            (0u64..2_000_000_000, 0u64..40, 0u64..60, 0u8..8),
            1..200,
        ),
        mtu in 0u64..70_000,
    ) {
        let mut sender = Sender::begun();
        sender.slow_start.on_mtu_update(Bytes::new(mtu));
        let mut now = Time::from_millis(600);
        for (nanos, sent, number, kind) in events {
            now += Span::from_nanos(nanos);
            sender.send(now.as_nanos() / 1_000_000, sent);
            let number = sender.sent_packets.next_number().saturating_sub(number + 1);
            let progress = if kind == 0 {
                sender.lose(now.as_nanos() / 1_000_000, number..number + 7, false)
            } else {
                sender.ack(now.as_nanos() / 1_000_000, number, kind == 1)
            };
            prop_assert!(!sender.slow_start.window().is_zero());
            prop_assert!(sender.slow_start.window() <= Bytes::new(1 << 40));
            prop_assert!(sender.slow_start.pacing_rate().is_none_or(|rate| !rate.is_zero()));
            if progress != Progress::Continue {
                break;
            }
        }
    }
}

use super::*;
use bentpipe_units::Bytes;
use proptest::prelude::*;

const FULL: u64 = 1448;

/// A window with the default buffers of Linux and a maximum of 6 MiB.
fn opened() -> LinuxWindow {
    let mut window = LinuxWindow::new(&TcpSettings::default(), 7);
    window.open(Time::ZERO, 1);
    window
}

/// Delivers `count` full segments in order from `next`, each read at once. Returns how many let the
/// window grow.
fn deliver(window: &mut LinuxWindow, now: Time, next: &mut u64, count: u64) -> u64 {
    let mut grown = 0;
    for _ in 0..count {
        grown += u64::from(window.on_in_order(*next, FULL));
        *next += FULL;
        window.on_consumed(now, *next, *next - 1, 0);
    }
    grown
}

#[test]
fn a_packet_of_1500_bytes_takes_2304_bytes_of_memory() {
    assert_eq!(truesize(1448), 2304);
    assert_eq!(truesize(17), 768);
    // 64 kB of merged segments in pages.
    assert_eq!(truesize(65_160), 16 * 4096 + 832);
}

#[test]
fn the_first_window_is_the_kernels() {
    // 128 KiB, half of it for payload, in whole segments of 1460 bytes.
    assert_eq!(opened().unscaled(), 64_240);
}

#[test]
fn each_segment_grows_the_window_by_two_until_the_buffer_is_used() {
    let mut window = opened();
    let mut next = 1;
    // The first full segment shows that five eighths of the memory are payload: 80 KiB.
    assert_eq!(deliver(&mut window, Time::from_millis(1), &mut next, 1), 1);
    let first = window.threshold;
    assert_eq!(first, 64_240 + 2 * FULL);
    assert_eq!(deliver(&mut window, Time::from_millis(1), &mut next, 1), 1);
    assert_eq!(window.threshold, first + 2 * FULL);
    // Without an RTT the buffer stays: the space less the packet that has just arrived.
    let grown = deliver(&mut window, Time::from_millis(1), &mut next, 100);
    assert_eq!(window.threshold, (131_072 - 2304) * 160 / 256);
    assert_eq!(grown, (window.threshold - first - 2 * FULL).div_ceil(2 * FULL));
}

#[test]
fn the_buffer_follows_twice_the_bytes_read_per_rtt_and_their_growth() {
    let mut window = opened();
    let mut next = 1;
    window.on_rtt(Span::from_millis(100), true);
    deliver(&mut window, Time::from_millis(50), &mut next, 20);
    assert_eq!(window.buffer, 131_072);
    deliver(&mut window, Time::from_millis(100), &mut next, 1);
    // The first segment after an RTT ends the round: 21 segments where 10 were assumed, so
    // 2 * 21 * (1 + 2 * (21 - 10) / 10) segments.
    let expected = 2 * 21 * FULL + 2 * (2 * 21 * FULL * 11 / 10);
    assert_eq!(window.buffer, expected * 256 / 160);
}

#[test]
fn without_autotuning_the_buffer_has_its_maximum_and_the_window_still_grows() {
    let settings = TcpSettings { autotune: false, ..TcpSettings::default() };
    let mut window = LinuxWindow::new(&settings, 7);
    window.open(Time::ZERO, 1);
    assert_eq!((window.buffer, window.unscaled()), (6 << 20, 64_240));
    let mut next = 1;
    assert_eq!(deliver(&mut window, Time::from_millis(1), &mut next, 1000), 1000);
    // The first full segment raises the limit, and the window with it, by nothing more.
    assert_eq!(window.threshold, 64_240 + 1000 * 2 * FULL);
}

#[test]
fn segments_out_of_order_use_the_buffer_and_the_window_does_not_shrink() {
    let mut window = opened();
    let mut next = 1;
    deliver(&mut window, Time::from_millis(1), &mut next, 10);
    let (promised, _) = window.advertise(next);
    let memory = window.free();
    // One is missing.
    for n in 1..=30 {
        let start = next + n * FULL;
        window.on_beyond_gap(start, FULL, next, start + FULL);
    }
    assert_eq!(memory - window.free(), 30 * 2304 * 160 / 256);
    let (still, tight) = window.advertise(next);
    assert!(still >= promised, "{still} < {promised}");
    assert!(tight, "more than half of 80 KiB is used");
    // The gap is filled, and everything read.
    let end = next + 31 * FULL;
    window.on_in_order(next, FULL);
    window.on_consumed(Time::from_millis(2), end, end - 1, 0);
    assert_eq!(window.memory, 0);
}

#[test]
fn small_segments_let_only_a_small_window_grow() {
    let mut window = opened();
    assert!(!window.on_in_order(1, 100), "less than 128 bytes");
    // 200 bytes in 768 of memory are fine for a window up to a fraction of the largest.
    let mut next = 101;
    let mut grown = 0;
    for _ in 0..3000 {
        grown += u64::from(window.on_in_order(next, 200));
        next += 200;
        window.on_consumed(Time::from_millis(1), next, next - 1, 0);
    }
    assert!(grown < 3000, "{grown}");
}

#[test]
fn quick_acknowledgements_are_limited_by_half_of_the_window() {
    let settings = TcpSettings { receive_buffer: Bytes::new(16_384), ..TcpSettings::default() };
    let mut window = LinuxWindow::new(&settings, 0);
    window.open(Time::ZERO, 1);
    window.on_in_order(1, FULL);
    assert_eq!(window.max_quick(), (window.window / (2 * FULL)) as u32);
    assert_eq!(opened().max_quick(), 16);
}

#[test]
fn reading_a_full_buffer_sends_an_update() {
    let settings = TcpSettings {
        receive_buffer: Bytes::new(64 << 10),
        autotune: false,
        ..TcpSettings::default()
    };
    let mut window = LinuxWindow::new(&settings, 0);
    window.open(Time::ZERO, 1);
    let mut next = 1;
    while window.accepts_before() - next >= FULL {
        window.on_in_order(next, FULL);
        next += FULL;
        window.advertise(next);
    }
    let (left, tight) = window.advertise(next);
    assert!(left < FULL && tight);
    assert!(!window.wants_update(next));
    window.on_consumed(Time::from_millis(1), next, next - 1, 0);
    assert!(window.wants_update(next));
    assert!(window.advertise(next).0 > 16 << 10);
}

proptest! {
    /// The edge never moves back, and the memory of what waits is that of its segments.
    #[test]
    fn promises_are_kept_whatever_arrives(
        buffer in 4_096u64..8_000_000,
        autotune: bool,
        steps in prop::collection::vec((0u64..4, 1u64..1449, 0u64..30, any::<bool>()), 1..200),
    ) {
        let settings =
            TcpSettings { receive_buffer: Bytes::new(buffer), autotune, ..TcpSettings::default() };
        let scale = super::super::window::scale(&settings);
        let mut window = LinuxWindow::new(&settings, scale);
        window.open(Time::ZERO, 1);
        window.on_rtt(Span::from_millis(10), true);
        let (mut next, mut read, mut promised) = (1, 1, window.accepts_before());
        let mut now = Time::ZERO;
        for (kind, bytes, apart, all) in steps {
            now += Span::from_millis(apart);
            let free = window.accepts_before() - next;
            match kind {
                0 if free > bytes * 2 => {
                    window.on_beyond_gap(next + bytes, bytes, next, next + 2 * bytes);
                }
                1 => {
                    read = if all { next } else { read + (next - read) / 2 };
                    window.on_consumed(now, read, read - 1, next - read);
                }
                _ if free >= bytes => {
                    window.on_in_order(next, bytes);
                    next += bytes;
                }
                _ => {}
            }
            let (said, _) = window.advertise(next);
            prop_assert!(said.is_multiple_of(1 << scale));
            prop_assert!(window.accepts_before() >= promised);
            prop_assert!(window.buffer <= buffer.max(4096));
            prop_assert!(window.clamp <= window.of(window.buffer).max(window.window));
            promised = window.accepts_before();
            let held: u64 = window.held.values().map(|(_, memory)| memory).sum();
            prop_assert_eq!(window.memory, held);
        }
    }
}

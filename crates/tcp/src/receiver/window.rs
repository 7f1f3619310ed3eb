//! The receive window: its size, its right edge, and autotuning of the buffer behind it.

use crate::settings::TcpSettings;
use bentpipe_units::{Span, Time};

/// Largest value of the window field.
const FIELD: u64 = 65_535;
/// Largest window shift (RFC 7323 §2.3).
const MOST_SCALE: u32 = 14;
/// Assumed initial window of the sender, in segments (RFC 6928).
const FIRST_FLIGHT: u64 = 10;
/// Segments added to twice the bytes read per RTT (as in Linux).
const ROOM: u64 = 16;

/// Returns the window scale for a buffer of up to `settings.receive_buffer`: the smallest that can
/// represent nearly all of it. As in Linux, it depends on the whole buffer rather than the
/// advertised fraction.
pub(super) fn scale(settings: &TcpSettings) -> u8 {
    let scale = settings
        .receive_buffer
        .get()
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(15)
        .min(MOST_SCALE);
    u8::try_from(scale).unwrap_or(0)
}

/// The window of one direction. Positions are those of [`crate::Segment`].
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    scale: u8,
    /// Advertised fraction of the buffer, in thousandths.
    share: u64,
    /// Payload of a full segment, in bytes.
    segment: u64,
    /// Current and maximum buffer, in bytes.
    buffer: u64,
    largest: u64,
    /// Maximum window with the current buffer, in bytes.
    limit: u64,
    autotune: bool,
    /// Advertised right edge: the peer may send positions below it. It never moves back (RFC 9293
    /// §3.8.6).
    edge: u64,
    /// Right edge as the peer may have understood it, since the window field rounds up: less than
    /// one unit beyond `edge`.
    shown: u64,
    /// RTT measured by this side.
    rtt: Option<Span>,
    /// Start of the current autotuning round, and the bytes read by then.
    round_began: Time,
    round_consumed: u64,
    /// Maximum number of bytes read in a round.
    taken: u64,
}

impl ReceiveWindow {
    pub(super) fn new(settings: &TcpSettings) -> Self {
        let largest = settings.receive_buffer.get();
        let buffer = if settings.autotune {
            settings.receive_buffer_start.get().min(largest)
        } else {
            largest
        };
        let segment = u64::from(settings.segment).max(1);
        let mut window = Self {
            scale: scale(settings),
            share: u64::from(settings.window_share).min(1000),
            segment,
            buffer,
            largest,
            limit: 0,
            autotune: settings.autotune,
            edge: 0,
            shown: 0,
            rtt: None,
            round_began: Time::ZERO,
            round_consumed: 0,
            taken: 0,
        };
        window.limit = window.of(buffer);
        // Half of the window at most: where large segments fill it with fewer, no round could read
        // more than a first flight.
        window.taken = (window.limit / 2).min(FIRST_FLIGHT * segment).max(1);
        window
    }

    /// Completes the handshake. Data starts at `first`. The windows of SYN segments are not scaled
    /// (RFC 7323 §2.2).
    pub(super) fn open(&mut self, now: Time, first: u64) {
        self.edge = first + self.unscaled();
        self.shown = self.edge;
        self.round_began = now;
    }

    /// Returns the window field of a SYN.
    pub(super) fn unscaled(&self) -> u64 {
        self.limit.min(FIELD)
    }

    /// Returns the maximum window with the maximum buffer, in bytes.
    pub(super) fn largest_limit(&self) -> u64 {
        self.of(self.largest)
    }

    /// Returns the window for a buffer size.
    fn of(&self, buffer: u64) -> u64 {
        (buffer.saturating_mul(self.share) / 1000).min(FIELD << self.scale)
    }

    /// Returns the end of the accepted positions.
    pub(super) fn accepts_before(&self) -> u64 {
        self.shown
    }

    /// Returns the window to advertise with acknowledgement `next`, when the application has read
    /// up to `consumed`.
    pub(super) fn advertise(&mut self, next: u64, consumed: u64) -> u64 {
        let target = consumed.saturating_add(self.limit);
        // RFC 1122 §4.2.3.3: the edge stays until it can move by a segment or half the buffer.
        if target.saturating_sub(self.edge) >= (self.limit / 2).min(self.segment).max(1) {
            self.edge = target;
        }
        // RFC 7323 §2.4: because of the field's unit, the window can either be rounded up or
        // shrink. It is rounded up by less than a unit, and never by more, since `edge` itself is
        // exact.
        let left = self.edge.saturating_sub(next);
        let units = left.saturating_add((1 << self.scale) - 1) >> self.scale;
        let window = units.min(FIELD) << self.scale;
        self.shown = self.shown.max(next.saturating_add(window));
        window
    }

    /// Returns true if a window update is due: the window had shrunk to half of its maximum or
    /// less, and has since doubled, by at least two segments or half the buffer.
    pub(super) fn wants_update(&self, next: u64, consumed: u64) -> bool {
        let limit = self.limit;
        let left = self.edge.saturating_sub(next);
        let target = consumed.saturating_add(limit);
        let growth = target.saturating_sub(self.edge);
        left <= limit / 2
            && growth >= (limit / 2).min(2 * self.segment).max(1)
            && target.saturating_sub(next) >= left.saturating_mul(2)
    }

    /// Sets the RTT that is assumed until [`Self::on_rtt`].
    pub(super) fn seed_rtt(&mut self, rtt: Span) {
        self.rtt = Some(rtt);
    }

    /// Adds an RTT sample. A shorter one replaces the estimate, a longer one raises it by an eighth
    /// of the difference, since waiting for the application only lengthens samples.
    pub(super) fn on_rtt(&mut self, sample: Span) {
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample > rtt => rtt + sample.saturating_sub(rtt) / 8,
            _ => sample,
        });
    }

    /// Returns the RTT, if measured.
    pub(super) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// Handles that the application has read `consumed` bytes up to now. Once per RTT the buffer
    /// grows to suit a sender that doubles (dynamic right-sizing, with Linux's parameters): twice
    /// the bytes read, plus the growth of that number.
    pub(super) fn on_consumed(&mut self, now: Time, consumed: u64) {
        let Some(rtt) = self.rtt else { return };
        if !self.autotune || now.since(self.round_began) < rtt {
            return;
        }
        let taken = consumed.saturating_sub(self.round_consumed);
        if taken > self.taken {
            let steady = taken.saturating_mul(2).saturating_add(ROOM * self.segment);
            let growing = steady.saturating_mul(taken - self.taken) / self.taken;
            let window = steady.saturating_add(growing.saturating_mul(2));
            let buffer = window.saturating_mul(1000) / self.share.max(1);
            self.buffer = self.buffer.max(buffer.min(self.largest));
            self.limit = self.of(self.buffer);
            self.taken = taken;
        }
        self.round_began = now;
        self.round_consumed = consumed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Bytes;
    use proptest::prelude::*;

    fn fixed(bytes: u64) -> TcpSettings {
        TcpSettings {
            receive_buffer: Bytes::new(bytes),
            window_share: 1000,
            autotune: false,
            ..TcpSettings::default()
        }
    }

    #[test]
    fn the_scale_matches_linux() {
        let of = |bytes| scale(&fixed(bytes));
        assert_eq!(of(6 << 20), 7);
        assert_eq!(of(65_535), 0);
        assert_eq!(of(65_536), 1);
        assert_eq!(of(64 << 20), 11);
        assert_eq!((of(0), of(u64::MAX)), (0, 14));
    }

    #[test]
    fn unread_data_closes_the_window_and_reading_reopens_it() {
        let mut window = ReceiveWindow::new(&fixed(64_000));
        window.open(Time::ZERO, 1);
        assert_eq!(window.advertise(1, 1), 64_000);
        assert_eq!(window.advertise(10_001, 1), 54_000);
        assert_eq!(window.advertise(64_001, 1), 0);
        assert!(!window.wants_update(64_001, 1 + 2 * 1448 - 1));
        assert!(window.wants_update(64_001, 1 + 2 * 1448));
        assert_eq!(window.advertise(64_001, 1 + 2 * 1448), 2 * 1448);
    }

    #[test]
    fn the_edge_does_not_move_by_less_than_a_segment() {
        let mut window = ReceiveWindow::new(&fixed(64_000));
        window.open(Time::ZERO, 1);
        window.advertise(1, 1);
        assert_eq!(window.advertise(10_001, 1448), 54_000);
        assert_eq!(window.advertise(10_001, 1449), 54_000 + 1448);
    }

    #[test]
    fn no_update_is_sent_while_the_window_is_large() {
        let mut window = ReceiveWindow::new(&fixed(64_000));
        window.open(Time::ZERO, 1);
        window.advertise(1, 1);
        assert!(!window.wants_update(20_001, 20_001));
        assert!(window.wants_update(40_001, 40_001));
    }

    #[test]
    fn a_buffer_smaller_than_a_segment_still_opens() {
        let mut window = ReceiveWindow::new(&fixed(100));
        window.open(Time::ZERO, 1);
        assert_eq!(window.advertise(101, 1), 0);
        assert!(!window.wants_update(101, 50));
        assert!(window.wants_update(101, 51));
        assert_eq!(window.advertise(101, 51), 50);
    }

    #[test]
    fn the_buffer_grows_ahead_of_a_doubling_sender_up_to_its_maximum() {
        let settings = TcpSettings::default();
        let mut window = ReceiveWindow::new(&settings);
        let rtt = Span::from_millis(600);
        window.open(Time::ZERO, 1);
        window.on_rtt(rtt);
        let (mut sent, mut now) = (0u64, Time::ZERO + rtt);
        for round in 0..12 {
            let flight = (10 * 1448) << round;
            // The sender may send this flight only if the acknowledgements of the previous one have
            // opened the window.
            let allowed = window.advertise(1 + sent, 1 + sent);
            if flight <= 3 << 20 {
                assert!(flight <= allowed, "round {round}: {flight} > {allowed}");
            }
            let flight = flight.min(allowed);
            for n in 1..=100 {
                window.on_consumed(now + rtt * (n - 1) / 100, sent + flight * n / 100);
            }
            sent += flight;
            now += rtt;
        }
        assert_eq!(window.limit, 3 << 20);
    }

    #[test]
    fn the_buffer_grows_for_segments_of_which_its_window_has_room_for_seven() {
        let settings = TcpSettings { segment: 8948, ..TcpSettings::default() };
        let mut window = ReceiveWindow::new(&settings);
        let rtt = Span::from_millis(600);
        window.open(Time::ZERO, 1);
        window.on_rtt(rtt);
        for round in 1..10 {
            window.on_consumed(Time::ZERO + rtt * round, round * 7 * 8948);
        }
        assert!(window.limit >= 2 * 7 * 8948, "{}", window.limit);
    }

    #[test]
    fn the_buffer_stays_if_the_application_reads_little() {
        let mut window = ReceiveWindow::new(&TcpSettings::default());
        window.open(Time::ZERO, 1);
        window.on_rtt(Span::from_millis(100));
        for n in 1..1000u64 {
            window.on_consumed(Time::from_millis(n * 10), n * 1000);
        }
        assert_eq!(window.limit, 64 << 10);
    }

    proptest! {
        /// A peer can always send what it was promised, and is never promised more than fits.
        #[test]
        fn the_edge_never_moves_back_and_never_beyond_the_buffer(
            bytes in 100u64..10_000_000,
            steps in proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0), 1..60),
        ) {
            let mut window = ReceiveWindow::new(&fixed(bytes));
            let unit = 1 << window.scale;
            window.open(Time::ZERO, 1);
            let (mut next, mut consumed, mut promised) = (1u64, 1u64, window.edge);
            for (arrive, take) in steps {
                next += ((window.accepts_before() - next) as f64 * arrive) as u64;
                consumed += ((next - consumed) as f64 * take) as u64;
                let said = window.advertise(next, consumed);
                prop_assert!(said.is_multiple_of(unit));
                prop_assert!(next + said >= promised, "{next} + {said} < {promised}");
                prop_assert!(window.edge >= promised);
                prop_assert!(next + said < consumed + bytes + unit);
                promised = window.edge;
            }
        }
    }
}

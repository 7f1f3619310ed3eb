//! How long the data's receiver holds acknowledgements back.

use bentpipe_units::{Span, Time};

/// Largest packet that is not data, in bytes: packets with nothing but acknowledgements are
/// smaller, and nobody acknowledges them.
const SMALL: u32 = 128;

/// Data that the receiver has not acknowledged yet.
///
/// Every second packet is acknowledged at once by receivers that follow RFC 5681 (§4.2) and RFC
/// 9000 (§13.2.2), so an acknowledgement is held from the second packet that it answers on; that of
/// a single packet from the first.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    packets: u8,
    since: Time,
}

impl Unanswered {
    /// Handles the arrival of a packet of `bytes`.
    #[inline]
    pub(super) fn arrived(&mut self, now: Time, bytes: u32) {
        if bytes > SMALL && self.packets < 2 {
            self.packets += 1;
            self.since = now;
        }
    }

    /// Handles that the receiver sends a packet. Returns how long it has held it back.
    #[inline]
    pub(super) fn answered(&mut self, now: Time) -> Span {
        match std::mem::take(&mut self.packets) {
            0 => Span::ZERO,
            _ => now.since(self.since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_packet_may_be_awaited() {
        let mut unanswered = Unanswered::default();
        let ms = Time::from_millis;
        assert_eq!(unanswered.answered(ms(5)), Span::ZERO);
        unanswered.arrived(ms(10), 1500);
        unanswered.arrived(ms(12), 60);
        assert_eq!(unanswered.answered(ms(50)), Span::from_millis(40));
        for at in [60, 61, 62, 63] {
            unanswered.arrived(ms(at), 1500);
        }
        assert_eq!(unanswered.answered(ms(64)), Span::from_millis(3));
        assert_eq!(unanswered.answered(ms(64)), Span::ZERO);
    }
}

//! Which Version Negotiation packets leave. The stack answers every datagram of a version that it
//! does not know.

use bentpipe_units::{Span, Time};

/// Smallest datagram that is answered, in bytes: servers must drop smaller ones (RFC 9000 §5.2.2).
const MIN_DATAGRAM: u64 = 1200;
/// Most answers in each [`PERIOD`] (RFC 9000 §6.1 allows a limit). Our choice: more than clients
/// of other versions need, and 4 kB a second.
const MAX_ANSWERS: u32 = 100;
const PERIOD: Span = Span::from_secs(1);

/// Counts the Version Negotiation packets of a server.
#[derive(Debug, Default)]
pub(super) struct VersionNegotiation {
    /// Start of the period.
    began: Time,
    answers: u32,
}

impl VersionNegotiation {
    /// Returns true if `answer`, to a datagram of `bytes`, may leave.
    pub fn admits(&mut self, now: Time, bytes: u64, answer: &[u8]) -> bool {
        if !is_version_negotiation(answer) {
            return true;
        }
        if bytes < MIN_DATAGRAM {
            return false;
        }
        if now.since(self.began) >= PERIOD {
            (self.began, self.answers) = (now, 0);
        }
        self.answers += 1;
        self.answers <= MAX_ANSWERS
    }
}

/// Returns true if the packet has a long header with version 0 (RFC 9000 §17.2.1).
fn is_version_negotiation(packet: &[u8]) -> bool {
    matches!(packet, [first, 0, 0, 0, 0, ..] if first & 0x80 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_datagrams_are_answered_and_no_more_than_100_a_second() {
        let answer = [0xc0, 0, 0, 0, 0, 0, 0];
        let mut negotiation = VersionNegotiation::default();
        assert!(!negotiation.admits(Time::ZERO, 1199, &answer));
        let mut admitted =
            |now: Time| (0..1000).filter(|_| negotiation.admits(now, 1200, &answer)).count() as u32;
        assert_eq!(admitted(Time::ZERO), MAX_ANSWERS);
        assert_eq!(admitted(Time::from_millis(999)), 0);
        assert_eq!(admitted(Time::from_millis(1000)), MAX_ANSWERS);
    }

    #[test]
    fn other_answers_are_not_limited() {
        // A Retry of version 1, and a stateless reset.
        let mut negotiation = VersionNegotiation::default();
        assert!(negotiation.admits(Time::ZERO, 100, &[0xf0, 0, 0, 0, 1, 0]));
        assert!(negotiation.admits(Time::ZERO, 100, &[0x40, 0, 0, 0, 0, 0]));
    }
}

//! The wait of a connection's first packets for capacity that is allocated on demand.
//!
//! Behind another flow's queue, the second round is delayed like the first, and more so once its
//! own packets join the queue. Where only the first packets wait, because the return link's
//! capacity is allocated at their request, the second round has the path's own RTT.

use super::queue_check::{FRAME_WAITS, noise};
use bentpipe_units::Span;

/// Smallest RTTs of a connection's first two rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstRounds {
    /// Rounds that have begun; three if the first two are over.
    begun: u8,
    rtts: [Option<Span>; 2],
}

impl FirstRounds {
    /// Returns those of a connection whose first packets went over another path.
    pub(super) fn over() -> Self {
        Self { begun: 3, rtts: [None; 2] }
    }

    pub(super) fn on_ack(&mut self, rtt: Span, round_start: bool) {
        if round_start {
            self.begun = self.begun.saturating_add(1).min(3);
        }
        if let Some(least) = self.rtts.get_mut(usize::from(self.begun.saturating_sub(1))) {
            *least = Some(least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Returns the RTT of the first round, if its packets waited for capacity that those of the
    /// second had. `min_rtt`: the path's smallest RTT.
    pub(super) fn wait_for_capacity(&self, min_rtt: Span) -> Option<Span> {
        let [Some(first), Some(second)] = self.rtts else { return None };
        (first > min_rtt + FRAME_WAITS && second <= min_rtt + noise(min_rtt)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the wait of a connection with these RTTs, in milliseconds, of one round each.
    fn wait(rounds: &[&[u64]], min_rtt: u64) -> Option<Span> {
        let mut first_rounds = FirstRounds::default();
        for round in rounds {
            for (index, rtt) in round.iter().enumerate() {
                first_rounds.on_ack(Span::from_millis(*rtt), index == 0);
            }
        }
        first_rounds.wait_for_capacity(Span::from_millis(min_rtt))
    }

    #[test]
    fn a_first_round_that_waits_alone_waited_for_capacity() {
        let rounds: [&[u64]; 3] = [&[583], &[530, 512, 502], &[700, 550]];
        assert_eq!(wait(&rounds, 501), Some(Span::from_millis(583)));
        assert_eq!(wait(&rounds[..1], 501), None, "one round shows no difference");
    }

    #[test]
    fn the_queue_of_another_flow_and_waits_for_frames_are_none() {
        assert_eq!(wait(&[&[800, 790], &[780, 790], &[650]], 650), None);
        assert_eq!(wait(&[&[690], &[652, 670]], 652), None);
        assert_eq!(wait(&[&[650], &[650]], 650), None);
    }
}

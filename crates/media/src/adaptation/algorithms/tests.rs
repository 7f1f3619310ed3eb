//! Whatever a receiver reports, and whatever waits, the rate stays within its limits.

use super::*;
use crate::adaptation::feedback::Feedback;
use crate::adaptation::rate_control::Backlog;
use crate::adaptation::rate_control::fixtures::SETUP;
use bentpipe_units::{Bytes, Span, Time};
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_rate_stays_within_its_limits_whatever_is_reported(
        algorithm in prop_oneof![Just(Algorithm::Queue), Just(Algorithm::Scream)],
        l4s: bool,
        steps in prop::collection::vec(
            (0..200u64, 0..2_000u64, 0..300u32, any::<u64>(), any::<u64>(), 0..5_000u64),
            1..200,
        ),
    ) {
        let mut control = super::control(algorithm, Setup { l4s, ..SETUP });
        let (mut now, mut sent) = (Time::ZERO, 0u32);
        for (wait, waits, highest, received, marked, arrived) in steps {
            now += Span::from_millis(wait);
            let backlog = Backlog { waits: Span::from_millis(waits), last_frame: waits * 20 };
            let taken = control.frame(now, backlog);
            prop_assert!(taken.is_none_or(|rate| (SETUP.min..=SETUP.max).contains(&rate)));
            for _ in 0..3 {
                if control.admits(now, 1_240) {
                    control.sent(now, 1_240, true);
                    sent += 1;
                } else {
                    // It comes back in time.
                    prop_assert!(control.next_send(1_240).is_some_and(|at| at > now));
                }
            }
            let arrived = Time::from_millis(arrived);
            // One in four is about packets that were never sent.
            let recent = sent.saturating_sub(highest % 40);
            let highest = if highest % 4 == 0 { highest } else { recent };
            let (held, covered) = (Span::from_millis(waits % 50), 64);
            let report = Feedback { highest, arrived, held, received, marked, covered };
            control.on_feedback(now, &report);
            prop_assert!((SETUP.min..=SETUP.max).contains(&control.rate()), "{control:?}");
        }
    }
}

/// Sends 60 s of frames, without a report, and returns the bytes of each second.
fn unheard(algorithm: Algorithm) -> Vec<u64> {
    let mut control = super::control(algorithm, SETUP);
    let (mut waiting, mut seconds) = (0u64, vec![0; 60]);
    for ms in 0..60_000 {
        let now = Time::from_millis(ms);
        if ms % 33 == 0 {
            // A queue of 150 ms is more than what may wait.
            let waits = control.rate().time_for(Bytes::new(waiting));
            let taken = control.frame(now, Backlog { waits, last_frame: 1_000 });
            waiting += taken.map_or(0, |rate| rate.as_bps() / 8 / 30);
        }
        while waiting > 0 && control.admits(now, 1_240) {
            control.sent(now, 1_240, true);
            waiting = waiting.saturating_sub(1_200);
            seconds[(ms / 1_000) as usize] += 1_240;
        }
    }
    seconds
}

#[test]
fn a_receiver_that_never_reports_gets_little() {
    let seconds = unheard(Algorithm::Scream);
    // A second of the start, then a window of three segments, three times, each second.
    assert!(seconds[0] > 30_000 && seconds[0] <= 50_000, "{seconds:?}");
    assert!(seconds[1..].iter().all(|&bytes| bytes <= 9 * 1_240), "{seconds:?}");
    assert!(seconds[30..].iter().sum::<u64>() > 0, "{seconds:?}");
}

//! What late acknowledgements cost a sender in each of its round trips.

use super::AckWait;
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// Why acknowledgements were late, in the order in which idle time is given to the parts.
const PARTS: [TimePart; 3] = [TimePart::Capacity, TimePart::HeldAcks, TimePart::ReturnLink];

/// A round trip of the sender, and how much of its idle time late acknowledgements may have cost.
///
/// The acknowledgements of a flight follow one another. One that is later than those before it
/// delays what it releases by the difference: the flight has lost what the latest of them was late.
#[derive(Debug, Default)]
pub(super) struct Round {
    begin: Time,
    /// The longest wait so far for each reason.
    counted: [Span; PARTS.len()],
    /// What is left of it.
    left: [Span; PARTS.len()],
    /// How long data of this round trip has waited for the end of its frame, as far as that has
    /// been counted: all of a flight is late together.
    framed: Span,
    /// Arrival of the acknowledgement that was counted last.
    latest: Time,
}

impl Round {
    /// Starts the first round trip at `begin`, whose request has met `ack`: that wait lies before
    /// it.
    pub(super) fn new(begin: Time, ack: &AckWait) -> Self {
        let left = [Span::ZERO; PARTS.len()];
        Self { begin, counted: waits(ack), left, framed: Span::ZERO, latest: ack.arrival }
    }

    /// Counts that data which was sent at `sent`, in a round trip of `length`, waited for the end
    /// of its frame: `take` gets by how much longer than has been counted, and returns what of that
    /// the gap had.
    pub(super) fn on_framed(
        &mut self,
        sent: Time,
        length: Span,
        framed: Span,
        take: impl FnOnce(Span) -> Span,
    ) {
        self.roll(sent, length);
        let more = framed.saturating_sub(self.framed);
        if !more.is_zero() {
            self.framed += take(more);
        }
    }

    fn roll(&mut self, sent: Time, length: Span) {
        if sent.since(self.begin) >= length {
            *self = Self { begin: sent, latest: self.latest, ..Self::default() };
        }
    }

    /// Handles that the sender sends at `sent`, in a round trip of `length`, after `ack`.
    pub(super) fn on_sent(&mut self, sent: Time, length: Span, ack: &AckWait) {
        self.roll(sent, length);
        // Each acknowledgement counts in one round trip.
        if ack.arrival == self.latest {
            return;
        }
        self.latest = ack.arrival;
        for ((counted, left), wait) in self.counted.iter_mut().zip(&mut self.left).zip(waits(ack)) {
            *left += wait.saturating_sub(*counted);
            *counted = wait.max(*counted);
        }
    }

    /// Gives idle time to the reasons why acknowledgements were late: `take` gets a part and the
    /// most that it may have, and returns what it had.
    pub(super) fn take(&mut self, mut take: impl FnMut(TimePart, Span) -> Span) {
        for (part, left) in PARTS.into_iter().zip(&mut self.left) {
            *left -= take(part, *left);
        }
    }
}

/// Returns how long an acknowledgement was late, in the order of [`PARTS`].
fn waits(ack: &AckWait) -> [Span; PARTS.len()] {
    [ack.framed, ack.held, ack.on_link()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(arrival: u64, whole: u64, held: u64) -> AckWait {
        let [whole, held] = [whole, held].map(Span::from_millis);
        AckWait { whole, held, arrival: Time::from_millis(arrival), ..AckWait::default() }
    }

    #[test]
    fn data_of_a_round_trip_waits_for_its_frames_once() {
        let (begin, rtt) = (Time::from_millis(1000), Span::from_millis(600));
        let mut round = Round::new(begin, &ack(0, 0, 0));
        let mut counted = Span::ZERO;
        // A packet in each frame of 10 ms, for three round trips.
        for index in 0..180 {
            let framed = Span::from_millis(index * 7 % 10);
            round.on_framed(begin + Span::from_millis(index * 10), rtt, framed, |more| {
                counted += more;
                more
            });
        }
        assert_eq!(counted, Span::from_millis(27));
    }

    /// Returns the milliseconds that each part gets of a long idle time.
    fn taken(round: &mut Round) -> Vec<(TimePart, u64)> {
        let mut taken = Vec::new();
        round.take(|part, most| {
            taken.push((part, most.as_nanos() / 1_000_000));
            most
        });
        taken.retain(|(_, time)| *time > 0);
        taken
    }

    #[test]
    fn a_flight_loses_what_its_latest_acknowledgement_was_late() {
        let mut round = Round::new(Time::ZERO, &ack(0, 0, 0));
        let length = Span::from_millis(100);
        for (at, wait) in [(10, 0), (60, 50), (110, 90)] {
            round.on_sent(
                Time::from_millis(at),
                length + Span::from_millis(wait),
                &ack(at, wait, 0),
            );
        }
        assert_eq!(taken(&mut round), [(TimePart::ReturnLink, 90)]);
        assert_eq!(taken(&mut round), []);
        // The next one, behind a queue that has stayed.
        round.on_sent(Time::from_millis(210), length, &ack(210, 90, 5));
        assert_eq!(taken(&mut round), [(TimePart::HeldAcks, 5), (TimePart::ReturnLink, 90)]);
    }

    #[test]
    fn an_acknowledgement_counts_in_one_round_trip() {
        let mut round = Round::new(Time::ZERO, &ack(0, 0, 0));
        let length = Span::from_millis(100);
        round.on_sent(Time::from_millis(100), length, &ack(100, 0, 40));
        round.on_sent(Time::from_millis(250), length, &ack(100, 0, 40));
        assert_eq!(taken(&mut round), [], "what was left is not taken later");
        round.on_sent(Time::from_millis(300), length, &ack(300, 0, 40));
        assert_eq!(taken(&mut round), [(TimePart::HeldAcks, 40)], "the next one counts again");
    }
}

//! Which losses cost the time: the latest before it.

use bentpipe_timeseries::{LossPlace, LossTimes, TimePart};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Most losses that are remembered: those since the packet before, with room for gaps in which
/// places alternate.
const MOST: usize = 256;

/// Losses in a row at one place: first and last.
type Row = (LossPlace, Time, Time);

fn add(losses: &mut VecDeque<Row>, now: Time, place: LossPlace) {
    match losses.back_mut() {
        Some((last, _, to)) if *last == place => *to = now,
        _ => {
            losses.push_back((place, now, now));
            if losses.len() > MOST {
                losses.pop_front();
            }
        }
    }
}

/// The losses of a visit, and what they cost.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Those of the data.
    data: VecDeque<Row>,
    /// The same of the other direction.
    reverse: VecDeque<(LossPlace, Time, Time)>,
    pub(super) times: LossTimes,
}

impl Losses {
    /// Handles the loss of a data packet.
    pub(super) fn data(&mut self, now: Time, place: LossPlace) {
        add(&mut self.data, now, place);
    }

    /// Handles the loss of a packet of the other direction.
    pub(super) fn reverse(&mut self, now: Time, place: LossPlace) {
        add(&mut self.reverse, now, place);
    }

    /// Counts `time` of the interval from `from` to `to` that was spent on `part`, if losses
    /// cause that.
    ///
    /// A timeout follows the loss of whatever could have been answered: the latest data within a
    /// round trip, or the acknowledgements. Other parts follow the latest loss of data.
    pub(super) fn spend(
        &mut self,
        part: TimePart,
        time: Span,
        (from, to): (Time, Time),
        rtt: Span,
    ) {
        let is_timeout = match part {
            TimePart::Timeout => true,
            TimePart::CongestionWindow | TimePart::LossDetection => false,
            _ => return,
        };
        if time.is_zero() {
            return;
        }
        let latest = |losses: &VecDeque<Row>| {
            losses.iter().rev().find(|(_, first, _)| *first <= to).copied()
        };
        let is_recent = |(_, _, last): &Row| *last >= from.saturating_sub(rtt);
        let (data, reverse) = (latest(&self.data), latest(&self.reverse));
        let recent = || data.filter(is_recent).is_none().then_some(reverse?).filter(is_recent);
        match (is_timeout.then(recent).flatten(), data) {
            (Some((place, ..)), _) => self.times.add_reverse(place, time),
            (None, Some((place, ..))) => self.times.add(place, time),
            (None, None) => {}
        }
    }

    /// Counts the time that lost packets took on the link.
    pub(super) fn carried(&mut self, time: Span) {
        self.times.add(LossPlace::Channel, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    #[test]
    fn a_timeout_is_that_of_the_latest_loss_before_it() {
        let ms = Time::from_millis;
        let second = Span::from_secs(1);
        let mut losses = Losses::default();
        for at in 0..500 {
            losses.data(ms(at), LossPlace::Queue);
        }
        losses.data(ms(600), LossPlace::Channel);
        losses.spend(TimePart::Timeout, second, (ms(600), ms(1600)), RTT);
        losses.spend(TimePart::SlowStart, second, (ms(1600), ms(2600)), RTT);
        assert_eq!(losses.times.get(LossPlace::Channel), second);
        // Acknowledgements alone.
        losses.reverse(ms(3000), LossPlace::Policer);
        losses.spend(TimePart::Timeout, second, (ms(3000), ms(4000)), RTT);
        assert_eq!(losses.times.get(LossPlace::Policer), second);
        assert_eq!(losses.times.reverse(), second);
        // The window is that of the loss of data.
        losses.spend(TimePart::CongestionWindow, second, (ms(4000), ms(5000)), RTT);
        assert_eq!(losses.times.get(LossPlace::Channel), second * 2);
        assert_eq!(losses.times.get(LossPlace::Queue), Span::ZERO);
    }

    #[test]
    fn without_losses_nothing_is_counted() {
        let mut losses = Losses::default();
        let times = (Time::ZERO, Time::from_millis(500));
        losses.spend(TimePart::Timeout, Span::from_millis(500), times, RTT);
        assert_eq!(losses.times, LossTimes::default());
    }
}

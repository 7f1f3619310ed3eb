//! Times at which a flow without congestion control sends.

use crate::spec::DatagramTraffic;
use bentpipe_link::random::{Stream, stream};
use bentpipe_units::{Bytes, Span, Time};

/// Minimum mean length of bursts and pauses.
pub(super) const MIN_BURST: Span = Span::from_millis(1);

/// Sending times of packets.
pub struct SendSchedule {
    kind: DatagramTraffic,
    begun: Time,
    ends: Time,
    /// Packets sent.
    sent: u64,
    bursts: Option<Bursts>,
    /// Sending time of the next packet.
    due: Option<Time>,
}

/// Bursts and pauses, drawn one after the other.
struct Bursts {
    stream: Stream,
    /// Mean lengths of bursts and pauses.
    mean: (Span, Span),
    /// Total time in bursts up to the end of the latest one.
    sending: Span,
    /// Total time in pauses before the end of that burst.
    paused: Span,
}

impl Bursts {
    /// Draws the next pause and burst.
    fn next(&mut self) {
        let (on, off) = self.mean;
        self.paused += off.mul_f64(self.stream.exponential());
        self.sending += on.mul_f64(self.stream.exponential());
    }
}

impl SendSchedule {
    /// Creates the times of visit number `visit` of flow `flow` between two times. `seed` and the
    /// number of the run determine the bursts.
    pub fn new(
        kind: DatagramTraffic,
        (begun, ends): (Time, Time),
        (seed, run): (u64, u64),
        (flow, visit): (&str, u32),
    ) -> Self {
        let purpose = format!("flow/{flow}/bursts/{visit}");
        Self::with_stream(kind, begun, ends, stream(seed, run, &purpose))
    }

    fn with_stream(kind: DatagramTraffic, begun: Time, ends: Time, mut stream: Stream) -> Self {
        let bursts = match kind {
            DatagramTraffic::Constant { bursts: Some((on, off)), .. } => {
                // Starts in the long-run state: the rest of an exponential time has the same
                // distribution as all of it.
                let sends = stream.chance(on.as_secs_f64() / (on + off).as_secs_f64());
                let mut bursts =
                    Bursts { stream, mean: (on, off), sending: Span::ZERO, paused: Span::ZERO };
                if sends {
                    bursts.sending = on.mul_f64(bursts.stream.exponential());
                } else {
                    bursts.next();
                }
                Some(bursts)
            }
            _ => None,
        };
        let mut schedule = Self { kind, begun, ends, sent: 0, bursts, due: None };
        schedule.due = schedule.next();
        schedule
    }

    /// Returns the sending time of the next packet.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Returns the number of the packet to send `now`, if any.
    pub fn take(&mut self, now: Time) -> Option<u64> {
        self.due.filter(|&due| due <= now)?;
        let number = self.sent;
        self.sent += 1;
        self.due = self.next();
        Some(number)
    }

    /// Returns the sending time of packet number `sent`; `None` once the visit has ended.
    ///
    /// Computed from the start, so that rounding errors do not accumulate. Bursts share one clock
    /// that stops between them: at the end of a burst, the time left until the next packet carries
    /// over, so the mean rate is the rate times the fraction of time in bursts.
    fn next(&mut self) -> Option<Time> {
        let offset = match self.kind {
            DatagramTraffic::Constant { rate, packet, .. } => {
                rate.time_for(Bytes::new(packet.get().saturating_mul(self.sent)))
            }
            DatagramTraffic::Ping { interval, .. } => interval * self.sent,
        };
        let mut due = self.begun + offset;
        if let Some(bursts) = &mut self.bursts {
            while bursts.sending <= offset
                && self.begun + bursts.sending + bursts.paused < self.ends
            {
                bursts.next();
            }
            due += bursts.paused;
        }
        (due < self.ends).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Rate;

    fn times(kind: DatagramTraffic, seconds: u64, seed: u64) -> Vec<Time> {
        let ends = Time::from_secs(seconds);
        let mut schedule =
            SendSchedule::with_stream(kind, Time::ZERO, ends, stream(seed, 0, "test"));
        let mut times = Vec::new();
        while let Some(due) = schedule.due() {
            assert_eq!(schedule.take(due), Some(times.len() as u64));
            times.push(due);
        }
        times
    }

    fn constant(bursts: Option<(Span, Span)>) -> DatagramTraffic {
        DatagramTraffic::Constant { rate: Rate::from_mbps(12), packet: Bytes::new(1500), bursts }
    }

    #[test]
    fn a_constant_rate_is_exact_from_the_first_packet() {
        let times = times(constant(None), 10, 1);
        assert_eq!(
            (times.len(), times[0], times[9_999]),
            (10_000, Time::ZERO, Time::from_millis(9_999))
        );
        let odd = DatagramTraffic::Constant {
            rate: Rate::from_mbps(7),
            packet: Bytes::new(1000),
            bursts: None,
        };
        let expected = Rate::from_mbps(7).time_for(Bytes::new(8_000_000));
        assert_eq!(
            self::times(odd, 20, 1)[8_000].since_start(),
            expected,
            "rounding errors do not accumulate"
        );
    }

    #[test]
    fn bursts_and_pauses_have_their_means() {
        let (on, off) = (Span::from_millis(300), Span::from_millis(700));
        let times = times(constant(Some((on, off))), 4_000, 7);
        // 4,000 periods: the fraction of time in bursts has a standard error of about 0.3 % / 0.3.
        // Allows four of them.
        let share = times.len() as f64 / 4_000_000.0;
        assert!((share - 0.3).abs() < 0.02, "{share}");
        // A gap is a pause if it is longer than the time between packets. Shorter pauses are not
        // visible.
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| pair[1].since(pair[0]).as_secs_f64() - 0.001)
            .filter(|gap| *gap > 1e-6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // Standard error 0.7 s / sqrt(4,000) = 11 ms. Allows four of them.
        assert!((mean - 0.7).abs() < 0.044, "{mean}");
        // The standard deviation of an exponential time equals its mean, while that of a constant
        // time is zero.
        let spread = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>()
            / gaps.len() as f64)
            .sqrt();
        assert!((spread / mean - 1.0).abs() < 0.1, "{spread}");
    }

    #[test]
    fn bursts_start_in_the_long_run_state() {
        let begins_in_burst = |seed: &u64| {
            let bursts = Some((Span::from_secs(1), Span::from_secs(3)));
            times(constant(bursts), 1_000, *seed).first() == Some(&Time::ZERO)
        };
        // 200 draws with probability 1/4: standard error 0.031. Allows four of them.
        let share = (0..200).filter(begins_in_burst).count() as f64 / 200.0;
        assert!((share - 0.25).abs() < 0.125, "{share}");
    }

    #[test]
    fn no_packet_is_due_after_the_visit() {
        let bursts = Some((MIN_BURST, Span::from_secs(1_000_000)));
        assert!(times(constant(bursts), 1, 3).len() < 3);
        let ping = DatagramTraffic::Ping { interval: Span::MAX, packet: Bytes::new(84) };
        assert_eq!(times(ping, 1, 1), [Time::ZERO]);
    }
}

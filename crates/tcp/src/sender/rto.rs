//! The retransmission timeout (RFC 6298), as Linux computes it.

use crate::settings::TcpSettings;
use bentpipe_congestion::windowed::WindowedRtt;
use bentpipe_units::{Span, Time};

/// Length of the minimum-RTT filter (Linux: tcp_min_rtt_wlen, 300 s).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// RTT statistics, and the timeout derived from them.
#[derive(Debug, Clone)]
pub(crate) struct Rto {
    initial: Span,
    min: Span,
    max: Span,
    srtt: Option<Span>,
    /// Smoothed deviation of samples.
    deviation: Span,
    /// Its maximum in the round trip that began at `round`.
    largest: Span,
    /// Effective deviation: at least `min`. It increases at once, and decreases by a quarter of the
    /// difference per RTT, since samples come with every acknowledgement rather than once per RTT
    /// as RFC 6298 §2.3 assumes.
    rttvar: Span,
    /// Position whose acknowledgement ends the round trip.
    round: u64,
    min_rtt: WindowedRtt,
    /// Consecutive timeouts.
    backoff: u32,
}

impl Rto {
    pub(crate) fn new(settings: &TcpSettings) -> Self {
        Self {
            initial: settings.initial_rto,
            min: settings.min_rto,
            max: settings.max_rto,
            srtt: None,
            deviation: Span::ZERO,
            largest: settings.min_rto,
            rttvar: settings.min_rto,
            round: 0,
            min_rtt: WindowedRtt::smallest(),
            backoff: 0,
        }
    }

    /// Adds a sample that came with the acknowledgement of `una`, when everything before `nxt` had
    /// been sent.
    pub(crate) fn sample(&mut self, now: Time, rtt: Span, una: u64, nxt: u64) {
        self.min_rtt.update(now, MIN_RTT_WINDOW, rtt);
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.deviation = rtt / 2;
            // RFC 6298 §2.2: four times half of the sample.
            self.rttvar = (rtt * 2).max(self.min);
            self.largest = self.rttvar;
            self.round = nxt;
            return;
        };
        let error = if rtt > srtt { rtt - srtt } else { srtt - rtt };
        self.srtt = Some((srtt * 7 + rtt) / 8);
        self.deviation = (self.deviation * 3 + error) / 4;
        self.largest = self.largest.max(self.deviation * 4);
        self.rttvar = self.rttvar.max(self.largest);
        if una > self.round {
            self.rttvar -= (self.rttvar - self.largest) / 4;
            self.round = nxt;
            self.largest = self.min;
        }
    }

    /// Returns the smoothed RTT, once measured.
    pub(crate) fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// Returns the minimum RTT of the last minutes.
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// Returns the timeout without backoff. As in Linux, the variance term is never below the
    /// minimum timeout, so that a long path without jitter does not time out whenever an
    /// acknowledgement is slightly late.
    pub(crate) fn base(&self) -> Span {
        self.srtt.map_or(self.initial, |srtt| srtt + self.rttvar).clamp(self.min, self.max)
    }

    /// Returns the timeout, doubled for each consecutive one (RFC 6298 §5.5).
    pub(crate) fn timeout(&self) -> Span {
        (self.base() * (1 << self.backoff.min(20))).min(self.max)
    }

    /// Returns the time until the next window probe, after `probes` earlier ones (RFC 9293
    /// §3.8.6.1).
    pub(crate) fn persist(&self, probes: u32) -> Span {
        (self.base() * (1 << probes.min(20))).min(self.max)
    }

    /// Records an expiry of the timer, and returns the number of consecutive ones.
    pub(crate) fn back_off(&mut self) -> u32 {
        self.backoff += 1;
        self.backoff
    }

    /// Handles a new acknowledgement of the peer.
    pub(crate) fn answered(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(samples: &[u64]) -> Rto {
        let mut rto = Rto::new(&TcpSettings::default());
        for (round, sample) in samples.iter().enumerate() {
            let position = round as u64 + 1;
            rto.sample(Time::from_millis(position), Span::from_millis(*sample), position, position);
        }
        rto
    }

    #[test]
    fn the_timeout_is_the_initial_one_and_after_the_first_sample_three_times_that() {
        assert_eq!(fed(&[]).timeout(), Span::from_secs(1));
        assert_eq!(fed(&[600]).timeout(), Span::from_millis(1800));
    }

    #[test]
    fn the_timeout_of_a_steady_path_is_its_rtt_plus_the_minimum() {
        let rto = fed(&[600; 60]);
        assert!(
            rto.timeout() < Span::from_millis(801) && rto.timeout() >= Span::from_millis(800),
            "{}",
            rto.timeout()
        );
        assert_eq!(fed(&[1; 60]).timeout().as_nanos() / 1_000_000, 201);
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum() {
        let mut rto = fed(&[]);
        let timeouts: Vec<u64> = (0..9)
            .map(|_| {
                let timeout = rto.timeout();
                rto.back_off();
                timeout.as_nanos() / 1_000_000_000
            })
            .collect();
        assert_eq!(timeouts, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        rto.answered();
        assert_eq!(rto.timeout(), Span::from_secs(1));
    }
}

//! Capacity requests of a terminal.

use super::dama::Dama;
use bentpipe_units::Rate;
use std::collections::VecDeque;

/// A capacity request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Requested rate in addition to the constant one (RBDC). Replaces the rate of the previous
    /// request.
    pub rate: Rate,
    /// Requested volume in bytes (VBDC). Adds to the volumes of previous requests.
    pub volume: u64,
}

/// The requests of one terminal.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Frame of each synchronisation period in which the terminal may send a request.
    slot: u64,
    /// Bytes that have arrived since the last opportunity.
    arrived: u64,
    /// Rates requested within the minimum scheduling latency, including the constant rate, with
    /// their frames.
    asked: VecDeque<(u64, Rate)>,
    /// Bytes requested as a volume and not yet granted.
    outstanding: u64,
    /// The rate of the last request.
    last: Rate,
}

impl Requests {
    /// Creates a terminal that may send a request in frame `slot` of each synchronisation period.
    pub fn new(slot: u64) -> Self {
        Self { slot, arrived: 0, asked: VecDeque::new(), outstanding: 0, last: Rate::ZERO }
    }

    /// Counts a packet of `bytes` that joins the queue.
    pub fn arrived(&mut self, bytes: u32) {
        self.arrived += u64::from(bytes);
    }

    /// Counts `bytes` that a plan grants of the requested volume.
    pub fn granted(&mut self, bytes: u64) {
        self.outstanding = self.outstanding.saturating_sub(bytes);
    }

    /// Returns true if an empty queue needs no further request from `frame` on until packets
    /// arrive.
    pub fn is_idle(&self, dama: &Dama, frame: u64) -> bool {
        let window = dama.frames(dama.msl);
        self.arrived == 0
            && self.outstanding == 0
            && self.last.is_zero()
            && self.asked.back().is_none_or(|(at, _)| at + window <= frame)
    }

    /// Returns the request to send in `frame` with `backlog` bytes queued. `None` if the terminal
    /// may not send one in this frame, or if nothing needs to change.
    ///
    /// The rate follows OpenSAND's terminals (`DamaAgentRcsLegacy::computeRbdcRequest`): arrivals
    /// since the last opportunity over the time since then, plus the backlog that earlier requests
    /// will not serve, over the minimum scheduling latency:
    ///
    /// r = arrivals / T + max(0, backlog - T · Σ r) / MSL, where T is the synchronisation period
    /// and Σ r sums the requests of the last MSL.
    ///
    /// The constant rate is included, and subtracted before sending. The requested volume is the
    /// backlog that is neither requested already nor served by these rates before the next
    /// opportunity.
    pub fn next_request(&mut self, dama: &Dama, frame: u64, backlog: u64) -> Option<Request> {
        let every = dama.frames(dama.request_interval);
        if frame % every != self.slot {
            return None;
        }
        let period = u128::from(dama.frame.as_nanos()) * u128::from(every);
        let window = dama.frames(dama.msl);
        while self.asked.front().is_some_and(|(at, _)| at + window <= frame) {
            self.asked.pop_front();
        }
        let arrived = std::mem::take(&mut self.arrived);
        let mut rate = 0;
        if !dama.rbdc.is_zero() {
            let pending: u128 =
                self.asked.iter().map(|(_, rate)| u128::from(rate.as_bps()) * period).sum();
            let more = bit_nanos(backlog)
                .saturating_sub(pending)
                .div_ceil(u128::from(dama.msl.as_nanos()));
            let most = u128::from(dama.cra.as_bps()) + u128::from(dama.rbdc.as_bps());
            rate = (bit_nanos(arrived).div_ceil(period) + more).min(most);
            if rate > 0 {
                self.asked.push_back((frame, Rate::from_bps(rate as u64)));
            }
        }
        let carried = u128::max(rate, dama.cra.as_bps().into()) * period;
        let uncarried = bit_nanos(backlog).saturating_sub(carried).div_ceil(bit_nanos(1)) as u64;
        let volume = uncarried.min(dama.vbdc.get()).saturating_sub(self.outstanding);
        self.outstanding += volume;
        let request = Request {
            rate: Rate::from_bps((rate as u64).saturating_sub(dama.cra.as_bps())),
            volume,
        };
        // Without an earlier request there is nothing to revoke.
        let says = !request.rate.is_zero() || !self.last.is_zero() || volume > 0;
        self.last = request.rate;
        says.then_some(request)
    }
}

/// Returns bytes in units of 10⁻⁹ bits, the unit of a rate times nanoseconds.
fn bit_nanos(bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    /// Frames of 25 ms, a request every 500 ms, a latency of 600 ms: all results are whole numbers.
    fn dama() -> Dama {
        let frame = Span::from_millis(25);
        Dama {
            frame,
            request_interval: Span::from_millis(500),
            processing: frame,
            msl: Span::from_millis(600),
            ..Dama::timing()
        }
    }
    fn kbps(kbps: u64) -> Rate {
        Rate::from_bps(kbps * 1000)
    }

    #[test]
    fn a_rate_follows_the_formula_and_ends_without_arrivals() {
        let dama = Dama { rbdc: kbps(1000), ..dama() };
        let mut requests = Requests::new(0);
        requests.arrived(15_000);
        assert_eq!(requests.next_request(&dama, 19, 15_000), None, "not a request frame");
        // 120 kbit in 500 ms, and the same within 600 ms.
        assert_eq!(
            requests.next_request(&dama, 20, 15_000),
            Some(Request { rate: kbps(440), volume: 0 })
        );
        // 220 kbit are granted: the backlog of 80 kbit needs no request.
        assert_eq!(
            requests.next_request(&dama, 40, 10_000),
            Some(Request { rate: Rate::ZERO, volume: 0 })
        );
        // The previous request has left the latency window, so the backlog is requested again.
        assert_eq!(
            requests.next_request(&dama, 60, 7_500),
            Some(Request { rate: kbps(100), volume: 0 })
        );
        assert_eq!(
            requests.next_request(&dama, 80, 0),
            Some(Request { rate: Rate::ZERO, volume: 0 })
        );
        assert_eq!(requests.next_request(&dama, 100, 0), None);
        assert!(requests.is_idle(&dama, 100));
    }

    #[test]
    fn traffic_within_the_constant_rate_needs_no_request() {
        let dama = Dama { cra: kbps(100), rbdc: kbps(200), ..dama() };
        let mut requests = Requests::new(0);
        requests.arrived(2_000);
        assert_eq!(requests.next_request(&dama, 0, 2_000), None, "58.7 kbps");
        requests.arrived(100_000);
        assert_eq!(
            requests.next_request(&dama, 20, 100_000),
            Some(Request { rate: kbps(200), volume: 0 }),
            "the maximum"
        );
    }

    #[test]
    fn a_volume_is_requested_once_and_up_to_its_maximum() {
        let dama = Dama { vbdc: Bytes::new(10_000), ..dama() };
        let mut requests = Requests::new(3);
        requests.arrived(4_000);
        assert_eq!(
            requests.next_request(&dama, 3, 4_000),
            Some(Request { rate: Rate::ZERO, volume: 4_000 })
        );
        assert_eq!(requests.next_request(&dama, 23, 4_000), None);
        requests.granted(1_000);
        assert_eq!(
            requests.next_request(&dama, 43, 20_000),
            Some(Request { rate: Rate::ZERO, volume: 7_000 })
        );
    }
}

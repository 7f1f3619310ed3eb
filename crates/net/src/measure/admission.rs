//! Who may measure now: one at a time, and a network again only after a pause.

use crate::admission::client::client_network;
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Networks that are remembered. Further ones wait until one of them has expired.
const MAX_NETWORKS: usize = 4096;
/// What a client waits for if another measures: most measurements are over by then.
const BUSY: Span = Span::from_secs(60);

/// The networks that have measured lately. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct MeasureAdmission {
    state: Arc<Mutex<State>>,
    interval: Span,
}

#[derive(Debug, Default)]
struct State {
    is_busy: bool,
    began: BTreeMap<IpPrefix, Time>,
}

/// The permission to measure, until it is dropped.
#[derive(Debug)]
pub(super) struct MeasureGuard(MeasureAdmission);

impl Drop for MeasureGuard {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).is_busy = false;
    }
}

impl MeasureAdmission {
    /// A network may begin again `interval` after it began.
    pub fn new(interval: Span) -> Self {
        Self { state: Arc::default(), interval }
    }

    /// Lets `address` measure from `now` on, or returns after which time it may ask again.
    pub fn begin(&self, address: IpAddr, now: Time) -> Result<MeasureGuard, Span> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.began.retain(|_, began| now.since(*began) < self.interval);
        let network = client_network(address);
        if let Some(began) = state.began.get(&network) {
            return Err(self.interval.saturating_sub(now.since(*began)));
        }
        if state.is_busy {
            return Err(BUSY);
        }
        if state.began.len() >= MAX_NETWORKS {
            return Err(self.interval);
        }
        state.began.insert(network, now);
        state.is_busy = true;
        drop(state);
        Ok(MeasureGuard(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
    }

    #[test]
    fn one_measures_at_a_time_and_a_network_again_after_the_pause() {
        let admission = MeasureAdmission::new(Span::from_secs(600));
        let at = Time::from_secs;
        let first = admission.begin(ip("192.0.2.1"), at(0)).expect("nobody else measures");
        assert_eq!(admission.begin(ip("192.0.2.2"), at(1)).err(), Some(BUSY));
        drop(first);
        let wait = admission.begin(ip("192.0.2.1"), at(200)).err();
        assert_eq!(wait, Some(Span::from_secs(400)));
        assert!(admission.begin(ip("192.0.2.2"), at(200)).is_ok());
        assert!(admission.begin(ip("192.0.2.1"), at(600)).is_ok());
        // Addresses of one subscriber.
        assert!(admission.begin(ip("2001:db8:0:1::1"), at(600)).is_ok());
        assert!(admission.begin(ip("2001:db8:0:ff::2"), at(700)).is_err());
        assert!(admission.begin(ip("2001:db8:0:100::2"), at(700)).is_ok());
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_networks() {
        let admission = MeasureAdmission::new(Span::from_secs(600));
        for number in 0..MAX_NETWORKS as u32 {
            assert!(admission.begin(IpAddr::from(number.to_be_bytes()), Time::ZERO).is_ok());
        }
        assert!(admission.begin(ip("255.0.0.1"), Time::ZERO).is_err());
        assert!(admission.begin(ip("255.0.0.1"), Time::from_secs(600)).is_ok());
    }
}

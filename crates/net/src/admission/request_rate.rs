//! How many requests a client may make in a time.

use super::client::{SITE_CLIENTS, client_network, networks};
use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::{Span, Time};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// Networks that are remembered: 4 MB. Our choice. A client takes place only while it has made more
/// requests than it may make in the long run.
const NETWORKS: usize = 65_536;
/// Buckets of networks without a place, 32 kB. Our choice: clients of other wide networks are
/// seldom in the bucket of one that fills all places.
const SHARED: usize = 4096;
/// Shortest time between two looks for networks that can be forgotten, for whoever has very many
/// addresses shall not make each request cost one.
const LOOKS: Span = Span::from_secs(1);

/// How often a client may ask: so many requests in a time, such as `100/s` or `30/min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    requests: NonZeroU32,
    time: Span,
}

/// A text is no rate of requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no rate of requests; allowed: a whole number above 0 and its time, such as 100/s, \
     30/min or 500/h"
)]
pub struct InvalidRequestRate(String);

impl FromStr for RequestRate {
    type Err = InvalidRequestRate;

    fn from_str(text: &str) -> Result<Self, InvalidRequestRate> {
        let parse = || {
            let (requests, time) = text.split_once('/')?;
            let time = Span::from_secs(match time.trim() {
                "s" => 1,
                "min" => 60,
                "h" => 3600,
                _ => return None,
            });
            Some(Self { requests: requests.trim().parse().ok()?, time })
        };
        parse().ok_or_else(|| InvalidRequestRate(text.to_owned()))
    }
}

/// Bounds the requests of each client: an IPv4 address, or an IPv6 /56. All of an IPv6 /48 may make
/// twice as many.
///
/// It is the leaky bucket of ITU-T I.371 (the generic cell rate algorithm), which needs one time
/// for each client: the one at which a client that asks at the rate alone would make its next
/// request.
///
/// While all places for networks are taken, new clients of an IPv4 /16 or IPv6 /32 share a bucket
/// and may together make as many requests as one client, so that the bound of each holds.
#[derive(Debug)]
pub(crate) struct RequestRates {
    /// Time from one request to the next at the rate.
    interval: Span,
    /// Requests at once.
    burst: NonZeroU32,
    networks: Mutex<Networks>,
}

#[derive(Debug)]
struct Networks {
    next: HashMap<IpPrefix, Time>,
    /// Most networks in `next`.
    places: usize,
    /// Those of networks that found no place, by the hash of the wide network that they are in.
    /// Where it is ahead, a network that finds a place later begins there, as it may have asked.
    shared: Box<[Time]>,
    hasher: RandomState,
    /// When networks were last looked through.
    looked: Option<Time>,
}

impl RequestRates {
    /// Clients may make `burst` requests at once, and further ones at `rate`.
    pub(crate) fn new(rate: RequestRate, burst: NonZeroU32) -> Self {
        let nanos = rate.time.as_nanos().div_ceil(u64::from(rate.requests.get()));
        let networks = Mutex::new(Networks::new(NETWORKS));
        Self { interval: Span::from_nanos(nanos), burst, networks }
    }

    /// Counts a request of the client at `address`. Otherwise returns the time after which it may
    /// make one; this one does not count.
    pub(crate) fn ask(&self, address: IpAddr, now: Time) -> Result<(), Span> {
        let client = client_network(address);
        let mut known = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wait = Span::ZERO;
        for network in networks(client) {
            let (interval, burst) = self.of(network, client);
            let may_be_ahead = interval.as_nanos().saturating_mul(burst - 1);
            let ahead = known.next(network).since(now);
            wait = wait.max(ahead.saturating_sub(Span::from_nanos(may_be_ahead)));
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        let mut placed = true;
        for network in networks(client) {
            placed &= known.add(network, self.of(network, client).0, now);
        }
        if !placed {
            known.share(client, self.interval, now);
        }
        Ok(())
    }

    /// Returns the time between requests, and how many may be made at once: of a client, or of its
    /// IPv6 /48.
    fn of(&self, network: IpPrefix, client: IpPrefix) -> (Span, u64) {
        let shares = if network == client { 1 } else { SITE_CLIENTS as u64 };
        let nanos = self.interval.as_nanos().div_ceil(shares);
        (Span::from_nanos(nanos), u64::from(self.burst.get()) * shares)
    }
}

impl Networks {
    fn new(places: usize) -> Self {
        Self {
            next: HashMap::new(),
            places,
            shared: vec![Time::ZERO; SHARED].into(),
            hasher: RandomState::new(),
            looked: None,
        }
    }

    /// Returns when a network that asks at the rate alone would make its next request.
    fn next(&self, network: IpPrefix) -> Time {
        self.next.get(&network).copied().unwrap_or(self.shared[self.bucket(network)])
    }

    /// Counts a request of a network. Returns false, and does not count, if there is no place.
    fn add(&mut self, network: IpPrefix, interval: Span, now: Time) -> bool {
        if !self.next.contains_key(&network) && self.next.len() >= self.places && !self.forget(now)
        {
            return false;
        }
        let next = self.next(network).max(now) + interval;
        self.next.insert(network, next);
        true
    }

    /// Counts a request of a client without a place.
    fn share(&mut self, client: IpPrefix, interval: Span, now: Time) {
        let next = &mut self.shared[self.bucket(client)];
        *next = (*next).max(now) + interval;
    }

    /// Returns the index of the bucket of a network without a place.
    fn bucket(&self, network: IpPrefix) -> usize {
        let wide = match network.address() {
            IpAddr::V4(address) => u64::from(u32::from(address) >> 16),
            // The first bit tells it from IPv4.
            IpAddr::V6(address) => 1 << 63 | (u128::from(address) >> 96) as u64,
        };
        self.hasher.hash_one(wide) as usize % SHARED
    }

    /// Forgets networks that are not ahead. Returns whether there is room.
    fn forget(&mut self, now: Time) -> bool {
        if self.looked.is_none_or(|looked| now.since(looked) >= LOOKS) {
            self.looked = Some(now);
            self.next.retain(|_, next| *next > now);
        }
        self.next.len() < self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn rates(rate: &str, burst: u32) -> RequestRates {
        RequestRates::new(rate.parse().unwrap(), NonZeroU32::new(burst).unwrap())
    }

    fn few_places(rate: &str, burst: u32, places: usize) -> RequestRates {
        let networks = Mutex::new(Networks::new(places));
        RequestRates { networks, ..rates(rate, burst) }
    }

    /// Whether no stretch of time has more requests than a rate and a burst allow.
    fn holds(admitted: &[Time], per_second: u32, burst: u32) -> Result<(), String> {
        for (index, start) in admitted.iter().enumerate() {
            for (count, end) in admitted[index..].iter().enumerate() {
                let time = end.since(*start).as_secs_f64();
                let most = f64::from(burst) + time * f64::from(per_second) + 1e-6;
                if (count + 1) as f64 > most {
                    return Err(format!("{} in {time} s", count + 1));
                }
            }
        }
        Ok(())
    }

    #[test]
    fn a_client_may_ask_at_once_and_then_at_the_rate() {
        let rates = rates("4/s", 3);
        let now = Time::from_secs(100);
        for _ in 0..3 {
            assert_eq!(rates.ask(ONE, now), Ok(()));
        }
        assert_eq!(rates.ask(ONE, now), Err(Span::from_millis(250)));
        assert_eq!(rates.ask(OTHER, now), Ok(()));
        let later = now + Span::from_millis(249);
        assert_eq!(rates.ask(ONE, later), Err(Span::from_millis(1)));
        assert_eq!(rates.ask(ONE, now + Span::from_millis(250)), Ok(()), "refusals do not count");
        assert_eq!(rates.ask(ONE, now + Span::from_millis(260)), Err(Span::from_millis(240)));
    }

    #[test]
    fn an_ipv6_site_may_ask_twice_as_much_as_one_of_its_networks() {
        let rates = rates("1/s", 10);
        let now = Time::from_secs(1);
        let of = |network: u16| IpAddr::from([0x2001, 0xdb8, 7, network, 0, 0, 0, 1]);
        let asked = (0..100_u16).filter(|&from| rates.ask(of(from), now).is_ok()).count();
        assert_eq!(asked, 10, "one network");
        let asked = (0..100_u16).filter(|&from| rates.ask(of(from << 8), now).is_ok()).count();
        assert_eq!(asked, 10, "the others of its site");
        assert!(rates.ask([0x2001, 0xdb8, 8, 0, 0, 0, 0, 1].into(), now).is_ok(), "another site");
    }

    #[test]
    fn networks_that_ask_no_more_are_forgotten() {
        let rates = rates("1/s", 10);
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..NETWORKS as u32 + 10 {
            assert_eq!(rates.ask(address(number), Time::from_secs(1)), Ok(()));
        }
        let known = || rates.networks.lock().unwrap().next.len();
        assert_eq!(known(), NETWORKS);
        assert_eq!(rates.ask(address(u32::MAX), Time::from_secs(3)), Ok(()));
        assert_eq!(known(), 1);
    }

    #[test]
    fn clients_without_a_place_share_what_one_may_ask() {
        let rates = few_places("1/s", 5, 3);
        let now = Time::from_secs(1);
        for number in 0..3 {
            assert_eq!(rates.ask([192, 0, 2, number].into(), now), Ok(()));
        }
        let of = |asked: usize, address: fn(u8) -> IpAddr| {
            let admitted = (0..50).filter(|from| rates.ask(address(*from), now).is_ok()).count();
            assert_eq!(admitted, asked);
        };
        of(5, |from| [198, 51, from, 1].into());
        of(5, |from| [0x2001, 0xdb8, from.into(), 0, 0, 0, 0, 1].into());
        // One who has shared goes on from there when there is room again.
        let later = now + Span::from_secs(3);
        for _ in 0..3 {
            assert_eq!(rates.ask([198, 51, 0, 1].into(), later), Ok(()));
        }
        assert_eq!(rates.ask([198, 51, 0, 1].into(), later), Err(Span::from_secs(1)));
    }

    #[test]
    fn the_greatest_rates_bound_an_ipv6_site_too() {
        let rates = rates("4000000000/s", 1);
        let now = Time::from_secs(1);
        let of = |network: u16| IpAddr::from([0x2001, 0xdb8, 7, network << 8, 0, 0, 0, 1]);
        let admitted = (0..100).filter(|&network| rates.ask(of(network), now).is_ok()).count();
        assert_eq!(admitted, SITE_CLIENTS);
    }

    #[test]
    fn texts_without_a_number_or_a_time_are_refused_with_the_remedy() {
        let parse = |text: &str| text.parse::<RequestRate>();
        assert_eq!(parse("30/min").unwrap().time, Span::from_secs(60));
        for text in ["", "100", "0/s", "-1/s", "1.5/s", "10/day", "/s", "5000000000/s"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("30/min"), "{error}");
        }
    }

    proptest! {
        /// Whatever the times, no stretch of time has more requests than the rate and the burst.
        #[test]
        fn no_stretch_has_more_than_the_rate_and_the_burst(
            gaps in prop::collection::vec(0_u64..400, 1..200),
            per_second in 1_u32..50,
            burst in 1_u32..20,
        ) {
            let rates = rates(&format!("{per_second}/s"), burst);
            let mut now = Time::from_secs(1);
            let mut admitted = Vec::new();
            for gap in gaps {
                now += Span::from_millis(gap);
                match rates.ask(ONE, now) {
                    Ok(()) => admitted.push(now),
                    // The time of one request at most, as refused ones do not count.
                    Err(wait) => prop_assert!(wait <= Span::from_secs(1)),
                }
            }
            prop_assert_eq!(holds(&admitted, per_second, burst), Ok(()));
        }

        /// Whoever fills all places, no client makes more requests than it may.
        #[test]
        fn the_bound_of_each_client_holds_when_all_places_are_taken(
            asked in prop::collection::vec((0_u64..300, 0_u8..3, 0_u8..6, any::<bool>()), 1..300),
            per_second in 1_u32..20,
            burst in 1_u32..10,
            places in 0_usize..5,
        ) {
            let rates = few_places(&format!("{per_second}/s"), burst, places);
            let mut now = Time::from_secs(1);
            let mut admitted: HashMap<IpAddr, Vec<Time>> = HashMap::new();
            for (gap, wide, host, old) in asked {
                now += Span::from_millis(gap);
                let address = match old {
                    true => IpAddr::from([10, wide, host, 1]),
                    false => {
                        let [wide, host] = [wide, host].map(u16::from);
                        IpAddr::from([0x2001, wide, host >> 1, host << 8, 0, 0, 0, 1])
                    }
                };
                if rates.ask(address, now).is_ok() {
                    admitted.entry(address).or_default().push(now);
                }
            }
            for times in admitted.values() {
                prop_assert_eq!(holds(times, per_second, burst), Ok(()));
            }
        }
    }
}

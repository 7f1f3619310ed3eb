//! What is between the hosts: two links with a rate, a queue and a delay, and their faults.

use super::plan::EpisodePlan;
use crate::draw::Random;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A datagram on its way.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// Address of its sender, which may be forged.
    pub from: SocketAddr,
    /// Address of its receiver.
    pub to: SocketAddr,
    /// The payload of UDP.
    pub data: Vec<u8>,
}

/// Both directions between the server and all clients.
pub struct Wire {
    in_flight: BTreeMap<(Time, u64), Datagram>,
    /// When each transmitter is idle: to the server, to the clients.
    idle: [Time; 2],
    count: u64,
    random: Random,
}

impl Wire {
    /// Creates the wire of an episode.
    pub fn new(plan: &EpisodePlan) -> Self {
        let random = Random::new(plan.seed, "endpoints/wire");
        Self { in_flight: BTreeMap::new(), idle: [Time::ZERO; 2], count: 0, random }
    }

    /// Sends a datagram, which is lost, delayed or doubled as `plan` says.
    pub fn send(&mut self, plan: &EpisodePlan, now: Time, to_server: bool, datagram: Datagram) {
        let seconds = now.as_secs_f64();
        let direction = usize::from(!to_server);
        let faulty = seconds < plan.faults_end_s;
        let silent = plan.outages.iter().any(|(from, to)| (*from..*to).contains(&seconds));
        let lost = self.random.chance(plan.loss[direction]);
        let twice = self.random.chance(plan.duplicates);
        let idle = self.idle[direction].max(now);
        let full = idle.since(now).as_millis_f64() > plan.queue_ms;
        if full || faulty && (silent || lost) {
            return;
        }
        let bits = (datagram.data.len() + 28) as f64 * 8.0;
        let sent = idle + Span::from_secs_f64(bits / plan.rates[direction]);
        self.idle[direction] = sent;
        if faulty && twice {
            let delay = self.delay(plan);
            self.add(sent + delay, datagram.clone());
        }
        let delay = self.delay(plan);
        self.add(sent + delay, datagram);
    }

    /// Lets a datagram arrive after the delay, whatever the links do.
    pub fn inject(&mut self, plan: &EpisodePlan, now: Time, datagram: Datagram) {
        let delay = self.delay(plan);
        self.add(now + delay, datagram);
    }

    fn delay(&mut self, plan: &EpisodePlan) -> Span {
        let jitter = self.random.between(0.0, plan.jitter_ms);
        Span::from_secs_f64((plan.delay_ms + jitter) / 1e3)
    }

    fn add(&mut self, at: Time, datagram: Datagram) {
        self.count += 1;
        self.in_flight.insert((at, self.count), datagram);
    }

    /// Returns when the next datagram arrives.
    pub fn next(&self) -> Option<Time> {
        self.in_flight.keys().next().map(|(at, _)| *at)
    }

    /// Takes the next datagram that has arrived by `now`.
    pub fn arrived(&mut self, now: Time) -> Option<Datagram> {
        let first = self.in_flight.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

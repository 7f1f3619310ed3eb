//! Clients of one network share what is remembered of their path, until it fails one of them.

use bentpipe_congestion::algorithms::newreno::{self, NewReno};
use bentpipe_congestion::resume::{self, CarefulResume, Refusal, ResumeMode};
use bentpipe_congestion::{Controller, ControllerConfig, SentPackets};
use bentpipe_quic::EpochClock;
use bentpipe_quic::path_memory::{
    DEFAULT_LIFETIME, Holder, Limits, MemoryStore, PathLease, PathMemory, Prefixes,
};
use bentpipe_units::{Bytes, Span, Time};
use std::net::IpAddr;

const MTU: Bytes = Bytes::new(1000);
const RTT: Span = Span::from_millis(600);

fn memory() -> (PathMemory, EpochClock) {
    let epoch = EpochClock::new(1_767_225_600);
    let store = MemoryStore::new(Limits::default());
    let prefixes = Prefixes::default();
    (PathMemory::new(store, prefixes, "test", DEFAULT_LIFETIME, epoch.clone()), epoch)
}

/// A connection to a host, whose packets the test acknowledges and loses.
struct Visit {
    lease: PathLease,
    controller: CarefulResume,
    sent: SentPackets,
    now: Time,
}

impl Visit {
    fn new(memory: &PathMemory, remote: &str, holder: u64) -> Self {
        let remote: IpAddr = remote.parse().expect("an address");
        let lease = memory.begin(remote, Holder(holder), Time::ZERO).expect("a lease");
        let config = ControllerConfig {
            now: Time::ZERO,
            mtu: MTU,
            initial_window: Bytes::new(10_000),
            distance_m: None,
            rtt: None,
        };
        let reno = NewReno::new(&config, &newreno::Parameters::default());
        let controller = CarefulResume::new(
            Box::new(reno),
            ResumeMode::Careful,
            &config,
            &resume::Parameters::default(),
            lease.resume_handle(),
        );
        Self { lease, controller, sent: SentPackets::new(), now: Time::ZERO }
    }

    /// Sends a window, all of which arrives but every eighth packet if `lossy`.
    fn round(&mut self, lossy: bool) {
        let first = self.sent.next_number();
        while self.sent.bytes_in_flight() + MTU <= self.controller.send_control().cwnd {
            let packet = self.sent.on_sent(self.now, MTU);
            self.controller.on_packet_sent(&packet);
        }
        self.now += RTT;
        for number in first..self.sent.next_number() {
            if !(lossy && number % 8 == 0) {
                self.sent.on_acked(self.now, number);
            }
        }
        let Self { sent, controller, now, .. } = self;
        sent.report_ack(*now, false, |ack| controller.on_ack(ack));
        for number in first..sent.next_number() {
            sent.on_lost(number);
        }
        sent.report_loss(*now, false, |loss| controller.on_loss(loss));
    }

    /// Gives back what is not used, and leases what is wanted, as an endpoint does.
    fn lends(&self) {
        self.lease.lend_by_need(self.now).expect("a store");
        self.lease.flush(false).expect("a store");
    }

    fn jumped(&self) -> bool {
        self.lease.resume_handle().jumped()
    }

    fn ends(self) {
        self.lease.flush(true).expect("a store");
    }
}

/// Visits a host whose path carries a large window.
fn fast(memory: &PathMemory, remote: &str, holder: u64) {
    let mut visit = Visit::new(memory, remote, holder);
    (0..9).for_each(|_| visit.round(false));
    visit.ends();
}

/// Visits a host whose path loses packets of the second window. Returns whether it jumped.
fn slow(memory: &PathMemory, remote: &str, holder: u64) -> bool {
    let mut visit = Visit::new(memory, remote, holder);
    visit.round(false);
    visit.round(true);
    let handle = visit.lease.resume_handle();
    assert_eq!(handle.jumped(), handle.retreated());
    let jumped = handle.jumped();
    visit.ends();
    jumped
}

fn networks(memory: &PathMemory, epoch: &EpochClock) -> Vec<String> {
    let entries = memory.store().list(epoch.epoch()).expect("a list");
    entries.iter().map(|entry| entry.key.remote().to_string()).collect()
}

#[test]
fn a_set_that_failed_another_host_is_for_its_own_host_from_then_on() {
    let (memory, epoch) = memory();
    fast(&memory, "192.0.2.7", 1);
    assert_eq!(networks(&memory, &epoch), ["192.0.2.0/24"]);
    assert!(slow(&memory, "192.0.2.9", 2));
    // Each host keeps what it measures, and the slow one pays no second time.
    fast(&memory, "192.0.2.7", 3);
    assert_eq!(networks(&memory, &epoch), ["192.0.2.7/32"]);
    assert!(!slow(&memory, "192.0.2.9", 4));
    let handle = Visit::new(&memory, "192.0.2.7", 5).lease.resume_handle();
    assert!(handle.resume_state().offered.is_some());
    // After the lifetime of a set, the network is one path again.
    epoch.set(Time::ZERO + DEFAULT_LIFETIME + Span::from_secs(1));
    fast(&memory, "192.0.2.7", 6);
    assert_eq!(networks(&memory, &epoch), ["192.0.2.0/24"]);
}

#[test]
fn a_host_whose_own_path_has_changed_keeps_sharing() {
    let (memory, epoch) = memory();
    fast(&memory, "192.0.2.7", 1);
    assert!(slow(&memory, "192.0.2.7", 2));
    fast(&memory, "192.0.2.7", 3);
    assert_eq!(networks(&memory, &epoch), ["192.0.2.0/24"]);
}

#[test]
fn a_connection_that_asks_for_little_does_not_keep_the_set_from_its_network() {
    let (memory, epoch) = memory();
    fast(&memory, "192.0.2.7", 1);
    let mut idle = Visit::new(&memory, "192.0.2.9", 2);
    idle.lends();
    let early = Visit::new(&memory, "192.0.2.7", 3);
    assert_eq!(early.lease.resume_handle().refusal(), Some(Refusal::InUse));
    early.ends();
    epoch.set(Time::ZERO + RTT * 4);
    idle.lends();
    let mut download = Visit::new(&memory, "192.0.2.7", 4);
    (0..3).for_each(|_| download.round(false));
    assert!(download.jumped());
    // What the idle connection wants later is in use then.
    idle.round(false);
    assert!(!idle.jumped() && idle.lease.resume_handle().wants_again());
    idle.lends();
    assert_eq!(idle.lease.resume_handle().refusal(), Some(Refusal::InUse));
    idle.round(false);
    assert!(!idle.jumped());
}

#[test]
fn a_connection_leases_again_what_it_gave_back() {
    let (memory, epoch) = memory();
    fast(&memory, "192.0.2.7", 1);
    let mut visit = Visit::new(&memory, "192.0.2.9", 2);
    epoch.set(Time::ZERO + RTT * 4);
    visit.lends();
    visit.round(false);
    assert!(!visit.jumped());
    visit.lends();
    let other = Visit::new(&memory, "192.0.2.7", 3);
    assert_eq!(other.lease.resume_handle().refusal(), Some(Refusal::InUse));
    visit.round(false);
    assert!(visit.jumped());
}

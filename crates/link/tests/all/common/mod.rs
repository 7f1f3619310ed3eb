//! Drives a link as a simulation does, and records the outcome of each packet.

use bentpipe_link::{
    DirectionConfig, DirectionModel, DirectionPatch, DropCause, Ecn, Enqueue, Event, Link,
    LinkContext, Packet,
};
use bentpipe_units::{Span, Time};
use std::path::Path;

/// Base RTT of the paths in the tests.
pub const RTT: Span = Span::from_millis(600);

/// A packet to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: Time,
    pub port: usize,
    pub bytes: u32,
    pub ecn: Ecn,
}

/// The outcome of a packet: its number in the order of arrivals, and whether it was delivered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketOutcome {
    pub packet: usize,
    pub at: Time,
    pub bytes: u32,
    pub ecn: Ecn,
    /// `None` if it was delivered.
    pub lost: Option<DropCause>,
    /// True if it was dropped as soon as it was offered.
    pub refused: bool,
}

/// Reads a direction from TOML. Files are relative to the crate.
pub fn direction(toml: &str) -> DirectionConfig {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}\n{error}"))
}

/// Checks that each line of a direction's table is refused, with its place and these words.
pub fn check_refused(wrong: &[(&str, &[&str])]) {
    let mut unsaid = Vec::new();
    for (line, words) in wrong {
        let text = format!("# a patch\n{line}\n");
        let error = match toml::from_str::<DirectionPatch>(&text) {
            Ok(patch) => panic!("{line} is read as {patch:?}"),
            Err(error) => error,
        };
        let message = error.message();
        for word in *words {
            if !message.contains(word) {
                unsaid.push(format!("{line}\n  says: {message}\n  without: {word}"));
            }
        }
        assert!(error.to_string().contains("line 2"), "{error}");
    }
    assert!(unsaid.is_empty(), "{}", unsaid.join("\n"));
}

pub fn model(config: &DirectionConfig) -> DirectionModel {
    config.load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{error}"))
}

pub fn link(config: &DirectionConfig, seed: u64, ports: usize) -> Link<usize> {
    let context = LinkContext { rtt: RTT, seed, run: 0, name: "test".into() };
    Link::new(&model(config), &context, ports)
}

/// Records everything that is due before `until`, at its own time.
pub fn drain(link: &mut Link<usize>, until: Time, outcomes: &mut Vec<PacketOutcome>) {
    while let Some(now) = link.next_deadline().filter(|due| *due < until) {
        while let Some(event) = link.poll(now) {
            outcomes.push(match event {
                Event::Delivered { packet, .. } => PacketOutcome {
                    packet: packet.payload,
                    at: now,
                    bytes: packet.bytes,
                    ecn: packet.ecn,
                    lost: None,
                    refused: false,
                },
                Event::Lost { cause, at, packet, .. } => PacketOutcome {
                    packet: packet.payload,
                    at,
                    bytes: packet.bytes,
                    ecn: packet.ecn,
                    lost: Some(cause),
                    refused: false,
                },
            });
        }
    }
}

/// Sends all arrivals, which must be in the order of their times, and waits for the last packet.
/// `look` gets the link after each arrival.
pub fn run(
    link: &mut Link<usize>,
    arrivals: &[Arrival],
    mut look: impl FnMut(&Link<usize>),
) -> Vec<PacketOutcome> {
    let mut outcomes = Vec::new();
    for (number, Arrival { at, port, bytes, ecn }) in arrivals.iter().copied().enumerate() {
        offer(link, at, port, Packet::new(bytes, ecn, number), &mut outcomes);
        look(link);
    }
    drain(link, Time::MAX, &mut outcomes);
    outcomes
}

/// Offers a packet at `at`, after what is due before.
pub fn offer(
    link: &mut Link<usize>,
    at: Time,
    port: usize,
    packet: Packet<usize>,
    outcomes: &mut Vec<PacketOutcome>,
) {
    drain(link, at, outcomes);
    if let Enqueue::Dropped(cause, packet) = link.enqueue(at, port, packet) {
        outcomes.push(PacketOutcome {
            packet: packet.payload,
            at,
            bytes: packet.bytes,
            ecn: packet.ecn,
            lost: Some(cause),
            refused: true,
        });
    }
}

/// Returns `count` packets of 1500 bytes at intervals of `gap`.
pub fn steady(count: u64, gap: Span, ecn: Ecn) -> Vec<Arrival> {
    (0..count)
        .map(|number| Arrival { at: Time::ZERO + gap * number, port: 0, bytes: 1500, ecn })
        .collect()
}

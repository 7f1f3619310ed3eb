//! Which lost packets came upon a full queue, and how many episodes of loss there were.

use super::far_end::FarEnd;
use super::sent::DataPacket;
use bentpipe_units::Span;

/// Share of the longest queue from which a loss is that queue's.
const FULL: f64 = 0.7;
/// Shortest queue that can be told from jitter, as a share of the round trip and as a time.
const QUEUE_SHARE: f64 = 0.05;
const QUEUE: Span = Span::from_millis(2);
/// Shortest queue if the other end recorded the waits, which have no jitter of acknowledgements.
const KNOWN_QUEUE: Span = Span::from_micros(500);
/// Packets before and after a lost one whose waits show the queue that it met, if they are known.
const NEXT: usize = 3;
/// Packets before and after a lost one among which an acknowledged one is looked for.
const NEAR: usize = 64;

/// The losses of a sender's packets.
#[derive(Debug, Default)]
pub struct Losses {
    /// For each packet, whether it was lost at a full queue.
    pub at_queue: Vec<bool>,
    /// Lost packets, and those of them at a full queue.
    pub lost: usize,
    pub lost_at_queue: usize,
    /// Losses further than a round trip apart from those before.
    pub episodes: usize,
    /// Longest wait in a queue.
    pub queue: Span,
}

impl Losses {
    /// Finds the losses of `packets` over a path whose round trip is `rtt` without a queue.
    /// `far` is what the other end recorded. `is_held` are packets that an outage held up: their
    /// times are not those of a queue.
    pub fn find(
        packets: &[DataPacket],
        rtt: Span,
        far: Option<&FarEnd>,
        is_held: impl Fn(&DataPacket) -> bool,
    ) -> Self {
        let wait = |(index, packet): (usize, &DataPacket)| match far {
            _ if is_held(packet) => None,
            Some(far) => far.of_packet(index),
            None => packet.rtt().map(|own| own.saturating_sub(rtt)),
        };
        let waits: Vec<Option<Span>> = packets.iter().enumerate().map(wait).collect();
        let queue = waits.iter().flatten().max().copied().unwrap_or_default();
        let (least, reach) = match far {
            Some(_) => (KNOWN_QUEUE, NEXT),
            None => (QUEUE.max(rtt.mul_f64(QUEUE_SHARE)), NEAR),
        };
        let is_queue = queue >= least;
        let mut found = Self { queue, ..Self::default() };
        let mut last = None;
        for (index, packet) in packets.iter().enumerate() {
            let full = packet.is_lost() && is_queue && {
                let near = index.saturating_sub(reach)..(index + reach + 1).min(packets.len());
                let around = waits.get(near).unwrap_or_default().iter().flatten();
                around.max().is_some_and(|wait| *wait >= queue.mul_f64(FULL))
            };
            found.at_queue.push(full);
            if packet.is_lost() {
                found.lost += 1;
                found.lost_at_queue += usize::from(full);
                if last.is_none_or(|last| packet.at.since(last) > rtt) {
                    found.episodes += 1;
                }
                last = Some(packet.at);
            }
        }
        found
    }
}

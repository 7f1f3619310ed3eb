//! Episodes of a QUIC server and its clients in virtual time: the endpoints of `serve` and `get`
//! without sockets, the path store in a real file, restarts, migration, wrong clocks, tokens and
//! forged datagrams.

mod client;
mod flood;
mod kit;
mod plan;
mod server;
mod transfer;
mod wire;
mod world;

pub use plan::{DIMENSIONS, draw};

use crate::failure::Failure;
use bentpipe_units::{Span, Time};
use plan::EpisodePlan;
use std::collections::BTreeSet;
use world::World;

/// Payload of a datagram at the smallest MTU of QUIC, less headers, in bytes.
const PAYLOAD: u64 = 1100;
/// Packets of a handshake, a Retry and the end of a connection.
const HANDSHAKE_PACKETS: u64 = 20;
/// First timeouts and delays of acknowledgements, in seconds.
const FIRST_TIMEOUTS_S: f64 = 10.0;
/// Idle timeout of the server: the default of the settings.
const IDLE_S: f64 = 60.0;

/// Plays the episode of `seed`, twice.
///
/// # Errors
/// The first check that does not hold.
pub fn play(seed: u64, without: &BTreeSet<String>) -> Result<(), Failure> {
    let (plan, _) = draw(seed, without);
    let first = once(&plan)?;
    let second = once(&plan)?;
    // The stack draws its Retry tokens from the operating system. After a restart of the server,
    // what it does with one of the time before depends on these bytes.
    let repeats = plan.retry == 0.0 || plan.restarts.is_empty();
    if repeats && first != second {
        let what = "the datagrams of the second play differ from those of the first";
        return Err(Failure::new("determinism", what));
    }
    Ok(())
}

/// Plays an episode, and returns the digest of what happened.
fn once(plan: &EpisodePlan) -> Result<Vec<u8>, Failure> {
    let (attempts_s, patience_s) = longest_s(plan);
    let mut world = World::new(plan, Span::from_secs_f64(patience_s))?;
    let pauses_s: f64 = plan.clients.iter().flatten().map(|transfer| transfer.pause_s).sum();
    // An attempt that began during faults may be stuck, and is given up once; see decision 40 for
    // paths that the stack does not validate after losses. Another completes each transfer.
    let transfers = plan.clients.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let bound_s = plan.faults_end_s + pauses_s + patience_s + attempts_s + transfers;
    world.run(Time::ZERO + Span::from_secs_f64(bound_s))?;
    // Idle connections end after the timeout, or three PTOs if that is longer (RFC 9000 §10.1); a
    // PTO is at most about three samples of the RTT, which may be as long as the faults.
    world.settle(Span::from_secs_f64(IDLE_S + 9.0 * plan.faults_end_s + patience_s))?;
    world.finish()
}

/// Returns the longest time of all transfers in turn, and of one attempt, in seconds: each packet
/// takes an RTT with full queues at most, and timeouts double what was silent before.
fn longest_s(plan: &EpisodePlan) -> (f64, f64) {
    let rtt_s = 2.0 * (plan.delay_ms + plan.jitter_ms + plan.queue_ms) / 1e3;
    let attempt_s = |bytes: u64| {
        let packets = bytes.div_ceil(PAYLOAD) + HANDSHAKE_PACKETS;
        2.0 * packets as f64 * rtt_s + FIRST_TIMEOUTS_S
    };
    let transfers = plan.clients.iter().flatten();
    let each = transfers.map(|transfer| attempt_s(transfer.up + transfer.down));
    let all: f64 = each.sum();
    // Others may be served first.
    (all, all + 2.0 * plan.faults_end_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_changes_an_episode() {
        let mut effective = BTreeSet::new();
        for seed in 0..100 {
            let (plan, drawn) = draw(seed, &BTreeSet::new());
            for name in drawn {
                let less = BTreeSet::from([name.to_owned()]);
                if format!("{:?}", draw(seed, &less).0) != format!("{plan:?}") {
                    effective.insert(name);
                }
            }
        }
        let all: BTreeSet<_> = DIMENSIONS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(effective, all);
    }
}

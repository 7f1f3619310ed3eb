//! A server under a client that does anything, one step after another. The steps, both ends and
//! what must hold are those of the property test of bentpipe-quic.
#![no_main]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../../crates/quic/tests/hostile/frames.rs"]
mod frames;
#[path = "../../crates/quic/tests/hostile/peer.rs"]
mod peer;
#[path = "../../crates/quic/tests/hostile/server.rs"]
mod server;
#[path = "../../crates/quic/tests/hostile/steps.rs"]
mod steps;
#[path = "../../crates/quic/tests/hostile/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use world::Kit;

static KIT: LazyLock<Kit> = LazyLock::new(Kit::new);

fuzz_target!(|input: &[u8]| {
    // Longer lists find nothing that a few hundred steps do not.
    world::play(&KIT, &steps::decode(&input[..input.len().min(1000)]));
});

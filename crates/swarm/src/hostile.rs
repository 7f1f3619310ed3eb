//! Episodes of one client that sends any frames in any order, with the steps, both ends and checks
//! of the property test of `bentpipe-quic`, as its fuzz target has them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

#[path = "../../quic/tests/hostile/frames.rs"]
mod frames;
#[path = "../../quic/tests/hostile/peer.rs"]
mod peer;
#[path = "../../quic/tests/hostile/server.rs"]
mod server;
#[path = "../../quic/tests/hostile/steps.rs"]
mod steps;
#[path = "../../quic/tests/hostile/world.rs"]
mod world;

use crate::draw::Random;
use crate::failure::Failure;
use std::sync::LazyLock;

/// Most bytes that steps are decoded from: longer lists find nothing that a few hundred do not.
const MOST_BYTES: f64 = 1000.0;

/// Pieces and their sizes in bytes of uploads with gaps: those of which the test says how long they
/// take at most.
const GAPS: [(usize, usize); 3] = [(4000, 1), (1000, 1), (50, 1000)];

static KIT: LazyLock<world::Kit> = LazyLock::new(world::Kit::new);
static GREEDY: LazyLock<world::Kit> = LazyLock::new(world::Kit::greedy);

/// What a seed draws.
enum Attack {
    /// Steps.
    Steps(Vec<u8>),
    /// An upload of so many pieces of so many bytes, of which every second one is lost.
    Gaps(usize, usize),
}

fn draw(seed: u64) -> Attack {
    let mut random = Random::new(seed, "hostile");
    if random.chance(0.05) {
        let (pieces, size) = random.pick(&GAPS);
        return Attack::Gaps(pieces, size);
    }
    let count = random.log(2.0, MOST_BYTES) as usize;
    Attack::Steps(random.bytes(count))
}

/// Returns what `seed` draws, for a reader.
pub fn text(seed: u64) -> String {
    match draw(seed) {
        Attack::Steps(bytes) => format!("{:#?}\n", steps::decode(&bytes)),
        Attack::Gaps(pieces, size) => format!("{pieces} pieces of {size} bytes with gaps\n"),
    }
}

/// Plays the episode of `seed`. A check that does not hold panics.
///
/// # Errors
/// None: the signature is that of other episodes.
pub fn play(seed: u64) -> Result<(), Failure> {
    match draw(seed) {
        Attack::Steps(bytes) => world::play(&KIT, &steps::decode(&bytes)),
        Attack::Gaps(pieces, size) => {
            // Either outcome is allowed; others are served in both.
            world::upload_with_gaps(&GREEDY, pieces, size);
        }
    }
    Ok(())
}

//! A server under a client that does anything: frames of any kind, resets, stops, lost and changed
//! datagrams, migration, and connections that end in the middle. Afterwards the server serves
//! others and the client itself, and keeps nothing.
//!
//! The fuzz target `endpoint` plays the same steps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod frames;
mod peer;
mod server;
mod steps;
mod world;

use proptest::prelude::*;
use steps::decode;
use world::Kit;

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn whatever_a_client_does_the_server_serves_on_and_keeps_nothing(
        steps in proptest::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| decode(&bytes))
    ) {
        world::play(&Kit::new(), &steps);
    }
}

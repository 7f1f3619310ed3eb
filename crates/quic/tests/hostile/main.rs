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

/// Inputs with which the fuzz target reached code that others did not, one in each line.
const CORPUS: &str = include_str!("corpus.txt");

#[test]
fn the_corpus_of_the_fuzz_target_finds_nothing() {
    let kit = Kit::new();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    for line in CORPUS.lines() {
        let bytes: Vec<u8> = line.as_bytes().chunks(2).map(byte).collect();
        // Shown if it fails.
        println!("input {line}");
        world::play(&kit, &decode(&bytes));
    }
}

#[test]
fn bytes_with_gaps_between_them_end_the_connection_and_lost_packets_do_not() {
    let kit = Kit::greedy();
    // A chunk of one byte takes about a hundred: 646 of them fit this server's window.
    assert!(!world::upload_with_gaps(&kit, 4000, 1));
    assert!(world::upload_with_gaps(&kit, 1000, 1));
    assert!(world::upload_with_gaps(&kit, 50, 1000));
}

//! Path tokens and token streams from arbitrary bytes: no panic, no forged token is accepted, and
//! the stream decoder gives the same result however its input is split.
#![no_main]

use bentpipe_quic::path_memory::token::stream::Decoder;
use bentpipe_quic::path_memory::token::{KeyRing, MAX_TOKEN, PathTokens, ReadToken, Secret};
use bentpipe_units::Epoch;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};

fn tokens(pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<Vec<u8>> {
    let (mut decoder, mut tokens) = (Decoder::default(), Vec::new());
    for piece in pieces {
        let mut piece = piece.as_ref();
        loop {
            match decoder.next(&mut piece) {
                Ok(Some(token)) => tokens.push(token),
                Ok(None) => break,
                Err(_) => return tokens,
            }
        }
    }
    assert!(tokens.iter().all(|token| token.len() <= MAX_TOKEN));
    tokens
}

fuzz_target!(|input: (&[u8], u8, u64)| {
    let (bytes, size, now) = input;
    let Ok(keys) = KeyRing::new(Secret::new(&[7; 32]), KeyRing::PERIOD) else { return };
    let now = Epoch::from_unix_millis(now);
    let mut server = PathTokens::new(keys);
    let whole = tokens(std::iter::once(bytes));
    assert_eq!(whole, tokens(bytes.chunks(usize::from(size).max(1))));
    for token in whole.iter().map(Vec::as_slice).chain([bytes]) {
        if let Ok(read) = ReadToken::parse(token) {
            assert!(!read.window.is_zero() && !read.rtt.is_zero());
        }
        assert!(server.open(token, IpAddr::V4(Ipv4Addr::LOCALHOST), now).is_err());
    }
});

//! Tokens from sealing to opening.

use super::format::{KEY_ID, MIN_SEAL, NONCE};
use super::*;
use crate::path_memory::{IpPrefix, Prefixes, SavedPath};
use crate::tls::{Randomness, seed_this_thread};
use bentpipe_units::{Bytes, Epoch, Span};
use proptest::prelude::*;
use std::net::IpAddr;

const CLIENT: &str = "192.0.2.7";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at(second: u64) -> Epoch {
    Epoch::from_unix_secs(1_777_600_000 + second)
}

fn tokens() -> PathTokens {
    PathTokens::new(KeyRing::new(Secret::new(&[7; 32]), KeyRing::PERIOD).unwrap())
}

fn saved() -> SavedPath {
    SavedPath::new(Bytes::new(3_750_000), Span::from_millis(600), at(0), Span::from_secs(3600))
        .unwrap()
}

fn seal(tokens: &mut PathTokens, path: &SavedPath, bound: IpPrefix, now: Epoch) -> Vec<u8> {
    seed_this_thread([now.as_unix_millis() as u8; 16]);
    tokens.seal(path, bound, now, Randomness::Seeded.generator()).unwrap()
}

fn sealed() -> (PathTokens, Vec<u8>) {
    let mut tokens = tokens();
    let token = seal(&mut tokens, &saved(), IpPrefix::host(ip(CLIENT)), at(0));
    (tokens, token)
}

#[test]
fn server_and_client_read_what_was_sealed() {
    let (mut tokens, token) = sealed();
    let read =
        ReadToken { window: Bytes::new(3_750_000), rtt: Span::from_millis(600), expires: at(3600) };
    assert_eq!(ReadToken::parse(&token), Ok(read));
    assert_eq!(tokens.open(&token, ip(CLIENT), at(10)), Ok(saved()));
    assert_eq!(tokens.counts(), TokenCounts { accepted: 1, ..TokenCounts::default() });
}

#[test]
fn every_reason_to_refuse_is_counted() {
    let (mut tokens, token) = sealed();
    let mut broken = token.clone();
    *broken.last_mut().unwrap() ^= 1;
    let mut other = PathTokens::new(KeyRing::new(Secret::new(&[8; 32]), KeyRing::PERIOD).unwrap());
    let foreign = seal(&mut other, &saved(), IpPrefix::host(ip(CLIENT)), at(0));
    let elsewhere = ip("192.0.2.8");
    assert_eq!(tokens.open(b"x", ip(CLIENT), at(1)), Err(TokenError::Malformed(Malformed(1))));
    assert_eq!(tokens.open(&foreign, ip(CLIENT), at(1)), Err(TokenError::UnknownKey));
    assert_eq!(tokens.open(&broken, ip(CLIENT), at(1)), Err(TokenError::Forged));
    assert_eq!(tokens.open(&token, ip(CLIENT), at(3600)), Err(TokenError::Expired(at(3600))));
    assert_eq!(tokens.open(&token, elsewhere, at(1)), Err(TokenError::WrongAddress(elsewhere)));
    assert_eq!(tokens.open(&token, ip(CLIENT), at(1)), Ok(saved()), "refusals do not use it up");
    assert_eq!(tokens.open(&token, ip(CLIENT), at(1)), Err(TokenError::Replayed));
    let counts = TokenCounts {
        accepted: 1,
        forged: 1,
        expired: 1,
        wrong_address: 1,
        malformed: 1,
        unknown_key: 1,
        replayed: 1,
    };
    assert_eq!(tokens.counts(), counts);
}

#[test]
fn no_flipped_bit_is_accepted() {
    let (mut tokens, token) = sealed();
    for bit in 0..token.len() * 8 {
        let mut flipped = token.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(tokens.open(&flipped, ip(CLIENT), at(1)).is_err(), "bit {bit}");
    }
    assert_eq!(tokens.counts().accepted, 0);
    assert_eq!(tokens.open(&token, ip(CLIENT), at(1)), Ok(saved()));
}

#[test]
fn no_part_and_no_extension_is_accepted() {
    let (mut tokens, token) = sealed();
    for length in 0..token.len() {
        assert!(tokens.open(&token[..length], ip(CLIENT), at(1)).is_err(), "{length} bytes");
        assert!(
            tokens.open(&token[length + 1..], ip(CLIENT), at(1)).is_err(),
            "without {length} bytes"
        );
    }
    for more in 1..300 {
        let mut longer = token.clone();
        longer.resize(token.len() + more, 0);
        assert!(tokens.open(&longer, ip(CLIENT), at(1)).is_err(), "{more} bytes more");
    }
}

#[test]
fn tokens_of_one_path_share_only_their_readable_part() {
    let mut tokens = tokens();
    seed_this_thread([1; 16]);
    let [one, two] = [0, 1].map(|_| {
        let random = Randomness::Seeded.generator();
        tokens.seal(&saved(), IpPrefix::host(ip(CLIENT)), at(0), random).unwrap()
    });
    let seal = one.len() - MIN_SEAL - 7;
    for range in [1 + KEY_ID..1 + KEY_ID + NONCE, seal..one.len()] {
        let same =
            one[range.clone()].iter().zip(&two[range]).filter(|(one, two)| one == two).count();
        assert!(same < 4, "{same} bytes are the same, more than by chance");
    }
    let address = [192, 0, 2, 7];
    assert!(!one.windows(4).any(|bytes| bytes == address), "the address is not readable");
}

#[test]
fn a_token_for_a_network_opens_for_its_addresses_mapped_or_not() {
    for (remote, inside) in
        [("192.0.2.200", true), ("::ffff:192.0.2.9", true), ("192.0.3.7", false), ("::1", false)]
    {
        let mut tokens = tokens();
        let token = seal(&mut tokens, &saved(), Prefixes::default().of(ip(CLIENT)), at(0));
        assert_eq!(tokens.open(&token, ip(remote), at(1)).is_ok(), inside, "{remote}");
    }
}

#[test]
fn a_token_ends_with_the_period_after_its_keys() {
    let mut tokens = tokens();
    let period = 12 * 3600;
    let begin = 1_777_600_000 / period * period;
    let now = Epoch::from_unix_secs(begin + 100);
    let long =
        SavedPath::new(Bytes::from_mb(1), Span::from_millis(50), now, Span::from_secs(10 * period))
            .unwrap();
    let token = seal(&mut tokens, &long, IpPrefix::host(ip(CLIENT)), now);
    let end = begin + 2 * period;
    assert_eq!(ReadToken::parse(&token).unwrap().expires, Epoch::from_unix_secs(end));
    assert_eq!(
        tokens.open(&token, ip(CLIENT), Epoch::from_unix_secs(end)),
        Err(TokenError::UnknownKey)
    );
    assert!(tokens.open(&token, ip(CLIENT), Epoch::from_unix_secs(end - 1)).is_ok());
}

#[test]
fn a_farm_opens_tokens_of_a_server_that_is_slightly_ahead() {
    let token = seal(&mut tokens(), &saved(), IpPrefix::host(ip(CLIENT)), at(60));
    let opened = tokens().open(&token, ip(CLIENT), at(0)).unwrap();
    assert_eq!(opened.saved_at, at(0), "not saved in the future");
    let token = seal(&mut tokens(), &saved(), IpPrefix::host(ip(CLIENT)), at(61));
    assert_eq!(tokens().open(&token, ip(CLIENT), at(0)), Err(TokenError::Expired(at(3600))));
}

#[test]
fn an_expired_set_is_not_sealed() {
    let refused = tokens().seal(
        &saved(),
        IpPrefix::host(ip(CLIENT)),
        at(3600),
        Randomness::System.generator(),
    );
    assert!(matches!(refused, Err(SealError::Path(_))), "{refused:?}");
}

#[test]
fn a_store_returns_the_last_token_of_a_server_once() {
    let mut tokens = tokens();
    let [one, two] =
        [0, 1].map(|second| seal(&mut tokens, &saved(), IpPrefix::host(ip(CLIENT)), at(second)));
    let mut store = MemoryPathTokenStore::default();
    store.put("a.example", &one, at(1)).unwrap();
    store.put("a.example", &two, at(1)).unwrap();
    assert_eq!(store.put("a.example", b"no token", at(1)), Err(Malformed(8)));
    assert_eq!(store.take("b.example", at(2)), None);
    assert_eq!(store.take("a.example", at(2)), Some(two));
    assert_eq!(store.take("a.example", at(2)), None);
    store.put("a.example", &one, at(1)).unwrap();
    assert_eq!(store.take("a.example", at(3600)), None, "expired");
}

#[test]
fn a_full_store_drops_the_token_that_expires_first_and_deletes_on_request() {
    let mut tokens = tokens();
    let mut store = MemoryPathTokenStore::new(2);
    for (server, end) in [("a", 300), ("b", 100), ("c", 200)] {
        let path = SavedPath { expires: at(end), ..saved() };
        store
            .put(server, &seal(&mut tokens, &path, IpPrefix::host(ip(CLIENT)), at(0)), at(0))
            .unwrap();
    }
    assert_eq!(store.take("b", at(1)), None);
    store.forget("a");
    assert_eq!(store.take("a", at(1)), None);
    store.forget_all();
    assert_eq!(store.take("c", at(1)), None);
}

proptest! {
    #[test]
    fn a_sealed_set_opens_unchanged(
        window in 1u64..1 << 62,
        rtt_us in 1u64..3_600_000_000,
        first_us in proptest::option::of(1u64..3_600_000_000),
        lifetime in 1u64..43_200,
        bits: u128,
        v6: bool,
    ) {
        let remote = if v6 {
            IpAddr::V6(std::net::Ipv6Addr::from_bits(bits))
        } else {
            IpAddr::V4(std::net::Ipv4Addr::from_bits(bits as u32))
        };
        let (window, rtt) = (Bytes::new(window), Span::from_micros(rtt_us));
        let saved = SavedPath::new(window, rtt, at(0), Span::from_secs(lifetime)).unwrap();
        let path = SavedPath { first_rtt: first_us.map(Span::from_micros), ..saved };
        let mut tokens = tokens();
        let token = seal(&mut tokens, &path, IpPrefix::host(remote), at(0));
        prop_assert!((57..=91).contains(&token.len()), "{} bytes", token.len());
        prop_assert_eq!(tokens.open(&token, remote, at(0)), Ok(path));
    }

    #[test]
    fn no_other_bytes_open(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        head in 0usize..60,
    ) {
        let (mut tokens, token) = sealed();
        let mut bytes = bytes;
        // Some begin like a token, to get past the key's identifier.
        bytes.splice(..0, token.into_iter().take(head));
        let _ = ReadToken::parse(&bytes);
        prop_assert!(tokens.open(&bytes, ip(CLIENT), at(1)).is_err());
    }
}

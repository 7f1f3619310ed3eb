//! A bounded record of used tokens, so that each opens once.

use super::format::NONCE;
use crate::path_memory::IpPrefix;
use bentpipe_units::Epoch;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Nonces in a part of the record, at least, and most parts.
const PART: usize = 256;
const PARTS: usize = 256;

/// Tokens that were used and have not expired.
///
/// A full record treats tokens that were never used as used. It has parts, each for the networks
/// whose hash is its own, so that a network whose clients use many tokens does so to few others.
#[derive(Debug)]
pub(super) struct UsedTokens {
    parts: Vec<Part>,
}

impl UsedTokens {
    /// A record of at most `max` tokens.
    pub(super) fn new(max: usize) -> Self {
        let parts = (max / PART).clamp(1, PARTS);
        Self { parts: (0..parts).map(|_| Part::new(max / parts)).collect() }
    }

    /// Marks a token that is for `network` as used. Returns false if it was, or may have been.
    pub(super) fn insert(
        &mut self,
        network: IpPrefix,
        expires: Epoch,
        nonce: [u8; NONCE],
        now: Epoch,
    ) -> bool {
        // The same in every run.
        let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(network);
        let part = hash % self.parts.len() as u64;
        self.parts[part as usize].insert(expires, nonce, now)
    }
}

/// Nonces of tokens of some networks, ordered by expiry.
///
/// A full part drops the nonce that expires first, and from then on treats every token that expires
/// no later as used. So a token never opens twice, but an unused one may be refused; its client
/// then starts as on an unknown path.
#[derive(Debug)]
struct Part {
    nonces: BTreeSet<(Epoch, [u8; NONCE])>,
    max: usize,
    /// Tokens that expire at or before this are treated as used.
    floor: Epoch,
}

impl Part {
    const fn new(max: usize) -> Self {
        Self { nonces: BTreeSet::new(), max, floor: Epoch::from_unix_millis(0) }
    }

    fn insert(&mut self, expires: Epoch, nonce: [u8; NONCE], now: Epoch) -> bool {
        while self.nonces.first().is_some_and(|&(expires, _)| expires <= now) {
            // If the clock is set back, these would be current again.
            self.floor =
                self.nonces.pop_first().map_or(self.floor, |(expires, _)| self.floor.max(expires));
        }
        if expires <= self.floor || !self.nonces.insert((expires, nonce)) {
            return false;
        }
        if self.nonces.len() > self.max {
            self.floor =
                self.nonces.pop_first().map_or(self.floor, |(expires, _)| self.floor.max(expires));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_memory::Prefixes;
    use proptest::prelude::*;

    fn at(second: u64) -> Epoch {
        Epoch::from_unix_secs(second)
    }

    #[test]
    fn a_full_record_refuses_tokens_that_it_may_have_dropped() {
        let mut used = Part::new(2);
        for (nonce, expires) in [(1, 101), (2, 102), (3, 103)] {
            assert!(used.insert(at(expires), [nonce; NONCE], at(0)));
        }
        assert!(!used.insert(at(101), [1; NONCE], at(0)), "dropped, but below the floor");
        assert!(!used.insert(at(101), [9; NONCE], at(0)), "never used, but it may have been");
        assert!(!used.insert(at(103), [3; NONCE], at(0)));
        assert!(used.insert(at(104), [4; NONCE], at(0)));
    }

    #[test]
    fn expired_tokens_make_room() {
        let mut used = Part::new(2);
        assert!(used.insert(at(101), [1; NONCE], at(0)) && used.insert(at(102), [2; NONCE], at(0)));
        assert!(
            used.insert(at(300), [3; NONCE], at(200)) && used.insert(at(301), [4; NONCE], at(200))
        );
        assert_eq!(used.nonces.len(), 2);
        assert!(used.insert(at(250), [5; NONCE], at(200)), "no current token was dropped");
    }

    #[test]
    fn a_network_with_many_tokens_costs_few_others_theirs() {
        let network = |third: u8| Prefixes::default().of([192, 0, third, 7].into());
        let mut used = UsedTokens::new(65_536);
        // Twice as many as the record holds, all of one network, that expire late.
        for n in 0..131_072_u64 {
            let mut nonce = [0; NONCE];
            nonce[..8].copy_from_slice(&n.to_be_bytes());
            used.insert(network(0), at(3600), nonce, at(0));
        }
        let refused = (1..=255).filter(|n| !used.insert(network(*n), at(1800), [*n; NONCE], at(0)));
        assert!(refused.count() < 8, "about one of 256 is in the same part");
    }

    proptest! {
        #[test]
        fn no_token_is_used_twice_and_memory_is_bounded(
            max in 0usize..5,
            tokens in prop::collection::vec((1u64..20, 0u8..4, 0u64..20), 0..100),
        ) {
            let mut used = Part::new(max);
            let mut accepted = BTreeSet::new();
            for (expires, nonce, now) in tokens {
                if used.insert(at(expires), [nonce; NONCE], at(now)) {
                    prop_assert!(accepted.insert((expires, nonce)), "used twice");
                }
                prop_assert!(used.nonces.len() <= max);
            }
        }
    }
}

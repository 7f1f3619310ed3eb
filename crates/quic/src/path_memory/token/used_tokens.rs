//! A bounded record of used tokens, so that each opens once.

use super::format::NONCE;
use bentpipe_units::Epoch;
use std::collections::BTreeSet;

/// Nonces of tokens that were used and have not expired, ordered by expiry.
///
/// A full record drops the nonce that expires first, and from then on treats every token that
/// expires no later as used. So a token never opens twice, but an unused one may be refused; its
/// client then starts as on an unknown path.
#[derive(Debug)]
pub(super) struct UsedTokens {
    nonces: BTreeSet<(Epoch, [u8; NONCE])>,
    max: usize,
    /// Tokens that expire at or before this are treated as used.
    floor: Epoch,
}

impl UsedTokens {
    pub(super) const fn new(max: usize) -> Self {
        Self { nonces: BTreeSet::new(), max, floor: Epoch::from_unix_millis(0) }
    }

    /// Marks a token as used. Returns false if it was, or may have been.
    pub(super) fn insert(&mut self, expires: Epoch, nonce: [u8; NONCE], now: Epoch) -> bool {
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
    use proptest::prelude::*;

    fn at(second: u64) -> Epoch {
        Epoch::from_unix_secs(second)
    }

    #[test]
    fn a_full_record_refuses_tokens_that_it_may_have_dropped() {
        let mut used = UsedTokens::new(2);
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
        let mut used = UsedTokens::new(2);
        assert!(used.insert(at(101), [1; NONCE], at(0)) && used.insert(at(102), [2; NONCE], at(0)));
        assert!(
            used.insert(at(300), [3; NONCE], at(200)) && used.insert(at(301), [4; NONCE], at(200))
        );
        assert_eq!(used.nonces.len(), 2);
        assert!(used.insert(at(250), [5; NONCE], at(200)), "no current token was dropped");
    }

    proptest! {
        #[test]
        fn no_token_is_used_twice_and_memory_is_bounded(
            max in 0usize..5,
            tokens in prop::collection::vec((1u64..20, 0u8..4, 0u64..20), 0..100),
        ) {
            let mut used = UsedTokens::new(max);
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

//! Tokens that were used: each opens once, in bounded memory.

use super::NONCE;
use bentpipe_units::Epoch;
use std::collections::BTreeSet;

/// Nonces of tokens used and not yet expired, with their expiry first, so that the order is that of
/// forgetting.
///
/// Where it is full, the one that expires first is forgotten, and from then on every token that
/// expires no later is taken for used: a token never opens twice, at the price that an unused one
/// may be refused. Its client then starts as on an unknown path.
#[derive(Debug)]
pub(super) struct UsedTokens {
    seen: BTreeSet<(Epoch, [u8; NONCE])>,
    most: usize,
    /// Tokens that expire at or before this are taken for used.
    floor: Epoch,
}

impl UsedTokens {
    pub(super) const fn new(most: usize) -> Self {
        Self { seen: BTreeSet::new(), most, floor: Epoch::from_unix_millis(0) }
    }

    /// Marks a token as used; false where it was, or may have been.
    pub(super) fn insert(&mut self, expires: Epoch, nonce: [u8; NONCE], now: Epoch) -> bool {
        while self.seen.first().is_some_and(|&(expires, _)| expires <= now) {
            // Should the clock be set back, these would be current again.
            self.floor =
                self.seen.pop_first().map_or(self.floor, |(expires, _)| self.floor.max(expires));
        }
        if expires <= self.floor || !self.seen.insert((expires, nonce)) {
            return false;
        }
        if self.seen.len() > self.most {
            self.floor =
                self.seen.pop_first().map_or(self.floor, |(expires, _)| self.floor.max(expires));
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
    fn a_full_memory_refuses_what_it_may_have_forgotten() {
        let mut used = UsedTokens::new(2);
        for (nonce, expires) in [(1, 101), (2, 102), (3, 103)] {
            assert!(used.insert(at(expires), [nonce; NONCE], at(0)));
        }
        assert!(!used.insert(at(101), [1; NONCE], at(0)), "forgotten, but below the floor");
        assert!(!used.insert(at(101), [9; NONCE], at(0)), "never used, but it may have been");
        assert!(!used.insert(at(103), [3; NONCE], at(0)));
        assert!(used.insert(at(104), [4; NONCE], at(0)));
    }

    #[test]
    fn expired_ones_make_room() {
        let mut used = UsedTokens::new(2);
        assert!(used.insert(at(101), [1; NONCE], at(0)) && used.insert(at(102), [2; NONCE], at(0)));
        assert!(
            used.insert(at(300), [3; NONCE], at(200)) && used.insert(at(301), [4; NONCE], at(200))
        );
        assert_eq!(used.seen.len(), 2);
        assert!(used.insert(at(250), [5; NONCE], at(200)), "nothing that lives was forgotten");
    }

    proptest! {
        #[test]
        fn no_token_is_used_twice_and_memory_is_bounded(
            most in 0usize..5,
            tokens in prop::collection::vec((1u64..20, 0u8..4, 0u64..20), 0..100),
        ) {
            let mut used = UsedTokens::new(most);
            let mut accepted = BTreeSet::new();
            for (expires, nonce, now) in tokens {
                if used.insert(at(expires), [nonce; NONCE], at(now)) {
                    prop_assert!(accepted.insert((expires, nonce)), "used twice");
                }
                prop_assert!(used.seen.len() <= most);
            }
        }
    }
}

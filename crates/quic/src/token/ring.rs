//! Keys that seal tokens: derived from a master secret by period, so that a farm agrees on them
//! without talking.

use super::KEY_ID;
use bentpipe_units::{Epoch, Span};
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Shortest period of a key: the clocks of a farm may differ by some of it without tokens being
/// refused.
pub const MIN_PERIOD: Span = Span::from_secs(60);
/// Bytes of a key and of a master secret.
const SECRET: usize = 32;
/// Sets these derivations apart from any other of the same secret (RFC 5869 §3.1).
const SALT: &[u8] = b"bentpipe path token 1";

/// A master secret. It is wiped from memory when dropped, and cannot be printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; SECRET]>);

impl Secret {
    /// 32 random bytes; whoever knows them can make tokens. Wiping the array they came from is the
    /// caller's.
    pub fn new(bytes: &[u8; SECRET]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// A secret that only this program knows: its tokens end with it.
    ///
    /// # Errors
    /// No randomness.
    pub fn draw(
        random: &dyn rustls::crypto::SecureRandom,
    ) -> Result<Self, rustls::crypto::GetRandomFailed> {
        let mut bytes = Zeroizing::new([0; SECRET]);
        random.fill(&mut *bytes)?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A ring that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyRingError {
    /// Keys that change too often, or never.
    #[error("key period of {0}; allowed: {MIN_PERIOD} to 366 days")]
    Period(Span),
}

/// One period's key.
struct Key {
    id: [u8; KEY_ID],
    period: u64,
    secret: Zeroizing<[u8; SECRET]>,
}

impl Key {
    /// HKDF (RFC 5869) of the master secret with the number of the period; the identity by a
    /// derivation of its own, so that it tells nothing about the key, and nothing about time to
    /// whoever lacks the secret.
    fn derive(master: &Secret, period: u64) -> Option<Self> {
        let (mut id, mut secret) = ([0; KEY_ID], Zeroizing::new([0; SECRET]));
        let period_bytes = period.to_be_bytes();
        let extracted = Salt::new(HKDF_SHA256, SALT).extract(&*master.0);
        for (purpose, out) in [(&b"id"[..], &mut id[..]), (&b"key"[..], &mut secret[..])] {
            extracted.expand(&[purpose, &period_bytes], Length(out.len())).ok()?.fill(out).ok()?;
        }
        Some(Self { id, period, secret })
    }

    /// For the cipher. The cipher's own expanded key lives on the stack of one call and is not
    /// wiped.
    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &*self.secret).ok().map(LessSafeKey::new)
    }
}

/// How many bytes HKDF shall give.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Keys by period: tokens are sealed with the current one, opened with it, the one before and, for
/// the clocks of a farm, the one after. A token therefore lives at most until the period after its
/// own ends.
///
/// AES-GCM with random nonces bears 2^32 seals with one key (NIST SP 800-38D §8.3), by all servers
/// that share the secret: with the default period of 12 hours that is 99,000 a second.
pub struct KeyRing {
    master: Secret,
    /// The secret before, while its tokens still live.
    previous: Option<Secret>,
    period_ms: u64,
    keys: Vec<Key>,
}

impl KeyRing {
    /// The default period of a key, our choice: what lives longer than half a day to a day says
    /// little about a path.
    pub const PERIOD: Span = Span::from_secs(12 * 3600);

    /// Keys from `master`, a new one each `period`. All servers with both in common open each
    /// other's tokens.
    ///
    /// # Errors
    /// A period below [`MIN_PERIOD`] or above a year.
    pub fn new(master: Secret, period: Span) -> Result<Self, KeyRingError> {
        if !(MIN_PERIOD..=Span::from_secs(366 * 86_400)).contains(&period) {
            return Err(KeyRingError::Period(period));
        }
        Ok(Self {
            master,
            previous: None,
            period_ms: period.as_nanos() / 1_000_000,
            keys: Vec::new(),
        })
    }

    /// Seals with `master` from now on; tokens sealed with the secret before still open while they
    /// live. Calling it again forgets the one before that.
    pub fn replace_master(&mut self, master: Secret) {
        self.previous = Some(std::mem::replace(&mut self.master, master));
        self.keys.clear();
    }

    /// Stops opening tokens of the secret before, at once.
    pub fn drop_previous_master(&mut self) {
        self.previous = None;
        self.keys.clear();
    }

    /// When tokens sealed at `now` end at the latest: with the period after the current one.
    pub(super) fn latest_expiry(&self, now: Epoch) -> Epoch {
        let periods = (now.as_unix_millis() / self.period_ms).saturating_add(2);
        Epoch::from_unix_millis(periods.saturating_mul(self.period_ms))
    }

    /// The key to seal with at `now`.
    pub(super) fn current(&mut self, now: Epoch) -> Option<([u8; KEY_ID], LessSafeKey)> {
        self.turn(now);
        let period = now.as_unix_millis() / self.period_ms;
        // Keys of the current secret stand first.
        let key = self.keys.iter().find(|key| key.period == period)?;
        Some((key.id, key.cipher()?))
    }

    /// The keys of that identity that count at `now`. Two keys share an identity once in 2^32; then
    /// both are tried.
    pub(super) fn find(
        &mut self,
        id: [u8; KEY_ID],
        now: Epoch,
    ) -> impl Iterator<Item = LessSafeKey> {
        self.turn(now);
        self.keys.iter().filter(move |key| key.id == id).filter_map(Key::cipher)
    }

    /// Derives the keys of the periods around `now`, where that was not done; those of other
    /// periods are wiped.
    fn turn(&mut self, now: Epoch) {
        let period = now.as_unix_millis() / self.period_ms;
        if self.keys.get(1).is_some_and(|key| key.period == period) {
            return;
        }
        // The order is what `current` and the line above count on: the current period second, of
        // the current secret.
        let periods = [period.saturating_sub(1), period, period.saturating_add(1)];
        self.keys = std::iter::once(&self.master)
            .chain(&self.previous)
            .flat_map(|master| periods.iter().filter_map(|&period| Key::derive(master, period)))
            .collect();
    }
}

impl fmt::Debug for KeyRing {
    /// Identities of keys, no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> =
            self.keys.iter().map(|key| format!("{:08x}", u32::from_be_bytes(key.id))).collect();
        f.debug_struct("KeyRing")
            .field("period_ms", &self.period_ms)
            .field("keys", &ids)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::new(&[byte; SECRET])
    }

    fn ring(byte: u8) -> KeyRing {
        KeyRing::new(secret(byte), Span::from_secs(3600)).unwrap()
    }

    fn hour(hour: u64) -> Epoch {
        Epoch::from_unix_secs(hour * 3600 + 1800)
    }

    #[test]
    fn a_farm_with_one_secret_has_one_key_and_others_have_others() {
        let id = |ring: &mut KeyRing, now| ring.current(now).unwrap().0;
        assert_eq!(id(&mut ring(1), hour(10)), id(&mut ring(1), hour(10)));
        assert_ne!(id(&mut ring(1), hour(10)), id(&mut ring(2), hour(10)));
        assert_ne!(id(&mut ring(1), hour(10)), id(&mut ring(1), hour(11)));
    }

    #[test]
    fn a_key_counts_in_its_period_and_beside_it() {
        let mut ring = ring(1);
        let id = ring.current(hour(10)).unwrap().0;
        for (now, count) in
            [(hour(8), 0), (hour(9), 1), (hour(10), 1), (hour(11), 1), (hour(12), 0)]
        {
            assert_eq!(ring.find(id, now).count(), count, "{now}");
        }
    }

    #[test]
    fn a_replaced_secret_still_opens_until_it_is_dropped() {
        let mut ring = ring(1);
        let id = ring.current(hour(10)).unwrap().0;
        ring.replace_master(secret(2));
        assert_ne!(ring.current(hour(10)).unwrap().0, id);
        assert_eq!(ring.find(id, hour(10)).count(), 1);
        ring.drop_previous_master();
        assert_eq!(ring.find(id, hour(10)).count(), 0);
    }

    #[test]
    fn the_ends_of_time_have_a_key() {
        for now in [Epoch::default(), Epoch::MAX] {
            assert!(ring(1).current(now).is_some());
            assert!(ring(1).latest_expiry(now) >= now || now == Epoch::MAX);
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let mut ring = ring(0xa5);
        ring.current(hour(10)).unwrap();
        let text = format!("{ring:?} {:?}", secret(0xa5));
        assert!(
            text.contains("keys: [\"") && !text.contains("165") && !text.contains("a5a5"),
            "{text}"
        );
    }

    #[test]
    fn periods_out_of_range_are_refused() {
        for period in [Span::ZERO, Span::from_secs(59), Span::from_secs(367 * 86_400)] {
            assert!(
                KeyRing::new(secret(1), period)
                    .unwrap_err()
                    .to_string()
                    .contains("1 min to 366 days")
            );
        }
    }
}

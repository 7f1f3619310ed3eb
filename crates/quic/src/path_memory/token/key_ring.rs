//! Keys that seal tokens, derived from a master secret by period, so that the servers of a farm
//! agree on them without communication.

use super::format::KEY_ID;
use bentpipe_units::{Epoch, Span};
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Shortest period of a key: the clocks of a farm may differ by part of it without tokens being
/// refused.
pub const MIN_PERIOD: Span = Span::from_secs(60);
/// Length of a key and of a master secret, in bytes.
const SECRET: usize = 32;
/// Separates these derivations from others of the same secret (RFC 5869 §3.1).
const SALT: &[u8] = b"bentpipe path token 1";

/// A master secret. It is wiped from memory when dropped, and cannot be printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; SECRET]>);

impl Secret {
    /// From 32 random bytes; whoever knows them can make tokens. The caller wipes the array.
    pub fn new(bytes: &[u8; SECRET]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// Draws a secret that only this program knows: its tokens end with it.
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

/// Why a key ring is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyRingError {
    /// A period that is too short or too long.
    #[error("key period {0} is out of range; allowed: {MIN_PERIOD} to 366 days")]
    Period(Span),
}

/// The key of one period.
struct Key {
    id: [u8; KEY_ID],
    period: u64,
    secret: Zeroizing<[u8; SECRET]>,
}

impl Key {
    /// Derives the key by HKDF (RFC 5869) from the master secret and the number of the period. The
    /// identifier has a derivation of its own, so it reveals nothing about the key, and nothing
    /// about time without the secret.
    fn derive(master: &Secret, period: u64) -> Option<Self> {
        let (mut id, mut secret) = ([0; KEY_ID], Zeroizing::new([0; SECRET]));
        let period_bytes = period.to_be_bytes();
        let extracted = Salt::new(HKDF_SHA256, SALT).extract(&*master.0);
        for (purpose, out) in [(&b"id"[..], &mut id[..]), (&b"key"[..], &mut secret[..])] {
            extracted.expand(&[purpose, &period_bytes], Length(out.len())).ok()?.fill(out).ok()?;
        }
        Some(Self { id, period, secret })
    }

    /// Returns the cipher. Its expanded key lives on the stack of one call and is not wiped.
    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &*self.secret).ok().map(LessSafeKey::new)
    }
}

/// Length of HKDF's output, in bytes.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Keys by period. Tokens are sealed with the current key, and opened with it, the one before and,
/// for the clocks of a farm, the one after. A token is therefore valid at most until the end of the
/// period after its own.
///
/// AES-GCM with random nonces allows 2^32 seals with one key (NIST SP 800-38D §8.3), for all
/// servers that share the secret: with the default period of 12 hours, 99,000 per second.
pub struct KeyRing {
    master: Secret,
    /// The secret before, while its tokens are still accepted.
    previous: Option<Secret>,
    period_ms: u64,
    keys: Vec<Key>,
}

impl KeyRing {
    /// Default period of a key. Our choice: measurements older than half a day to a day describe a
    /// path poorly.
    pub const PERIOD: Span = Span::from_secs(12 * 3600);

    /// Derives keys from `master`, a new one each `period`. Servers with both in common open each
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

    /// Seals with `master` from now on; tokens sealed with the secret before still open until they
    /// expire. A further call drops the older secret.
    pub fn replace_master(&mut self, master: Secret) {
        self.previous = Some(std::mem::replace(&mut self.master, master));
        self.keys.clear();
    }

    /// Stops opening tokens of the secret before, at once.
    pub fn drop_previous_master(&mut self) {
        self.previous = None;
        self.keys.clear();
    }

    /// Returns the latest expiry of tokens sealed at `now`: the end of the period after the current
    /// one.
    pub(super) fn latest_expiry(&self, now: Epoch) -> Epoch {
        let periods = (now.as_unix_millis() / self.period_ms).saturating_add(2);
        Epoch::from_unix_millis(periods.saturating_mul(self.period_ms))
    }

    /// Returns the key to seal with at `now`.
    pub(super) fn current(&mut self, now: Epoch) -> Option<([u8; KEY_ID], LessSafeKey)> {
        self.rotate(now);
        let period = now.as_unix_millis() / self.period_ms;
        // Keys of the current secret are first.
        let key = self.keys.iter().find(|key| key.period == period)?;
        Some((key.id, key.cipher()?))
    }

    /// Returns the keys with that identifier that are valid at `now`. Two keys share an identifier
    /// with a probability of 2^-32; then both are tried.
    pub(super) fn find(
        &mut self,
        id: [u8; KEY_ID],
        now: Epoch,
    ) -> impl Iterator<Item = LessSafeKey> {
        self.rotate(now);
        self.keys.iter().filter(move |key| key.id == id).filter_map(Key::cipher)
    }

    /// Derives the keys of the periods around `now`, unless they are current, and wipes those of
    /// other periods.
    fn rotate(&mut self, now: Epoch) {
        let period = now.as_unix_millis() / self.period_ms;
        if self.keys.get(1).is_some_and(|key| key.period == period) {
            return;
        }
        // `current` and the check above rely on this order: the current secret first, and the
        // current period second.
        let periods = [period.saturating_sub(1), period, period.saturating_add(1)];
        self.keys = std::iter::once(&self.master)
            .chain(&self.previous)
            .flat_map(|master| periods.iter().filter_map(|&period| Key::derive(master, period)))
            .collect();
    }
}

impl fmt::Debug for KeyRing {
    /// Prints identifiers of keys, no secrets.
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
    fn servers_with_one_secret_share_keys() {
        let id = |ring: &mut KeyRing, now| ring.current(now).unwrap().0;
        assert_eq!(id(&mut ring(1), hour(10)), id(&mut ring(1), hour(10)));
        assert_ne!(id(&mut ring(1), hour(10)), id(&mut ring(2), hour(10)));
        assert_ne!(id(&mut ring(1), hour(10)), id(&mut ring(1), hour(11)));
    }

    #[test]
    fn a_key_is_valid_in_its_period_and_the_adjacent_ones() {
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
    fn the_first_and_the_last_time_have_a_key() {
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

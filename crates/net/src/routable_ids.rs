//! Connection IDs that say which server they belong to, for a balancer of UDP in front of several
//! (QUIC-LB, draft-ietf-quic-load-balancers-21): whatever address a client moves to, the balancer
//! finds its server without a table.
//!
//! One of the draft's forms is used: the server's name and a nonce fill one block of AES, and only
//! who has the key can read the name (§5.4.1, "single-pass"). The ID has 17 bytes.

use crate::tls::open_to_others;
use aes::Aes128;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Length of a connection ID, bytes: the first octet, and one block.
pub(crate) const LENGTH: usize = 1 + BLOCK;
/// A block of AES, bytes.
const BLOCK: usize = 16;
/// Length of the key, bytes.
const KEY: usize = 16;
/// Longest name of a server, bytes. The nonce has the rest: eight bytes repeat after four thousand
/// million draws, and the library draws anew for an ID that is in use.
const LONGEST: usize = 8;
/// The configuration of IDs that a balancer cannot route (§3.2 of the draft).
const UNROUTABLE: u8 = 7;

/// Makes connection IDs of one server behind a balancer. `Debug` does not show the key.
#[derive(Clone)]
pub struct RoutableIds {
    first: u8,
    server_id: Vec<u8>,
    cipher: Aes128,
}

/// Why connection IDs cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RoutableIdsError {
    /// The name of the server is none.
    #[error(
        "server ID {0:?} is invalid; allowed: 2 to {max} hexadecimal digits, two for each byte",
        max = 2 * LONGEST
    )]
    ServerId(String),
    /// So is the number of the configuration.
    #[error("CID configuration {0} is out of range; allowed: 0 to {max}", max = UNROUTABLE - 1)]
    Config(u8),
    /// The key cannot be read.
    #[error("{}: {reason}", .file.display())]
    Key {
        /// Its file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Debug for RoutableIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutableIds")
            .field("first", &self.first)
            .field("server_id", &self.server_id)
            .finish_non_exhaustive()
    }
}

impl RoutableIds {
    /// Makes IDs of the server that the balancer knows as `server_id` (hexadecimal), with the key
    /// in `key_file` (32 hexadecimal digits), of the configuration `config` (0 to 6).
    ///
    /// # Errors
    /// One of them is invalid, or others may read the key.
    pub fn from_file(
        server_id: &str,
        key_file: &Path,
        config: u8,
    ) -> Result<Self, RoutableIdsError> {
        let wrong = |reason: String| RoutableIdsError::Key { file: key_file.to_owned(), reason };
        let open = std::fs::File::open(key_file).map_err(|error| wrong(error.to_string()))?;
        let metadata = open.metadata().map_err(|error| wrong(error.to_string()))?;
        let mut text = String::new();
        // A longer file is not a key.
        open.take(4 * KEY as u64)
            .read_to_string(&mut text)
            .map_err(|error| wrong(error.to_string()))?;
        let key = bytes(text.trim()).and_then(|key| <[u8; KEY]>::try_from(key).ok());
        let key = key.ok_or_else(|| {
            wrong("the file does not hold a key; expected: 32 hexadecimal digits".to_owned())
        })?;
        if let Some(why) = open_to_others(&metadata) {
            return Err(wrong(format!("{why} (chmod 600 {})", key_file.display())));
        }
        Self::new(server_id, key, config)
    }

    fn new(server_id: &str, key: [u8; KEY], config: u8) -> Result<Self, RoutableIdsError> {
        if config >= UNROUTABLE {
            return Err(RoutableIdsError::Config(config));
        }
        let name = bytes(server_id).filter(|name| (1..=LONGEST).contains(&name.len()));
        let name = name.ok_or_else(|| RoutableIdsError::ServerId(server_id.to_owned()))?;
        // The low bits say the length, for balancers that want it (§3.3).
        let first = (config << 5) | BLOCK as u8;
        Ok(Self { first, server_id: name, cipher: Aes128::new(&GenericArray::from(key)) })
    }

    /// Returns the ID with this nonce, of which the server's name replaces the first bytes.
    pub(crate) fn id(&self, nonce: [u8; BLOCK]) -> [u8; LENGTH] {
        let mut block = nonce;
        for (byte, name) in block.iter_mut().zip(&self.server_id) {
            *byte = *name;
        }
        let mut block = GenericArray::from(block);
        self.cipher.encrypt_block(&mut block);
        let mut id = [self.first; LENGTH];
        if let Some(rest) = id.last_chunk_mut() {
            *rest = block.into();
        }
        id
    }

    /// Returns the name of the server in an ID, or `None` if it is of another configuration: what a
    /// balancer does with the same key.
    pub fn server_of(&self, id: &[u8]) -> Option<Vec<u8>> {
        let (first, rest) = id.split_first()?;
        if first >> 5 != self.first >> 5 {
            return None;
        }
        let mut block = GenericArray::from(*rest.first_chunk::<BLOCK>()?);
        self.cipher.decrypt_block(&mut block);
        block.get(..self.server_id.len()).map(<[u8]>::to_vec)
    }
}

/// Returns the bytes of a text of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.as_chunks::<2>();
    pairs.1.is_empty().then(|| pairs.0.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const KEY_TEXT: &str = "8f95f09245765f80256934e50c66207f";

    fn key() -> [u8; KEY] {
        bytes(KEY_TEXT).unwrap().try_into().unwrap()
    }

    #[test]
    fn an_id_is_that_of_the_drafts_vector() {
        // Appendix B.2, the row whose lengths add up to a block.
        let ids = RoutableIds::new("ed793a51d49b8f5f", key(), 2).unwrap();
        let mut nonce = [0; BLOCK];
        nonce[8..].copy_from_slice(&bytes("ee080dbf48c0d1e5").unwrap());
        let id = ids.id(nonce);
        assert_eq!(id.to_vec(), bytes("504dd2d05a7b0de9b2b9907afb5ecf8cc3").unwrap());
        assert_eq!(ids.server_of(&id), bytes("ed793a51d49b8f5f"));
        // Of another configuration, and too short.
        let other = RoutableIds::new("ed", key(), 0).unwrap();
        assert_eq!((other.server_of(&id), ids.server_of(&id[..16])), (None, None));
    }

    #[test]
    fn names_numbers_and_keys_that_are_none_are_refused_with_the_remedy() {
        let refused =
            |name: &str, config| RoutableIds::new(name, key(), config).unwrap_err().to_string();
        for name in ["", "a", "0g", "ed793a51d49b8f5fab"] {
            let error = refused(name, 0);
            assert!(error.contains("allowed: 2 to 16 hexadecimal digits"), "{error}");
        }
        assert_eq!(refused("ed", 7), "CID configuration 7 is out of range; allowed: 0 to 6");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        let from = || RoutableIds::from_file("ed", &file, 0).map_err(|error| error.to_string());
        assert!(from().unwrap_err().contains("No such file"));
        fs::write(&file, format!("{KEY_TEXT}00")).unwrap();
        assert!(from().unwrap_err().contains("expected: 32 hexadecimal digits"));
        fs::write(&file, format!("{KEY_TEXT}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(from().unwrap_err().contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(!format!("{:?}", from().unwrap()).contains("8f"));
    }
}

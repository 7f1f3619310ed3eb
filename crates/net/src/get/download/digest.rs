//! Digests of a file or of a response's content (RFC 9530), checked against the file on disk.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use ring::digest::{Algorithm, Context, SHA256, SHA512};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The algorithms of RFC 9530 §5 that protect against attackers, the stronger one first.
const ALGORITHMS: [(&str, &Algorithm); 2] = [("sha-512", &SHA512), ("sha-256", &SHA256)];
/// Size of a read, bytes.
const CHUNK: usize = 256 * 1024;

/// The digest in a field.
#[derive(Debug)]
struct Expected {
    field: &'static str,
    name: &'static str,
    algorithm: &'static Algorithm,
    value: Vec<u8>,
    /// Whether it covers only the response's content instead of the whole file.
    content_only: bool,
}

/// The digests in a response's header or trailers, at most one of each kind.
#[derive(Debug)]
pub(super) struct Digests(Vec<Expected>);

impl Digests {
    /// Reads both fields. Malformed digests and unknown algorithms are ignored (RFC 9530 §6.6).
    pub fn new(headers: &HeaderMap, trailers: Option<&HeaderMap>) -> Self {
        let sections = || std::iter::once(headers).chain(trailers);
        let find = |(field, content_only)| {
            sections().find_map(|section| {
                let (name, algorithm, value) = strongest(section, field)?;
                Some(Expected { field, name, algorithm, value, content_only })
            })
        };
        Self(
            [("repr-digest", false), ("content-digest", true)]
                .into_iter()
                .filter_map(find)
                .collect(),
        )
    }

    /// Reads the file and returns an error text for a mismatch. The content began at byte `begin`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn check(&self, mut file: &File, begin: u64) -> io::Result<Option<String>> {
        for Expected { field, name, algorithm, value, content_only } in &self.0 {
            file.seek(SeekFrom::Start(if *content_only { begin } else { 0 }))?;
            let mut context = Context::new(algorithm);
            let mut chunk = vec![0; CHUNK];
            loop {
                match file.read(&mut chunk)? {
                    0 => break,
                    length => context.update(&chunk[..length]),
                }
            }
            let found = context.finish();
            if found.as_ref() != value {
                let (found, value) = (STANDARD.encode(found), STANDARD.encode(value));
                return Ok(Some(format!(
                    "the {name} of the received data is {found}, but {field} is {value}; the data \
                     is discarded"
                )));
            }
        }
        Ok(None)
    }
}

/// Returns the strongest known digest in a field, a dictionary of byte sequences (RFC 8941 §3.2,
/// §3.3.5).
fn strongest(
    section: &HeaderMap,
    field: &str,
) -> Option<(&'static str, &'static Algorithm, Vec<u8>)> {
    let lines = section.get_all(field);
    let members: Vec<_> = lines
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .collect();
    ALGORITHMS.into_iter().find_map(|(name, algorithm)| {
        // The last member of a name counts.
        let (_, value) = members
            .iter()
            .rev()
            .filter_map(|member| member.split_once('='))
            .find(|(key, _)| key.trim() == name)?;
        let encoded =
            value.trim().split(';').next()?.trim_end().strip_prefix(':')?.strip_suffix(':')?;
        let value =
            STANDARD.decode(encoded).ok().filter(|value| value.len() == algorithm.output_len())?;
        Some((name, algorithm, value))
    })
}

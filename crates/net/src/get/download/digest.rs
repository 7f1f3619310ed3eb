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

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;
    use ring::digest::digest;
    use std::io::Write;

    fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        fields.iter().map(field).collect()
    }

    fn of(name: &str, algorithm: &'static Algorithm, content: &[u8]) -> String {
        format!("{name}=:{}:", STANDARD.encode(digest(algorithm, content)))
    }

    /// Checks a file against a header, and against the same fields in trailers.
    fn check(content: &[u8], begin: u64, given: &[(&'static str, &str)]) -> Option<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let (given, none) = (fields(given), HeaderMap::new());
        let [header, trailers] = [Digests::new(&given, None), Digests::new(&none, Some(&given))]
            .map(|digests| digests.check(&file, begin).unwrap());
        assert_eq!(header, trailers);
        header
    }

    #[test]
    fn the_whole_file_and_the_content_are_checked_apart() {
        // Longer than one read.
        let file: Vec<u8> = (0..CHUNK + 1000).map(|index| (index % 251) as u8).collect();
        let [whole, rest, part] = [&file[..], &file[1000..], &file[..CHUNK]]
            .map(|content| of("sha-256", &SHA256, content));
        assert_eq!(check(&file, 1000, &[("repr-digest", &whole)]), None);
        assert_eq!(check(&file, 1000, &[("content-digest", &rest)]), None);
        assert_eq!(check(&file, 1000, &[("repr-digest", &whole), ("content-digest", &rest)]), None);
        assert_eq!(check(&file, 0, &[("content-digest", &whole)]), None);
        for (field, value) in [
            ("repr-digest", &rest),
            ("repr-digest", &part),
            ("content-digest", &whole),
            ("content-digest", &part),
        ] {
            let mismatch = check(&file, 1000, &[(field, value)]).unwrap();
            assert!(mismatch.contains("sha-256") && mismatch.contains(field), "{mismatch}");
        }
    }

    #[test]
    fn the_strongest_known_digest_counts_and_malformed_ones_do_not() {
        let (right, wrong) = (&b"content"[..], &b"other"[..]);
        let [right256, wrong256] = [right, wrong].map(|content| of("sha-256", &SHA256, content));
        let [right512, wrong512] = [right, wrong].map(|content| of("sha-512", &SHA512, content));
        let checked = |value: &str| check(right, 0, &[("repr-digest", value)]);
        for accepted in [
            &format!("{wrong256}, {right512}"),
            &format!("{right512},{wrong256}"),
            // The last member of a name counts.
            &format!("{wrong256}, {right256}"),
            &format!("{right256};q=1, unixsum=:AAAA:"),
            // These are ignored.
            &wrong256.replace("=:", "="),
            &wrong256[..wrong256.len() - 1],
            &wrong512.replace("sha-512", "sha-256"),
            "sha-256=:AAAA:",
            "sha-256",
        ] as [&str; 9]
        {
            assert_eq!(checked(accepted), None, "{accepted}");
        }
        for refused in [&wrong256, &format!("{right256}, {wrong512}"), &format!("x=1, {wrong256}")]
        {
            assert!(checked(refused).is_some(), "{refused}");
        }
    }
}

//! What a file is that is none of those that can be read.

use crate::json::without_preface;

/// How kinds of files begin: the offset, the bytes, and what it is.
const KINDS: [(usize, &[u8], &str); 25] = [
    (0, b"\x7fELF", "a program (ELF)"),
    (0, b"MZ", "a program of Windows"),
    (0, b"%PDF", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive: extract the capture first"),
    (0, b"\xfd7zXZ\0", "compressed with xz: decompress it first (`xz -d`)"),
    (0, b"BZh", "compressed with bzip2: decompress it first (`bzip2 -d`)"),
    (0, b"\x04\x22\x4d\x18", "compressed with LZ4: decompress it first (`lz4 -d`)"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: extract the capture first"),
    (0, b"\x1f\x8b", "compressed twice with gzip: decompress it first (`gzip -d`)"),
    (0, b"\x28\xb5\x2f\xfd", "compressed twice with Zstandard: decompress it first (`zstd -d`)"),
    (257, b"ustar", "a tar archive: extract the capture first"),
    (0, b"snoop\0\0\0", "a capture of snoop: convert it (`editcap -F pcapng IN OUT`)"),
    (0, b"GMBU", "a capture of Microsoft Network Monitor: convert it (`editcap -F pcapng IN OUT`)"),
    (0, b"RTSS", "a capture of Microsoft Network Monitor: convert it (`editcap -F pcapng IN OUT`)"),
    (0, b"TRSNIFF data", "a capture of Sniffer: convert it (`editcap -F pcapng IN OUT`)"),
    (0, b"XCP\0", "a capture of NetXRay: convert it (`editcap -F pcapng IN OUT`)"),
    (0, b"\x89PNG", "a picture (PNG)"),
    (0, b"GIF8", "a picture (GIF)"),
    (0, b"\xff\xd8\xff", "a picture (JPEG)"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"PAR1", "an Apache Parquet file"),
    (0, b"<!DOCTYPE", "an HTML page"),
    (0, b"<html", "an HTML page"),
    (0, b"<?xml", "an XML document"),
    (0, b"version https://git-lfs", "a pointer of Git LFS: fetch the file itself (`git lfs pull`)"),
];
/// How lines of a key log begin (the format of `SSLKEYLOGFILE`).
const KEY_LABELS: [&[u8]; 5] = [
    b"CLIENT_RANDOM ",
    b"CLIENT_HANDSHAKE_TRAFFIC_SECRET ",
    b"SERVER_HANDSHAKE_TRAFFIC_SECRET ",
    b"CLIENT_TRAFFIC_SECRET_0 ",
    b"SERVER_TRAFFIC_SECRET_0 ",
];
/// How lines of a scenario begin.
const TABLES: [&[u8]; 6] =
    [b"[path]", b"[path.", b"[workload]", b"[[flow]]", b"[[variant]]", b"[defaults]"];
/// Bytes that are looked at to tell text.
const LOOK: usize = 4096;

/// Returns what a file looks like that is neither a capture nor JSON; `None` if nothing is known.
pub fn describe(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("empty");
    }
    let begins =
        |at: usize, with: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(with));
    let known = KINDS.iter().find(|(at, with, _)| begins(*at, with));
    known.map(|(_, _, what)| *what).or_else(|| {
        let first = without_preface(bytes).first().copied().unwrap_or_default();
        let may_be_json = matches!(first, b'{' | b'[' | 0x1e);
        let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        let look = bytes.get(..LOOK).unwrap_or(bytes);
        let any_line = |starts: &[&[u8]]| {
            let mut lines = look.split(|byte| *byte == b'\n');
            lines.any(|line| starts.iter().any(|start| line.starts_with(start)))
        };
        if may_be_json {
            None
        } else if any_line(&KEY_LABELS) {
            Some("a key log: name the capture, and this file with `--keys`")
        } else if any_line(&TABLES) {
            Some("a scenario: `bentpipe run` runs it, and its report says where the time went")
        } else if look.iter().all(is_text) {
            Some("text, but not JSON")
        } else {
            Some("of an unknown kind")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_how_they_begin() {
        let tar = [&[0; 257][..], b"ustar", &[0; 250]].concat();
        for (bytes, words) in [
            (&b""[..], "empty"),
            (b"\x7fELF\x02\x01", "program"),
            (b"%PDF-1.7", "PDF"),
            (b"PK\x03\x04\x14", "ZIP"),
            (&tar, "tar"),
            (b"Where did the time go?\n", "text"),
            (b"# secrets\nCLIENT_RANDOM 00ff 00ff\n", "--keys"),
            (b"name = \"mine\"\n[path]\nrtt = \"600 ms\"\n", "bentpipe run"),
            ("Grüße".as_bytes(), "text"),
            (b"\0\x01\x02", "unknown"),
        ] {
            assert!(describe(bytes).is_some_and(|what| what.contains(words)), "{words}");
        }
        assert_eq!(describe(b" {\"a\": 1"), None);
        assert_eq!(describe(b"\x1e{}"), None);
    }
}

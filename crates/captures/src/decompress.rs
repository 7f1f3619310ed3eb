//! Compressed files: gzip (RFC 1952) and Zstandard (RFC 8878).

use crate::error::CaptureError;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read};

const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The upper 28 bits of the number at the start of a frame without data.
const ZSTD_SKIPPED: u32 = 0x184d_2a50;

/// Returns the content of a compressed file, of at most `limit` bytes, and other files as they are.
/// Of a damaged or unfinished file, what is before counts.
///
/// # Errors
/// It has more, or nothing of it can be decompressed.
pub fn decompressed(bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, CaptureError> {
    let mut content = Vec::new();
    let result = if bytes.starts_with(&GZIP) {
        up_to(MultiGzDecoder::new(&bytes[..]), limit, &mut content)
    } else if bytes.starts_with(&ZSTD) || skipped(&bytes).is_some() {
        zstd(&bytes, limit, &mut content)
    } else {
        return Ok(bytes);
    };
    if content.len() as u64 > limit {
        return Err(CaptureError::TooLargeDecompressed { limit });
    }
    match result {
        Err(error) if content.is_empty() => Err(error.into()),
        _ => Ok(content),
    }
}

/// Reads one byte more than `limit` at most.
fn up_to(source: impl Read, limit: u64, content: &mut Vec<u8>) -> io::Result<()> {
    let left = (limit + 1).saturating_sub(content.len() as u64);
    source.take(left).read_to_end(content).map(|_| ())
}

/// Reads the frames of a file.
fn zstd(mut bytes: &[u8], limit: u64, content: &mut Vec<u8>) -> io::Result<()> {
    while !bytes.is_empty() && content.len() as u64 <= limit {
        if let Some(length) = skipped(bytes) {
            bytes = bytes.get(length..).unwrap_or_default();
            continue;
        }
        let decoder = StreamingDecoder::new(&mut bytes).map_err(io::Error::other)?;
        up_to(decoder, limit, content)?;
    }
    Ok(())
}

/// Returns the length of a frame without data.
fn skipped(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let length = number(4)? as usize;
    (number(0)? & !0xf == ZSTD_SKIPPED).then(|| length.saturating_add(8))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    #[test]
    fn several_members_are_one_file() {
        for compress in [gzip, zstd] {
            let joined = [compress(b"one, "), compress(b"two")].concat();
            assert_eq!(decompressed(joined, 8).unwrap(), b"one, two");
        }
        let frame = [&0x184d_2a53_u32.to_le_bytes()[..], &[3, 0, 0, 0, 1, 2, 3]].concat();
        let joined = [&frame[..], &zstd(b"one"), &frame].concat();
        assert_eq!(decompressed(joined, 8).unwrap(), b"one");
        assert_eq!(decompressed(b"plain".to_vec(), 8).unwrap(), b"plain");
    }

    #[test]
    fn a_file_that_grows_beyond_the_limit_is_refused() {
        for compress in [gzip, zstd] {
            let bomb = compress(&vec![0; 4_000_000]);
            assert!(bomb.len() < 100_000);
            assert_eq!(decompressed(bomb.clone(), 4_000_000).unwrap().len(), 4_000_000);
            let error = decompressed(bomb, 3_999_999).unwrap_err().to_string();
            assert!(error.contains("3999999"), "{error}");
        }
    }

    #[test]
    fn what_is_before_a_cut_counts() {
        // Numbers do not repeat, so that they are in several blocks.
        let numbers: Vec<u8> = (0..400_000_u32)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        for compress in [gzip, zstd] {
            let whole = compress(&numbers);
            let cut = decompressed(whole[..whole.len() / 2].to_vec(), 10_000_000).unwrap();
            assert!(cut.len() > 500_000 && numbers.starts_with(&cut), "{}", cut.len());
            assert!(decompressed(whole[..9].to_vec(), 10_000_000).is_err());
        }
    }

    proptest! {
        #[test]
        fn hostile_files_are_read_or_refused(
            which in any::<bool>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut bytes = if which { gzip(&[7; 4000]) } else { zstd(&[7; 4000]) };
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(content) = decompressed(bytes, 10_000) {
                prop_assert!(content.len() <= 10_000);
            }
        }
    }
}

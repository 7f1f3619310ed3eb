//! The bytes of a file or of standard input.

use crate::error::CaptureError;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Largest file, in bytes: a transfer of about 200 MB.
pub const MAX_SIZE: u64 = 512 * 1024 * 1024;
/// Largest key log, in bytes.
pub const MAX_KEYS: u64 = 16 * 1024 * 1024;

/// Reads a file of at most `limit` bytes; `-` is standard input.
///
/// # Errors
/// It cannot be read, is too large, or is neither a regular file nor a pipe.
pub fn content(path: &Path, limit: u64) -> Result<Vec<u8>, CaptureError> {
    if path == Path::new("-") {
        let input = io::stdin();
        if input.is_terminal() {
            return Err(invalid("standard input is a terminal").into());
        }
        return limited(input.lock(), limit);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() && !is_pipe(&metadata) {
        return Err(invalid("neither a regular file nor a pipe").into());
    }
    if metadata.is_file() && metadata.len() > limit {
        return Err(CaptureError::TooLarge { size: Some(metadata.len()), limit });
    }
    limited(file, limit)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

fn limited(source: impl Read, limit: u64) -> Result<Vec<u8>, CaptureError> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(CaptureError::TooLarge { size: None, limit });
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_refused() {
        assert_eq!(limited(&[7; 10][..], 10).unwrap(), [7; 10]);
        let error = limited(io::repeat(7), 10).unwrap_err();
        assert!(matches!(error, CaptureError::TooLarge { size: None, limit: 10 }), "{error}");
    }

    #[test]
    fn directories_are_refused() {
        let error = content(Path::new("/"), 10).unwrap_err().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
}

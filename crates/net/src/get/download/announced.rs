//! What a response's head announces: which bytes of the file follow, and of which version.

use super::error::DownloadError;
use super::partial_file::{Record, Resume};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName};
use http::{Response, StatusCode, Uri};

/// The announced part of a file, in bytes of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Announced {
    /// The first byte of the content.
    pub begin: u64,
    /// The byte after the last one of the content, if known.
    pub end: Option<u64>,
    /// The length of the file, if known.
    pub total: Option<u64>,
    /// The strong entity tag.
    etag: Option<String>,
}

impl Announced {
    /// Reads the head of a response with the whole file.
    ///
    /// # Errors
    /// A status other than 200, or an invalid or ambiguous length.
    pub fn whole(url: &Uri, head: &Response<()>) -> Result<Self, DownloadError> {
        if head.status() != StatusCode::OK {
            return Err(DownloadError::Status { url: url.to_string(), status: head.status() });
        }
        let length = content_length(head.headers())
            .map_err(|reason| DownloadError::response(url, reason))?;
        Ok(Self { begin: 0, end: length, total: length, etag: strong_etag(head.headers()) })
    }

    /// Reads the head of a response with a part of the file (206). `None` if it does not continue
    /// the partial file: another or no entity tag (RFC 9110 §15.3.7 requires it), another or
    /// unknown length, or another first byte than requested.
    pub fn rest(head: &Response<()>, resume: &Resume) -> Option<Self> {
        let (first, last, total) = content_range(single(head.headers(), CONTENT_RANGE)?)?;
        let etag = strong_etag(head.headers())?;
        let length = content_length(head.headers()).ok()?;
        let fits = first == resume.at
            && etag == resume.record.etag
            && resume.record.length.is_none_or(|recorded| recorded == total)
            && length.is_none_or(|length| length == last - first + 1);
        fits.then_some(Self {
            begin: first,
            end: Some(last + 1),
            total: Some(total),
            etag: Some(etag),
        })
    }

    /// Returns what a later download needs to resume this one. `None` without a strong entity tag,
    /// which alone identifies the version (RFC 9110 §13.1.5).
    pub fn record(&self, url: &Uri, location: &Uri) -> Option<Record> {
        let etag = self.etag.clone()?;
        let (url, location) = (url.to_string(), location.to_string());
        Some(Record { url, location, etag, length: self.total })
    }

    /// Checks that `have` bytes are the whole file as announced.
    ///
    /// # Errors
    /// They are not.
    pub fn check_complete(&self, url: &Uri, have: u64) -> Result<(), DownloadError> {
        let reason = match (self.end, self.total) {
            (Some(end), _) if have != end => format!("received {have} bytes; {end} were announced"),
            (_, Some(total)) if have != total => {
                format!(
                    "the server sent a part that ends at byte {have} of {total}; run the same \
                     command again to resume there"
                )
            }
            _ => return Ok(()),
        };
        Err(DownloadError::response(url, reason))
    }

    /// Returns the error for content beyond the announced end.
    pub fn too_much(&self, url: &Uri) -> DownloadError {
        let end = self.end.unwrap_or(u64::MAX);
        DownloadError::response(url, format!("received more than the {end} announced bytes"))
    }
}

/// Returns the value of a field that must occur once.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

fn strong_etag(headers: &HeaderMap) -> Option<String> {
    single(headers, ETAG).filter(|etag| etag.starts_with('"')).map(str::to_owned)
}

/// Reads `Content-Length`. Repeated values must be equal (RFC 9110 §8.6).
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, String> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for text in value.to_str().unwrap_or("unreadable").split(',').map(str::trim) {
            let wrong = || format!("`{text}` is not a content length; allowed: a number of bytes");
            // `parse` accepts a sign.
            let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let number: u64 = digits.and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
            if let Some(other) = length.replace(number).filter(|other| *other != number) {
                return Err(format!("two content lengths: {other} and {number}"));
            }
        }
    }
    Ok(length)
}

/// Reads first byte, last byte and length of the file from `bytes FIRST-LAST/LENGTH` (RFC 9110
/// §14.4). `None` if the length is unknown.
fn content_range(value: &str) -> Option<(u64, u64, u64)> {
    let (range, length) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, length): (u64, u64, u64) =
        (first.parse().ok()?, last.parse().ok()?, length.parse().ok()?);
    (first <= last && last < length).then_some((first, last, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_or_refused() {
        assert_eq!(content_range("bytes 100-199/200"), Some((100, 199, 200)));
        assert_eq!(content_range("bytes 0-0/1"), Some((0, 0, 1)));
        for wrong in [
            "bytes 100-99/200",
            "bytes 0-200/200",
            "bytes */200",
            "bytes 0-0/*",
            "100-199/200",
            "bytes 1-2",
            "",
        ] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_length_is_one_number() {
        let length = |values: &[&str]| {
            let field = |value: &&str| (CONTENT_LENGTH, value.parse().unwrap());
            content_length(&values.iter().map(field).collect())
        };
        assert_eq!(length(&[]), Ok(None));
        for same in [&["7"][..], &["7", "7"], &["7, 7"]] {
            assert_eq!(length(same), Ok(Some(7)), "{same:?}");
        }
        for (wrong, named) in [
            (&["7", "8"][..], "8"),
            (&["7, 8"], "8"),
            (&["-5"], "`-5`"),
            (&["+5"], "`+5`"),
            (&["7,"], "``"),
        ] {
            assert!(length(wrong).is_err_and(|reason| reason.contains(named)), "{wrong:?}");
        }
    }
}

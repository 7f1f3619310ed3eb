//! What a response's head says of its content: where in the file it begins and ends, and of which
//! version.

use super::DownloadError;
use super::partial_file::{Record, Resume};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName};
use http::{Response, StatusCode, Uri};

/// What was announced, in bytes of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Announced {
    /// The first byte of the content.
    pub begin: u64,
    /// One beyond its last byte, if that is known.
    pub end: Option<u64>,
    /// The length of the file, if that is known.
    pub total: Option<u64>,
    /// The strong entity tag.
    etag: Option<String>,
}

impl Announced {
    /// Reads the head of a response that has the whole file.
    ///
    /// # Errors
    /// Another status than 200; a length that is no number, or several.
    pub fn whole(url: &Uri, head: &Response<()>) -> Result<Self, DownloadError> {
        if head.status() != StatusCode::OK {
            return Err(DownloadError::Status { url: url.to_string(), status: head.status() });
        }
        let length =
            content_length(head.headers()).map_err(|reason| DownloadError::answer(url, reason))?;
        Ok(Self { begin: 0, end: length, total: length, etag: strong_etag(head.headers()) })
    }

    /// Reads the head of a response with a part of the file (206). `None` if that does not continue
    /// what is there: of another version or of none that is named (RFC 9110 §15.3.7 wants the entity
    /// tag), of another length or of none that is known, or not from the byte that was asked for.
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

    /// What a later download needs to resume this one. `None` without a strong entity tag, since only
    /// that can tell that it is the same file (RFC 9110 §13.1.5).
    pub fn record(&self, url: &Uri) -> Option<Record> {
        let etag = self.etag.clone()?;
        Some(Record { url: url.to_string(), etag, length: self.total })
    }

    /// Compares the bytes that are there with what was announced.
    ///
    /// # Errors
    /// They are others.
    pub fn complete(&self, url: &Uri, have: u64) -> Result<(), DownloadError> {
        let reason = match (self.end, self.total) {
            (Some(end), _) if have != end => format!("{have} bytes, announced: {end}"),
            (_, Some(total)) if have != total => {
                format!(
                    "the server sent a part that ends at byte {have} of {total}; the same command \
                        resumes there"
                )
            }
            _ => return Ok(()),
        };
        Err(DownloadError::answer(url, reason))
    }

    /// The error for content that goes on beyond its end.
    pub fn too_much(&self, url: &Uri) -> DownloadError {
        let end = self.end.unwrap_or(u64::MAX);
        DownloadError::answer(url, format!("more than the {end} bytes that were announced"))
    }
}

/// The value of a field that has to stand alone.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

fn strong_etag(headers: &HeaderMap) -> Option<String> {
    single(headers, ETAG).filter(|etag| etag.starts_with('"')).map(str::to_owned)
}

/// `Content-Length`. Several are fine if they agree (RFC 9110 §8.6).
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, String> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for text in value.to_str().unwrap_or("unreadable").split(',').map(str::trim) {
            let wrong = || format!("`{text}` is no length of content");
            // A number may have a sign, a length may not.
            let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let number: u64 = digits.and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
            if let Some(other) = length.replace(number).filter(|other| *other != number) {
                return Err(format!("two lengths of content: {other} and {number}"));
            }
        }
    }
    Ok(length)
}

/// First byte, last byte and whole length of `bytes FIRST-LAST/LENGTH` (RFC 9110 §14.4). `None` for
/// an unknown length too.
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

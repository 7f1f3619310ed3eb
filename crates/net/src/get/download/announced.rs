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
            && resume.record.etag.as_ref() == Some(&etag)
            && resume.record.length.is_none_or(|recorded| recorded == total)
            && length.is_none_or(|length| length == last - first + 1);
        fits.then_some(Self {
            begin: first,
            end: Some(last + 1),
            total: Some(total),
            etag: Some(etag),
        })
    }

    /// Returns what a later download needs to resume this one.
    pub fn record(&self, url: &Uri, location: &Uri) -> Record {
        let (url, location) = (url.to_string(), location.to_string());
        Record { url, location, etag: self.etag.clone(), length: self.total }
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

    fn head(status: u16, fields: &[(HeaderName, &str)]) -> Response<()> {
        let mut head = Response::builder().status(status).body(()).unwrap();
        for (name, value) in fields {
            head.headers_mut().append(name, value.parse().unwrap());
        }
        head
    }

    fn url() -> Uri {
        Uri::from_static("https://server.test/file")
    }

    #[test]
    fn a_whole_file_is_recorded_if_its_version_has_a_strong_tag() {
        let whole = Announced::whole(&url(), &head(200, &[(CONTENT_LENGTH, "7"), (ETAG, "\"v\"")]));
        let whole = whole.unwrap();
        assert_eq!((whole.begin, whole.end, whole.total), (0, Some(7), Some(7)));
        let elsewhere = Uri::from_static("https://server.test/mirror");
        let record = whole.record(&url(), &elsewhere);
        assert_eq!(record.url, "https://server.test/file");
        assert_eq!(record.location, "https://server.test/mirror");
        assert_eq!((record.etag.as_deref(), record.length), (Some("\"v\""), Some(7)));
        for fields in [&[][..], &[(ETAG, "W/\"v\"")], &[(ETAG, "\"v\""), (ETAG, "\"w\"")]] {
            let whole = Announced::whole(&url(), &head(200, fields)).unwrap();
            assert_eq!((whole.end, whole.total), (None, None));
            assert_eq!(whole.record(&url(), &url()).etag, None, "{fields:?}");
        }
        for (status, fields) in [(206, &[][..]), (404, &[]), (200, &[(CONTENT_LENGTH, "x")])] {
            assert!(Announced::whole(&url(), &head(status, fields)).is_err(), "{status}");
        }
    }

    #[test]
    fn a_part_continues_the_file_or_is_none() {
        let record = |length| {
            let (url, etag) = (url().to_string(), Some("\"v\"".to_owned()));
            Record { url: url.clone(), location: url, etag, length }
        };
        let rest = |fields: &[(HeaderName, &str)], length| {
            Announced::rest(&head(206, fields), &Resume::new(3, record(length)).unwrap())
        };
        let range = (CONTENT_RANGE, "bytes 3-6/7");
        let tag = (ETAG, "\"v\"");
        for (fields, length) in [
            (&[range.clone(), tag.clone()][..], Some(7)),
            (&[range.clone(), tag.clone()], None),
            (&[range.clone(), tag.clone(), (CONTENT_LENGTH, "4")], Some(7)),
        ] {
            let rest = rest(fields, length).unwrap();
            assert_eq!((rest.begin, rest.end, rest.total), (3, Some(7), Some(7)));
            assert_eq!(rest.record(&url(), &url()), record(Some(7)));
        }
        for (why, fields) in [
            ("another length", &[range.clone(), tag.clone(), (CONTENT_LENGTH, "5")][..]),
            (
                "two lengths",
                &[range.clone(), tag.clone(), (CONTENT_LENGTH, "4"), (CONTENT_LENGTH, "5")],
            ),
            ("another first byte", &[(CONTENT_RANGE, "bytes 2-6/7"), tag.clone()]),
            ("another file", &[(CONTENT_RANGE, "bytes 3-6/8"), tag.clone()]),
            ("another version", &[range.clone(), (ETAG, "\"w\"")]),
            ("no version", std::slice::from_ref(&range)),
            ("two ranges", &[range.clone(), range.clone(), tag.clone()]),
        ] {
            assert_eq!(rest(fields, Some(7)), None, "{why}");
        }
    }

    #[test]
    fn a_file_is_complete_at_its_announced_end_only() {
        let announced = |end, total| Announced { begin: 0, end, total, etag: None };
        let checked = |end, total, have| {
            let checked = announced(end, total).check_complete(&url(), have);
            checked.map_err(|error| error.to_string())
        };
        for (end, total, have) in
            [(None, None, 5), (Some(7), Some(7), 7), (None, Some(7), 7), (Some(7), None, 7)]
        {
            assert_eq!(checked(end, total, have), Ok(()), "{end:?} {total:?} {have}");
        }
        for have in [6, 8] {
            let named = format!("received {have} bytes; 7 were announced");
            assert!(checked(Some(7), Some(7), have).unwrap_err().contains(&named));
            assert!(checked(None, Some(7), have).unwrap_err().contains(&format!("{have} of 7")));
        }
        let part = checked(Some(5), Some(7), 5).unwrap_err();
        assert!(part.contains("ends at byte 5 of 7"), "{part}");
        let more = announced(Some(7), Some(7)).too_much(&url()).to_string();
        assert!(more.contains("https://server.test/file") && more.contains("the 7 announced"));
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

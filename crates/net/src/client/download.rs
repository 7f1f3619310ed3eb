//! A download into a file, which goes on where an earlier one ended.

use super::{Client, ClientError, Response, Timings};
use crate::path_report::PathReport;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_RANGE, RANGE, TE};
use http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio::task::spawn_blocking;

/// Why a download has not ended. What has arrived is kept beside the file, for the next time.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// No answer, or not all of it.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server's answer is not the file.
    #[error("{url}: the server says {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// What was answered.
        status: StatusCode,
    },
    /// The server's answer contradicts itself.
    #[error("{url}: {reason}")]
    Answer {
        /// What was asked for.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be written.
    #[error("{}: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What to download, and where to.
#[derive(Debug, Clone)]
pub struct Download {
    /// The URL.
    pub url: Uri,
    /// The file. Until all is there, it is beside it, with `.part` at the end of its name, and `.part.json` for what is needed to go on.
    pub file: PathBuf,
}

/// How a download went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes of the file.
    pub bytes: u64,
    /// Of those, what was there already.
    pub resumed_at: u64,
    /// When what happened.
    pub timings: Timings,
    /// What the server did with what it remembered of the path, where it says so.
    pub path: Option<PathReport>,
}

/// What is needed to go on.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Mark {
    url: String,
    etag: String,
}

impl Download {
    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(end);
        name.into()
    }

    /// How much there is of what version, where it can go on: a strong entity tag must tell that it is the same file (RFC 9110 §13.1.5).
    fn kept(&self, part: &Path) -> Option<(u64, Mark)> {
        let mark: Mark = serde_json::from_slice(&std::fs::read(self.beside(".part.json")).ok()?).ok()?;
        let length = std::fs::metadata(part).ok().filter(std::fs::Metadata::is_file)?.len();
        (mark.url == self.url.to_string() && length > 0).then_some((length, mark))
    }
}

/// Downloads, and tells `progress` how much of what is there, as often as something comes. Where an earlier download of the same version of the
/// same URL ended before its end, only the rest is asked for.
///
/// # Errors
/// Whatever keeps the file from being complete. What has arrived stays.
pub async fn download(
    client: &Client,
    what: &Download,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let part = what.beside(".part");
    let wrong = |file: &Path| {
        let file = file.to_owned();
        move |source| DownloadError::File { file, source }
    };
    let kept = what.kept(&part);
    let mut headers = request_headers();
    if let Some((length, mark)) = &kept
        && let (Ok(range), Ok(etag)) = (format!("bytes={length}-").parse(), mark.etag.parse::<HeaderValue>())
    {
        headers.insert(RANGE, range);
        headers.insert(IF_RANGE, etag);
    }
    let mut response = client.get(&what.url, &headers).await?;
    if response.head.status() == StatusCode::RANGE_NOT_SATISFIABLE && kept.is_some() {
        // What is there is not the beginning of what the server has.
        response = client.get(&what.url, &request_headers()).await?;
    }
    let answer = |reason: String| DownloadError::Answer { url: what.url.to_string(), reason };
    let (begin, total) = match (response.head.status(), &kept) {
        (StatusCode::OK, _) => (0, number(response.head.headers(), CONTENT_LENGTH)),
        (StatusCode::PARTIAL_CONTENT, Some((length, _))) => {
            let range = response.head.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
            let (first, total) =
                range.and_then(content_range).ok_or_else(|| answer("a part without its range".to_owned()))?;
            if first != *length {
                return Err(answer(format!("a part from byte {first}, asked for: {length}")));
            }
            (first, total)
        }
        (status, _) => return Err(DownloadError::Status { url: what.url.to_string(), status }),
    };
    let etag = response.head.headers().get(ETAG).and_then(|etag| etag.to_str().ok());
    let mark = match etag.filter(|etag| etag.starts_with('"')) {
        Some(etag) => serde_json::to_vec(&Mark { url: what.url.to_string(), etag: etag.to_owned() }).ok(),
        None => None,
    };
    let mut options = File::options();
    let mut file = match begin {
        0 => options.write(true).create(true).truncate(true).open(&part),
        _ => options.append(true).open(&part),
    }
    .map_err(wrong(&part))?;
    let mark_file = what.beside(".part.json");
    match mark {
        Some(mark) => std::fs::write(&mark_file, mark).map_err(wrong(&mark_file))?,
        None => remove(&mark_file).map_err(wrong(&mark_file))?,
    }

    let mut have = begin;
    progress(have, total);
    loop {
        let mut pieces = Vec::new();
        let more = response.pieces(&mut pieces).await;
        // What came before an error counts too.
        have += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        file = write(file, pieces).await.map_err(wrong(&part))?;
        progress(have, total);
        if !more? {
            break;
        }
    }
    complete(&what.url, have, total)?;
    drop(file);
    std::fs::rename(&part, &what.file).map_err(wrong(&what.file))?;
    remove(&mark_file).map_err(wrong(&mark_file))?;
    Ok(outcome(&response, have, begin))
}

/// Takes all of a URL's content and keeps nothing of it: to measure.
///
/// # Errors
/// The content does not come, or not all of it.
pub async fn discard(
    client: &Client,
    url: &Uri,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let mut response = client.get(url, &request_headers()).await?;
    let status = response.head.status();
    if status != StatusCode::OK {
        return Err(DownloadError::Status { url: url.to_string(), status });
    }
    let total = number(response.head.headers(), CONTENT_LENGTH);
    let (mut have, mut pieces) = (0, Vec::new());
    while response.pieces(&mut pieces).await? {
        have += pieces.drain(..).map(|piece| piece.len() as u64).sum::<u64>();
        progress(have, total);
    }
    complete(url, have, total)?;
    Ok(outcome(&response, have, 0))
}

/// What each request says.
fn request_headers() -> HeaderMap {
    HeaderMap::from_iter([(TE, HeaderValue::from_static("trailers"))])
}

fn complete(url: &Uri, have: u64, announced: Option<u64>) -> Result<(), DownloadError> {
    match announced.filter(|announced| *announced != have) {
        None => Ok(()),
        Some(announced) => {
            let reason = format!("{have} bytes, announced: {announced}");
            Err(DownloadError::Answer { url: url.to_string(), reason })
        }
    }
}

fn outcome(response: &Response, bytes: u64, resumed_at: u64) -> Outcome {
    let path = response.trailers().and_then(PathReport::from_trailers);
    Outcome { bytes, resumed_at, timings: response.timings(), path }
}

fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes on another thread: disks may be slow, and the connection's acknowledgements do not wait.
async fn write(mut file: File, pieces: Vec<Bytes>) -> io::Result<File> {
    let written = spawn_blocking(move || {
        pieces.iter().try_for_each(|piece| file.write_all(piece))?;
        Ok(file)
    });
    written.await.map_err(io::Error::other)?
}

fn number(headers: &HeaderMap, name: http::HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// First byte and whole length of `bytes FIRST-LAST/LENGTH` (RFC 9110 §14.4).
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, length) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let length = if length == "*" { None } else { Some(length.parse().ok()?) };
    (first <= last && length.is_none_or(|length| last < length)).then_some((first, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parts_range_is_read_or_refused() {
        assert_eq!(content_range("bytes 100-199/200"), Some((100, Some(200))));
        assert_eq!(content_range("bytes 0-0/*"), Some((0, None)));
        for wrong in ["bytes 100-99/200", "bytes 0-200/200", "bytes */200", "100-199/200", "bytes 1-2", ""] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }
}

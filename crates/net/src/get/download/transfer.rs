//! Downloads: to a file, where they can be resumed, or to a device or pipe.

use super::announced::Announced;
use super::destination::{Destination, Stream};
use super::digest::Digests;
use super::error::DownloadError;
use super::partial_file::{PartialFile, Resume};
use crate::get::client::Client;
use crate::get::error::ClientError;
use crate::get::redirect::{self, MAX_REDIRECTS};
use crate::get::response::{Response, Timings};
use crate::path_report::PathReport;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, TE};
use http::{StatusCode, Uri, Version};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// A download: its URL and its output.
#[derive(Debug, Clone)]
pub struct Download {
    /// The URL.
    pub url: Uri,
    /// The output. A regular file is replaced after all content has arrived. Until then, a file
    /// beside it whose name ends in `.part` holds the content, and one that ends in `.part.json`
    /// holds what is needed to resume. The same is true of a new file, and of the target of a
    /// symbolic link. Anything else, such as a device or a FIFO, is written to directly.
    /// `/dev/stdout` is the standard output of the process.
    pub file: PathBuf,
}

/// The result of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Bytes that an earlier download had left. The content follows them.
    pub resumed_at: u64,
    /// Times of the request.
    pub timings: Timings,
    /// Redirects that were followed.
    pub redirects: usize,
    /// The version of HTTP that carried it.
    pub version: Version,
    /// What the server did with its memory of the path, if it reports that.
    pub path: Option<PathReport>,
}

/// Downloads a file. Calls `progress` each time content arrives, with the bytes so far and the
/// length of the file if that is known. If an earlier download of the same version of the same URL
/// was interrupted, only the rest is requested.
///
/// # Errors
/// Whatever keeps the file from being complete. Content that has arrived stays.
pub async fn download(
    client: &Client,
    request: &Download,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    match Destination::of(&request.file)? {
        Destination::File { path, exists } => {
            to_file(client, &request.url, &path, exists, progress).await
        }
        Destination::Stream(stream) => to_stream(client, &request.url, stream, progress).await,
    }
}

/// Collects the content in a partial file, which finally replaces `path`.
async fn to_file(
    client: &Client,
    url: &Uri,
    path: &Path,
    exists: bool,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let partial = PartialFile::open(path, exists)?;
    let resume = partial.resume(url)?;
    let Requested { mut response, announced, location, redirects } =
        request(client, url, resume.as_ref()).await?;
    let begin = announced.begin;
    partial.begin(begin, &announced.record(url, &location))?;
    let bytes = match receive(&mut response, partial.file(), &announced, progress).await {
        Ok(bytes) => bytes,
        Err(fault) => {
            if matches!(fault, Fault::TooMuch) {
                partial.discard()?;
            }
            return Err(fault.error(url, partial.path(), &announced));
        }
    };
    announced.check_complete(url, bytes)?;
    partial.check_length(bytes)?;
    let digests = Digests::new(response.head.headers(), response.trailers());
    let file = partial.file().clone();
    let checked = blocking(move || digests.check(&file, begin)).await;
    if let Some(mismatch) = checked.map_err(DownloadError::file(partial.path()))? {
        partial.discard()?;
        return Err(DownloadError::response(url, mismatch));
    }
    partial.publish()?;
    Ok(outcome(&response, bytes, begin, redirects))
}

/// Writes the content to a device or a pipe as it arrives.
async fn to_stream(
    client: &Client,
    url: &Uri,
    stream: Stream,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let path = stream.path().to_owned();
    let Requested { mut response, announced, redirects, .. } = request(client, url, None).await?;
    // Opened now, so that a request that fails leaves the output alone. A FIFO waits for its
    // reader.
    let file = blocking(move || stream.open()).await.map_err(DownloadError::file(&path))?;
    let received = receive(&mut response, &Arc::new(Box::new(file)), &announced, progress).await;
    let bytes = received.map_err(|fault| fault.error(url, &path, &announced))?;
    announced.check_complete(url, bytes)?;
    Ok(outcome(&response, bytes, 0, redirects))
}

/// Downloads the content of a URL and discards it, for measurements.
///
/// # Errors
/// The request fails, or its content is incomplete.
pub async fn discard(
    client: &Client,
    url: &Uri,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let Requested { mut response, announced, redirects, .. } = request(client, url, None).await?;
    let (mut have, mut pieces) = (0, Vec::new());
    while response.pieces(&mut pieces).await? {
        have += pieces.drain(..).map(|piece| piece.len() as u64).sum::<u64>();
        progress(have, announced.total);
    }
    announced.check_complete(url, have)?;
    Ok(outcome(&response, have, 0, redirects))
}

/// A response whose content is to be received.
struct Requested {
    response: Response,
    announced: Announced,
    /// The URL after all redirects.
    location: Uri,
    redirects: usize,
}

/// Requests the rest of a file, or all of it. If the response does not continue the partial file,
/// all of it is requested.
async fn request(
    client: &Client,
    url: &Uri,
    resume: Option<&Resume>,
) -> Result<Requested, DownloadError> {
    let mut headers = request_headers();
    if let Some(resume) = resume {
        headers.extend(resume.headers());
    }
    let (mut response, mut location, mut redirects) = follow(client, url, &headers).await?;
    if let Some(resume) = resume {
        match response.head.status() {
            StatusCode::PARTIAL_CONTENT => {
                // An entity tag says something about one resource only (RFC 9110 §8.8.3).
                let same = resume.record.location == location.to_string();
                let rest = Announced::rest(&response.head, resume).filter(|_| same);
                if let Some(announced) = rest {
                    return Ok(Requested { response, announced, location, redirects });
                }
                (response, location, redirects) = follow(client, url, &request_headers()).await?;
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                (response, location, redirects) = follow(client, url, &request_headers()).await?;
            }
            _ => {}
        }
    }
    let announced = Announced::whole(&location, &response.head)?;
    Ok(Requested { response, announced, location, redirects })
}

/// Requests `url`, and what it redirects to. Returns the last response, its URL, and the number of
/// redirects.
async fn follow(
    client: &Client,
    url: &Uri,
    headers: &HeaderMap,
) -> Result<(Response, Uri, usize), DownloadError> {
    let mut location = url.clone();
    for redirects in 0..=MAX_REDIRECTS {
        let response = client.get(&location, headers).await?;
        let next = redirect::target(&location, &response.head);
        match next.map_err(|reason| DownloadError::response(&location, reason))? {
            None => return Ok((response, location, redirects)),
            Some(next) => location = next,
        }
    }
    Err(DownloadError::response(url, format!("more than {MAX_REDIRECTS} redirects")))
}

/// Returns the header fields of each request. Without a content coding, the bytes are those of the
/// file.
fn request_headers() -> HeaderMap {
    let identity = HeaderValue::from_static("identity");
    HeaderMap::from_iter([(TE, HeaderValue::from_static("trailers")), (ACCEPT_ENCODING, identity)])
}

/// Why content could not be received.
enum Fault {
    /// The request failed.
    Client(ClientError),
    /// There is more content than announced.
    TooMuch,
    /// The output cannot be written.
    Write(io::Error),
}

impl Fault {
    fn error(self, url: &Uri, file: &Path, announced: &Announced) -> DownloadError {
        match self {
            Self::Client(error) => error.into(),
            Self::TooMuch => announced.too_much(url),
            Self::Write(error) => DownloadError::file(file)(error),
        }
    }
}

/// Writes the content to `file`. Returns the length of the file.
async fn receive<F>(
    response: &mut Response,
    file: &Arc<F>,
    announced: &Announced,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<u64, Fault>
where
    F: Deref<Target = File> + Send + Sync + 'static,
{
    let mut have = announced.begin;
    progress(have, announced.total);
    loop {
        let mut pieces = Vec::new();
        let more = response.pieces(&mut pieces).await;
        // Content before an error counts too.
        have += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        if announced.end.is_some_and(|end| have > end) {
            return Err(Fault::TooMuch);
        }
        write(file.clone(), pieces).await.map_err(Fault::Write)?;
        progress(have, announced.total);
        if !more.map_err(Fault::Client)? {
            return Ok(have);
        }
    }
}

/// Writes to `file`. Its lock lasts until the write has ended, even if the caller is dropped.
async fn write<F>(file: Arc<F>, pieces: Vec<Bytes>) -> io::Result<()>
where
    F: Deref<Target = File> + Send + Sync + 'static,
{
    blocking(move || {
        let mut file: &File = &file;
        pieces.iter().try_for_each(|piece| file.write_all(piece))
    })
    .await
}

/// Runs `work` on another thread. A slow disk must not delay the connection's acknowledgements.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

fn outcome(response: &Response, bytes: u64, resumed_at: u64, redirects: usize) -> Outcome {
    let path = response.trailers().and_then(PathReport::from_trailers);
    let (timings, version) = (response.timings(), response.version());
    Outcome { bytes, resumed_at, timings, redirects, version, path }
}

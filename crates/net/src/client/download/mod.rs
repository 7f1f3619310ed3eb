//! Downloads: into a file, where an interrupted one can be resumed, or into a device or pipe.

mod announced;
mod destination;
mod digest;
mod partial_file;

use super::{Client, ClientError, Response, Timings};
use crate::path_report::PathReport;
use announced::Announced;
use bytes::Bytes;
use destination::{Destination, Stream};
use digest::Digests;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, TE};
use http::{StatusCode, Uri};
use partial_file::{PartialFile, Resume};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio::task::spawn_blocking;

/// Why a download failed. What arrived of a file is kept beside it, for the next time.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// The output cannot be written. Nothing was asked for.
    #[error("{} cannot be the output: {reason}", file.display())]
    Destination {
        /// The output.
        file: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The partial file or its record cannot be used.
    #[error("{}: {reason}", file.display())]
    Partial {
        /// Which of them.
        file: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
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
    /// The server's answer contradicts itself, or the content does not fit it.
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

impl DownloadError {
    fn answer(url: &Uri, reason: String) -> Self {
        Self::Answer { url: url.to_string(), reason }
    }

    /// Makes an error of the system one about `file`.
    fn file(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::File { file, source }
    }
}

/// What to download, and where to.
#[derive(Debug, Clone)]
pub struct Download {
    /// The URL.
    pub url: Uri,
    /// The output. A regular file is replaced once everything has arrived. Until then the content
    /// is beside it, with `.part` at the end of its name, and `.part.json` has what is needed to
    /// resume. The same holds for a name that is free, and for the target of a symbolic link.
    /// Content is written straight to anything else, such as a device or a FIFO. `/dev/stdout` is
    /// the standard output of the process.
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

/// Downloads, and calls `progress` with the bytes that are there and the file's length, if that is
/// known, each time something arrives. If an earlier download of the same version of the same URL
/// was interrupted, only the rest is asked for.
///
/// # Errors
/// Whatever keeps the file from being complete. What has arrived stays.
pub async fn download(
    client: &Client,
    what: &Download,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    match Destination::of(&what.file)? {
        Destination::File { path, exists } => {
            to_file(client, &what.url, &path, exists, progress).await
        }
        Destination::Stream(stream) => to_stream(client, &what.url, stream, progress).await,
    }
}

/// Collects the content in a partial file, which replaces `path` in the end.
async fn to_file(
    client: &Client,
    url: &Uri,
    path: &Path,
    exists: bool,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let partial = PartialFile::open(path, exists)?;
    let resume = partial.resume(url)?;
    let (mut response, announced) = ask(client, url, resume.as_ref()).await?;
    let begin = announced.begin;
    partial.begin(begin, announced.record(url).as_ref())?;
    let bytes = match receive(&mut response, partial.file(), &announced, progress).await {
        Ok(bytes) => bytes,
        Err(fault) => {
            if matches!(fault, Fault::TooMuch) {
                partial.discard()?;
            }
            return Err(fault.error(url, partial.path(), &announced));
        }
    };
    announced.complete(url, bytes)?;
    partial.check_length(bytes)?;
    let digests = Digests::new(response.head.headers(), response.trailers());
    let file = partial.file().clone();
    let checked = blocking(move || digests.check(&file, begin)).await;
    if let Some(mismatch) = checked.map_err(DownloadError::file(partial.path()))? {
        partial.discard()?;
        return Err(DownloadError::answer(url, mismatch));
    }
    partial.publish()?;
    Ok(outcome(&response, bytes, begin))
}

/// Writes the content to a device or a pipe as it arrives.
async fn to_stream(
    client: &Client,
    url: &Uri,
    stream: Stream,
    progress: impl FnMut(u64, Option<u64>),
) -> Result<Outcome, DownloadError> {
    let path = stream.path().to_owned();
    let (mut response, announced) = ask(client, url, None).await?;
    // Only now, so that a request which fails leaves the output alone. A FIFO waits for its reader.
    let file = blocking(move || stream.open()).await.map_err(DownloadError::file(&path))?;
    let received = receive(&mut response, &Arc::new(Box::new(file)), &announced, progress).await;
    let bytes = received.map_err(|fault| fault.error(url, &path, &announced))?;
    announced.complete(url, bytes)?;
    Ok(outcome(&response, bytes, 0))
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
    let (mut response, announced) = ask(client, url, None).await?;
    let (mut have, mut pieces) = (0, Vec::new());
    while response.pieces(&mut pieces).await? {
        have += pieces.drain(..).map(|piece| piece.len() as u64).sum::<u64>();
        progress(have, announced.total);
    }
    announced.complete(url, have)?;
    Ok(outcome(&response, have, 0))
}

/// Asks for the rest of a file, or for all of it. If the answer does not continue what is there,
/// all of it is asked for anew.
async fn ask(
    client: &Client,
    url: &Uri,
    resume: Option<&Resume>,
) -> Result<(Response, Announced), DownloadError> {
    let mut headers = request_headers();
    if let Some(resume) = resume {
        headers.extend(resume.headers());
    }
    let mut response = client.get(url, &headers).await?;
    if let Some(resume) = resume {
        match response.head.status() {
            StatusCode::PARTIAL_CONTENT => {
                if let Some(rest) = Announced::rest(&response.head, resume) {
                    return Ok((response, rest));
                }
                response = client.get(url, &request_headers()).await?;
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                response = client.get(url, &request_headers()).await?
            }
            _ => {}
        }
    }
    let whole = Announced::whole(url, &response.head)?;
    Ok((response, whole))
}

/// The header fields of each request. No content coding, so that bytes are those of the file.
fn request_headers() -> HeaderMap {
    let identity = HeaderValue::from_static("identity");
    HeaderMap::from_iter([(TE, HeaderValue::from_static("trailers")), (ACCEPT_ENCODING, identity)])
}

/// Why content was not taken to its end.
enum Fault {
    /// It broke off.
    Client(ClientError),
    /// There is more than was announced.
    TooMuch,
    /// It cannot be written.
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

/// Writes the content to `file`; the bytes of the file that are there then.
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
        // What came before an error counts too.
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

/// Writes to `file`, whose lock lasts until that has ended, even if nobody waits for it any more.
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

/// Works on another thread: disks may be slow, and the connection's acknowledgements do not wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

fn outcome(response: &Response, bytes: u64, resumed_at: u64) -> Outcome {
    let path = response.trailers().and_then(PathReport::from_trailers);
    Outcome { bytes, resumed_at, timings: response.timings(), path }
}

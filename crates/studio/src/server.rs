//! The socket: who may ask, how much, and for how long.

use crate::access::{Access, Refusal, Scope};
use crate::api::{self, Api};
use crate::connections::{Connections, Place, WriteTimeout};
use crate::files::{Directory, FileError, MAX_TEXT};
use crate::import;
use crate::patience::Waiting;
use crate::peer;
use crate::responses::{self, FullResponse};
use crate::runs::Runs;
use bentpipe_lab::{LabError, RunStore};
use http::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Time for the header of a request, from the end of the answer before.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// Time in which the other side takes something of an answer.
const TAKE_TIME: Duration = Duration::from_secs(30);
/// Time for the content of a request.
const CONTENT_TIME: Duration = Duration::from_secs(30);
/// Largest content of a request: a text in JSON, in which a character may take six bytes.
const MAX_CONTENT: usize = 6 * MAX_TEXT;

/// Imports that are read or worked on at a time: each may have [`import::MAX_BYTES`].
const MAX_IMPORTS: usize = 1;

/// What a studio works on.
pub struct StudioConfig {
    /// The directory with the scenarios.
    pub directory: PathBuf,
    /// Threads that run scenarios.
    pub jobs: NonZeroUsize,
    /// Results of earlier runs.
    pub store: Option<Arc<dyn RunStore + Send>>,
    /// Whether runs that the store has are taken from it.
    pub reuse: bool,
    /// Returns the simulator that exported reports bring along.
    pub engine: fn() -> Result<String, LabError>,
}

/// A studio.
pub struct Studio {
    api: Arc<Api>,
    access: Arc<Access>,
    imports: Arc<Semaphore>,
    listener: TcpListener,
}

impl Studio {
    /// Opens the directory, and a socket of 127.0.0.1; port 0 takes a free one.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub async fn open(config: StudioConfig, port: u16) -> Result<Self, FileError> {
        let directory = Directory::open(&config.directory)?;
        let runs = Runs::new(directory.path(), config.jobs, config.store, config.reuse);
        let io = |source| FileError::Io { name: format!("127.0.0.1:{port}"), source };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(io)?;
        let access = Access::new(listener.local_addr().map_err(io)?).map_err(io)?;
        let api = Arc::new(Api { directory, runs, engine: config.engine });
        let imports = Arc::new(Semaphore::new(MAX_IMPORTS));
        Ok(Self { api, access: Arc::new(access), imports, listener })
    }

    /// Returns the address to open in a browser. It has the secret.
    pub fn url(&self) -> String {
        self.access.url()
    }

    /// Returns an address that leads one browser of this user to that with the secret, once. For
    /// the arguments of a program, which others can read.
    pub fn opening_url(&self) -> String {
        self.access.opening_url()
    }

    /// Returns the directory of the scenarios.
    pub fn directory(&self) -> &Path {
        self.api.directory.path()
    }

    /// Serves until `stop` ends. Runs that have not ended are cancelled.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { api, access, imports, listener } = self;
        let working = api.clone();
        let worker = spawn_blocking(move || working.runs.work());
        let connections = Arc::new(Connections::default());
        let accept = async {
            loop {
                let Ok((stream, client)) = listener.accept().await else {
                    // Out of descriptors, for example.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (api, access, imports) = (api.clone(), access.clone(), imports.clone());
                let (place, ended) = connections.enter();
                tokio::spawn(async move {
                    let asked = Asked { api, access, imports, place };
                    tokio::select! {
                        () = serve_connection(&asked, stream, client) => {}
                        Ok(()) = ended => {}
                    }
                });
            }
        };
        tokio::select! {
            () = accept => {}
            () = stop => {}
        }
        api.runs.close();
        // It cannot panic: an error only means that it has ended.
        let _ = worker.await;
    }
}

/// What a connection asks, and its place.
struct Asked {
    api: Arc<Api>,
    access: Arc<Access>,
    /// Has a permit for each import that may go on.
    imports: Arc<Semaphore>,
    place: Place,
}

/// Answers the requests of a connection.
async fn serve_connection(asked: &Asked, stream: TcpStream, client: SocketAddr) {
    let address = stream.local_addr();
    let is_own = || address.as_ref().is_ok_and(|&own| peer::is_own(client, own));
    let service =
        service_fn(|request| async { Ok::<_, Infallible>(respond(asked, &is_own, request).await) });
    // An error is a client that is gone, or takes nothing.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, TAKE_TIME)), service)
        .await;
}

/// Answers a request. `is_own` tells whether its sender is a program of this user.
async fn respond(
    asked: &Asked,
    is_own: &impl Fn() -> bool,
    request: Request<Incoming>,
) -> FullResponse {
    let Asked { api, access, imports, place } = asked;
    let (head, content) = request.into_parts();
    if access.open(&head.headers, head.uri.path(), is_own) {
        return responses::redirect(&access.url());
    }
    let (scope, path) = match access.admit(&head.headers, head.uri.path()) {
        Ok((scope, path)) => (scope, path.to_owned()),
        Err(refusal) => return responses::closing(refuse(refusal)),
    };
    match scope {
        // An address that a page may know must not lead to more.
        Scope::Reports if !api::is_report(&head.method, &path) => {
            return responses::closing(refuse(Refusal::Secret));
        }
        Scope::Reports => {}
        Scope::Studio if !place.admit() => {
            let reason = "too many connections; close pages of this studio";
            let refused = responses::failure(StatusCode::SERVICE_UNAVAILABLE, reason);
            return responses::closing(refused);
        }
        Scope::Studio if api::is_report(&head.method, &path) => {
            return responses::redirect(&access.report_path(&path));
        }
        Scope::Studio => {}
    }
    let is_import = path == "api/import";
    // Until the work ends, which a client that leaves does not end. It is never closed.
    let permit = if is_import { imports.clone().acquire_owned().await.ok() } else { None };
    let most = if is_import { import::MAX_BYTES } else { MAX_CONTENT };
    let content = Limited::new(content, most).collect();
    let content = match tokio::time::timeout(CONTENT_TIME, content).await {
        Ok(Ok(content)) => content.to_bytes().to_vec(),
        Ok(Err(error)) => {
            let reason = format!("{error}; allowed: {most} bytes");
            return responses::failure(StatusCode::PAYLOAD_TOO_LARGE, &reason);
        }
        Err(_) => return responses::failure(StatusCode::REQUEST_TIMEOUT, "the content is late"),
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    let field = |name| {
        let value = head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        value.map(str::to_owned)
    };
    let (if_match, if_none_match) = (field(IF_MATCH), field(IF_NONE_MATCH));
    let method = head.method.clone();
    // Dropped with this future, which ends when the client leaves.
    let waiting = Waiting::default();
    let abandoned = waiting.abandoned();
    let request = api::Request { method, path, query, if_match, if_none_match, content, abandoned };
    let api = api.clone();
    let answering = move || {
        let _permit = permit;
        api.answer(&request)
    };
    let answered = spawn_blocking(answering).await;
    answered.unwrap_or_else(|error| {
        responses::failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
    })
}

fn refuse(refusal: Refusal) -> FullResponse {
    let (status, reason) = match refusal {
        Refusal::Host => (StatusCode::MISDIRECTED_REQUEST, "this is no host name of the studio"),
        Refusal::Origin => (StatusCode::FORBIDDEN, "the request comes from another page"),
        Refusal::Secret => {
            (StatusCode::NOT_FOUND, "the address has no valid secret; see the terminal for it")
        }
    };
    responses::failure(status, reason)
}

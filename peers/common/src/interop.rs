//! An endpoint of the QUIC interop runner, for `tools/peers/interop-cases`: its orders from the
//! environment, and HTTP/0.9 (`hq-interop`) over the streams of any library.
//!
//! The contract: <https://github.com/quic-interop/quic-interop-runner/blob/master/quic.md>.

use crate::{Error, Root};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Application protocol of HTTP/0.9 in the runner.
pub const HQ: &[u8] = b"hq-interop";
/// Application protocol of the case `http3`.
pub const H3: &[u8] = b"h3";
/// The server's chain of certificates.
pub const CERT: &str = "/certs/cert.pem";
/// Its private key.
pub const KEY: &str = "/certs/priv.key";
/// The authority that clients trust.
pub const CA: &str = "/certs/ca.pem";
/// Address and port of the server.
pub const LISTEN: &str = "[::]:443";
/// Exit status for a test case that is not supported.
const UNSUPPORTED: u8 = 127;
/// Longest request, in bytes. The runner's are shorter than 300.
pub const MAX_REQUEST: usize = 4096;

/// A file to download.
#[derive(Debug, Clone)]
pub struct Request {
    /// The server's name.
    pub host: String,
    /// The server's UDP port.
    pub port: u16,
    /// Path of the URL, with its leading slash.
    pub path: String,
}

impl Request {
    fn parse(url: &str) -> Result<Self, Error> {
        let rest = url.strip_prefix("https://").ok_or_else(|| format!("{url} is no https URL"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
        Ok(Self { host: host.to_owned(), port: port.parse()?, path: format!("/{path}") })
    }

    /// Returns the URL.
    pub fn url(&self) -> String {
        format!("https://{}:{}{}", self.host, self.port, self.path)
    }

    /// Returns where the file is stored.
    pub fn file(&self) -> PathBuf {
        let name = Path::new(&self.path).file_name().unwrap_or_default();
        Path::new("/downloads").join(name)
    }

    /// Returns the server's address.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn address(&self) -> Result<std::net::SocketAddr, Error> {
        use std::net::ToSocketAddrs;
        let mut found = (self.host.as_str(), self.port).to_socket_addrs()?;
        found.next().ok_or_else(|| format!("{} has no address", self.host).into())
    }
}

/// What the runner orders of an endpoint.
#[derive(Debug)]
pub struct Orders {
    /// The test case.
    pub test_case: String,
    /// Whether this endpoint is the client.
    pub is_client: bool,
    requests: Vec<Request>,
}

impl Orders {
    fn from_environment() -> Result<Self, Error> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let is_client = match variable("ROLE").as_str() {
            "client" => true,
            "server" => false,
            other => return Err(format!("ROLE is `{other}`; allowed: client, server").into()),
        };
        let requests = variable("REQUESTS")
            .split_whitespace()
            .map(Request::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { test_case: variable("TESTCASE"), is_client, requests })
    }

    /// Returns the requests of each connection, in order.
    pub fn connections(&self) -> Vec<Vec<Request>> {
        let requests = &self.requests;
        match self.test_case.as_str() {
            "multiconnect" => requests.iter().map(|request| vec![request.clone()]).collect(),
            "resumption" | "zerortt" => {
                let (first, others) = requests.split_at(requests.len().min(1));
                vec![first.to_vec(), others.to_vec()]
            }
            _ => vec![requests.clone()],
        }
    }

    /// Whether the requests of the second connection are early data.
    pub fn early(&self) -> bool {
        self.test_case == "zerortt"
    }

    /// Returns the application protocol.
    pub fn alpn(&self) -> &'static [u8] {
        if self.test_case == "http3" { H3 } else { HQ }
    }
}

/// Plays the side that the environment names, if its list has the test case.
pub async fn run(
    clients: &[&str],
    servers: &[&str],
    client: impl AsyncFnOnce(&Orders) -> Result<(), Error>,
    server: impl AsyncFnOnce(&Orders) -> Result<(), Error>,
) -> ExitCode {
    let played = async {
        let orders = Orders::from_environment()?;
        let supported = if orders.is_client { clients } else { servers };
        if !supported.contains(&orders.test_case.as_str()) {
            eprintln!("unsupported test case: {}", orders.test_case);
            return Ok(ExitCode::from(UNSUPPORTED));
        }
        if orders.is_client {
            client(&orders).await?
        } else {
            server(&orders).await?
        }
        Ok::<_, Error>(ExitCode::SUCCESS)
    };
    played.await.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

/// Downloads a file over a stream. `first` is called when its first bytes arrive.
///
/// # Errors
/// The stream failed, or the file cannot be written.
pub async fn get(
    mut send: impl AsyncWrite + Unpin,
    mut receive: impl AsyncRead + Unpin,
    request: &Request,
    first: impl FnOnce(),
) -> Result<(), Error> {
    send.write_all(format!("GET {}\r\n", request.path).as_bytes()).await?;
    send.shutdown().await?;
    let mut content = Vec::new();
    if receive.read_buf(&mut content).await? > 0 {
        first();
        receive.read_to_end(&mut content).await?;
    }
    Ok(tokio::fs::write(request.file(), content).await?)
}

/// Responds to a request with its file. A request without one gets no response.
///
/// # Errors
/// The stream failed, or there is no such file.
pub async fn respond(
    mut send: impl AsyncWrite + Unpin,
    receive: impl AsyncRead + Unpin,
    root: &Root,
) -> Result<(), Error> {
    let mut request = Vec::new();
    receive.take(MAX_REQUEST as u64).read_to_end(&mut request).await?;
    let (mut file, _) = root.open(path(&request)?).await?;
    tokio::io::copy(&mut file, &mut send).await?;
    Ok(send.shutdown().await?)
}

/// Returns the path that an HTTP/0.9 request names.
///
/// # Errors
/// It is no such request.
pub fn path(request: &[u8]) -> Result<&str, Error> {
    let request = std::str::from_utf8(request)?.trim_end();
    request.strip_prefix("GET ").ok_or_else(|| "the request is no GET".into())
}

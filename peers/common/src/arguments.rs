//! The command line.

use crate::Error;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// What the program is to be.
#[derive(Debug, Clone)]
pub enum Role {
    /// One download.
    Client(Fetch),
    /// A directory, until the program is ended.
    Server(Serve),
}

/// A download.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// Where the server is.
    pub server: SocketAddr,
    /// The name in its certificate.
    pub name: String,
    /// The path of the URL, with its leading slash.
    pub path: String,
    /// The server's certificate, PEM: what it proves itself with is held against this.
    pub ca: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
}

impl Fetch {
    /// The URL with the certificate's name for a host.
    pub fn url(&self) -> String {
        format!("https://{}{}", self.authority(), self.path)
    }

    /// The certificate's name, and the port.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.name, self.server.port())
    }

    /// Where to send from: any port of any address, of the server's family.
    pub fn local(&self) -> SocketAddr {
        let any = if self.server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        SocketAddr::new(any, 0)
    }
}

/// A directory to serve.
#[derive(Debug, Clone)]
pub struct Serve {
    /// The directory.
    pub root: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Certificate, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl Role {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// One is missing or wrong.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut arguments = arguments.peekable();
        let role = arguments.next().unwrap_or_default();
        let mut options = HashMap::new();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: no value"))?;
            options.insert(name, value);
        }
        let mut take = |name: &str| options.remove(name).ok_or_else(|| format!("{name} is missing"));
        let role = match role.as_str() {
            "client" => {
                let (server, path) = split(&take("--url")?)?;
                Self::Client(Fetch {
                    server,
                    path,
                    name: take("--name")?,
                    ca: take("--ca")?.into(),
                    output: take("--output")?.into(),
                    timeout: Duration::from_secs(take("--timeout").unwrap_or_else(|_| "60".to_owned()).parse()?),
                })
            }
            "server" => Self::Server(Serve {
                root: take("--root")?.into(),
                listen: SocketAddr::new(take("--address")?.parse::<IpAddr>()?, take("--port")?.parse()?),
                cert: take("--cert")?.into(),
                key: take("--key")?.into(),
            }),
            other => return Err(format!("`{other}`; allowed: client, server").into()),
        };
        match options.into_keys().next() {
            None => Ok(role),
            Some(unknown) => Err(format!("unknown option {unknown}").into()),
        }
    }
}

/// `https://ADDRESS:PORT/PATH`.
fn split(url: &str) -> Result<(SocketAddr, String), Error> {
    let rest = url.strip_prefix("https://").ok_or_else(|| format!("{url}: no https://"))?;
    let (host, path) = rest.split_once('/').ok_or_else(|| format!("{url}: no path"))?;
    Ok((host.parse().map_err(|_| format!("{url}: no address with a port"))?, format!("/{path}")))
}

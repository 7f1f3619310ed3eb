//! The command line.

use crate::Error;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Role of the program.
#[derive(Debug, Clone)]
pub enum Role {
    /// Downloads one file.
    Client(Fetch),
    /// Serves a directory until the program is ended.
    Server(Serve),
}

/// A download.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// The server's address.
    pub server: SocketAddr,
    /// The name in its certificate.
    pub name: String,
    /// The path of the URL, with its leading slash.
    pub path: String,
    /// The certificate that the server must present, PEM.
    pub ca: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// Time limit.
    pub timeout: Duration,
}

impl Fetch {
    /// Returns the URL with the certificate's name as its host.
    pub fn url(&self) -> String {
        format!("https://{}{}", self.authority(), self.path)
    }

    /// Returns the certificate's name and the port.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.name, self.server.port())
    }

    /// Returns the local address to bind: unspecified, of the server's address family.
    pub fn local(&self) -> SocketAddr {
        let any = if self.server.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        SocketAddr::new(any, 0)
    }
}

/// A directory to serve.
#[derive(Debug, Clone)]
pub struct Serve {
    /// The directory.
    pub root: PathBuf,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The certificate, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl Role {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// An argument is missing, unknown or malformed.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut arguments = arguments.peekable();
        let role = arguments.next().unwrap_or_default();
        let mut options = HashMap::new();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
            options.insert(name, value);
        }
        let mut take =
            |name: &str| options.remove(name).ok_or_else(|| format!("{name} is missing"));
        let role = match role.as_str() {
            "client" => {
                let (server, path) = split(&take("--url")?)?;
                Self::Client(Fetch {
                    server,
                    path,
                    name: take("--name")?,
                    ca: take("--ca")?.into(),
                    output: take("--output")?.into(),
                    timeout: Duration::from_secs(
                        take("--timeout").unwrap_or_else(|_| "60".to_owned()).parse()?,
                    ),
                })
            }
            "server" => Self::Server(Serve {
                root: take("--root")?.into(),
                listen: SocketAddr::new(
                    take("--address")?.parse::<IpAddr>()?,
                    take("--port")?.parse()?,
                ),
                cert: take("--cert")?.into(),
                key: take("--key")?.into(),
            }),
            other => {
                return Err(format!("role `{other}` is unknown; allowed: client, server").into());
            }
        };
        match options.into_keys().next() {
            None => Ok(role),
            Some(unknown) => Err(format!("option {unknown} is unknown").into()),
        }
    }
}

/// Splits `https://ADDRESS:PORT/PATH` into address and path.
fn split(url: &str) -> Result<(SocketAddr, String), Error> {
    let rest = url
        .strip_prefix("https://")
        .ok_or_else(|| format!("{url} does not begin with https://"))?;
    let (host, path) = rest.split_once('/').ok_or_else(|| format!("{url} has no path"))?;
    Ok((
        host.parse().map_err(|_| format!("the host of {url} is no IP address with a port"))?,
        format!("/{path}"),
    ))
}

//! The runner's test cases, and what it orders of an endpoint.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The side that an endpoint plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

/// How a client spreads its requests over connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// All over one.
    One,
    /// The first over one, the others over a second one that resumes its session.
    Resumed {
        /// Whether the others are sent as early data.
        early: bool,
    },
    /// One for each.
    Each,
}

/// What a test case asks of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// HTTP/3 instead of HTTP/0.9.
    pub http3: bool,
    pub connections: Connections,
    /// The server sends a Retry.
    pub retry: bool,
    /// The client updates the keys early.
    pub key_update: bool,
    /// ChaCha20-Poly1305 is the only cipher suite.
    pub chacha20: bool,
}

impl Case {
    /// Returns the test case of that name, or `None` if it is not supported in the role.
    ///
    /// The stack beneath has QUIC version 1 only (`v2`), and neither its clients nor its servers
    /// use preferred addresses (`connectionmigration`).
    pub fn of(name: &str, role: Role) -> Option<Self> {
        let plain = Self {
            http3: false,
            connections: Connections::One,
            retry: false,
            key_update: false,
            chacha20: false,
        };
        Some(match name {
            // In the others, the network or the runner's checks make the difference.
            "handshake" | "transfer" | "longrtt" | "multiplexing" | "blackhole" | "ecn"
            | "amplificationlimit" | "transferloss" | "transfercorruption" | "ipv6"
            | "rebind-port" | "rebind-addr" | "goodput" | "crosstraffic" => plain,
            "chacha20" => Self { chacha20: true, ..plain },
            "retry" => Self { retry: true, ..plain },
            "http3" => Self { http3: true, ..plain },
            "resumption" => Self { connections: Connections::Resumed { early: false }, ..plain },
            "zerortt" => Self { connections: Connections::Resumed { early: true }, ..plain },
            "multiconnect" | "handshakeloss" | "handshakecorruption" => {
                Self { connections: Connections::Each, ..plain }
            }
            "keyupdate" if role == Role::Client => Self { key_update: true, ..plain },
            _ => return None,
        })
    }
}

/// What the runner orders, in the environment.
#[derive(Debug)]
pub struct Orders {
    /// `ROLE`: `client` or `server`.
    pub role: Role,
    /// `TESTCASE`.
    pub test_case: String,
    /// `REQUESTS`: URLs, separated by spaces.
    pub requests: Vec<String>,
    /// `CERTS`, by default /certs: `cert.pem`, `priv.key` and `ca.pem`.
    pub certs: PathBuf,
    /// `WWW`, by default /www: the server's files.
    pub www: PathBuf,
    /// `DOWNLOADS`, by default /downloads: where the client stores files.
    pub downloads: PathBuf,
    /// `QLOGDIR`: where each connection leaves a trace. None by default.
    pub qlog: Option<PathBuf>,
    /// `LISTEN`, by default port 443 at all addresses.
    pub listen: SocketAddr,
}

impl Orders {
    /// Reads the environment.
    pub fn from_environment() -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let folder =
            |name: &str, default: &str| PathBuf::from(variable(name).unwrap_or(default.to_owned()));
        let role = match variable("ROLE").as_deref() {
            Some("client") => Role::Client,
            Some("server") => Role::Server,
            other => {
                let given = other.unwrap_or("not set");
                return Err(format!("ROLE is {given}; allowed: client, server"));
            }
        };
        let listen = variable("LISTEN").unwrap_or("[::]:443".to_owned());
        Ok(Self {
            role,
            test_case: variable("TESTCASE").unwrap_or_default(),
            requests: variable("REQUESTS")
                .map(|urls| urls.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            certs: folder("CERTS", "/certs"),
            www: folder("WWW", "/www"),
            downloads: folder("DOWNLOADS", "/downloads"),
            qlog: variable("QLOGDIR").map(PathBuf::from),
            listen: listen
                .parse()
                .map_err(|_| format!("LISTEN is {listen}; allowed: ADDRESS:PORT"))?,
        })
    }
}

//! `peer.toml`: a peer's name, version, roles and command lines.

use crate::placeholders::{CLIENT, SERVER, unknown};
use bentpipe_lab::LabError;
use bentpipe_scenario::{Problem, ScenarioError, Source};
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What describes a peer, in a folder of its name.
const FILE: &str = "peer.toml";
/// More than any description has: what is longer is something else.
const LONGEST: u64 = 64 * 1024;

/// A version of HTTP, over the transport that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/3 over QUIC (RFC 9114).
    H3,
    /// HTTP/2 over TLS and TCP (RFC 9113).
    H2,
    /// HTTP/1.1 over TLS and TCP (RFC 9112).
    H1,
}

impl Protocol {
    /// All of them, newest first.
    pub const ALL: [Self; 3] = [Self::H3, Self::H2, Self::H1];

    /// As command lines write it: `h3`.
    pub fn name(self) -> &'static str {
        match self {
            Self::H3 => "h3",
            Self::H2 => "h2",
            Self::H1 => "h1",
        }
    }

    /// What a client says that it has spoken: by its ALPN name (RFC 7301), as browsers do, or as a
    /// number, as curl does.
    pub fn spoken(name: &str) -> Option<Self> {
        match name {
            "h3" | "3" => Some(Self::H3),
            "h2" | "2" => Some(Self::H2),
            "h1" | "http/1.1" | "1.1" => Some(Self::H1),
            _ => None,
        }
    }
}

/// How a client or a server is run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// What it speaks.
    pub protocols: Vec<Protocol>,
    /// Program and arguments, with placeholders.
    command: Spanned<Vec<Spanned<String>>>,
    /// Files that it reads, by name, with placeholders in their text. They are written to `{work}`.
    #[serde(default)]
    files: BTreeMap<String, Spanned<String>>,
    /// Where in the JSON that a client prints its times stand: a JSON pointer (RFC 6901).
    #[serde(default)]
    pub times: String,
}

impl Role {
    /// Program and arguments.
    pub fn command(&self) -> impl Iterator<Item = &str> {
        self.command.get_ref().iter().map(|word| word.get_ref().as_str())
    }

    /// Names and texts of files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.get_ref().as_str()))
    }

    fn check(&self, allowed: &[&str]) -> Result<(), Problem> {
        let command = self.command.get_ref();
        if command.is_empty() || self.protocols.is_empty() {
            let message = "no command or no protocols; allowed: at least a program and one of \
                `h3`, `h2`, `h1`";
            return Err(Problem::new(self.command.span(), message));
        }
        for (name, text) in &self.files {
            if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
                return Err(Problem::new(
                    text.span(),
                    format!("`{name}` is no file name; allowed: a name without `/`"),
                ));
            }
        }
        for text in command.iter().chain(self.files.values()) {
            if let Some(unknown) = unknown(text.get_ref(), allowed) {
                return Err(Problem::not_one_of(
                    text.span(),
                    "placeholder",
                    unknown,
                    allowed.iter().copied(),
                ));
            }
        }
        Ok(())
    }
}

/// The file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: Spanned<String>,
    title: String,
    source: String,
    version: Option<String>,
    #[serde(default)]
    version_command: Vec<String>,
    needs: Spanned<Vec<String>>,
    #[serde(default)]
    note: String,
    client: Option<Role>,
    server: Option<Role>,
}

/// Somebody's client, server or both.
#[derive(Debug, Clone)]
pub struct Peer {
    /// What command lines call it: the name of its folder.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Where it is from.
    pub source: String,
    /// The version that its script installs; none where it is the system's.
    pub version: Option<String>,
    /// What prints the version otherwise.
    pub version_command: Vec<String>,
    /// Programs and files without which it is not installed.
    pub needs: Vec<String>,
    /// What there is to know of its settings.
    pub note: String,
    /// How its client is run.
    pub client: Option<Role>,
    /// How its server is run.
    pub server: Option<Role>,
    /// The folder of its description.
    pub folder: PathBuf,
    /// Where its script installs it.
    pub home: PathBuf,
}

impl Peer {
    /// Reads `folder/peer.toml`; what it installs is below `installed`.
    ///
    /// # Errors
    /// It cannot be read, or is wrong: the error has the line.
    pub fn read(folder: &Path, installed: &Path) -> Result<Self, LabError> {
        let file = folder.join(FILE);
        let size = std::fs::metadata(&file).map_err(|error| LabError::read(&file, error))?.len();
        if size > LONGEST {
            return Err(LabError::read(&file, format!("{size} bytes; allowed: up to {LONGEST}")));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| LabError::read(&file, error))?;
        let name =
            folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut peer = Self::parse(&file.display().to_string(), &name, &text)?;
        peer.home = installed.join(&peer.name);
        peer.folder = folder.to_owned();
        Ok(peer)
    }

    /// A description in the folder called `folder`; `file` is what errors call it.
    fn parse(file: &str, folder: &str, text: &str) -> Result<Self, Box<ScenarioError>> {
        let source = Source::new(file, text);
        let parsed = toml::from_str::<Description>(text).map_err(|error| {
            Problem::new(error.span().unwrap_or_default(), error.message().to_owned())
        });
        parsed
            .and_then(|description| Self::checked(description, folder))
            .map_err(|problem| source.locate(problem))
    }

    fn checked(description: Description, folder: &str) -> Result<Self, Problem> {
        let name = description.name.get_ref();
        if name != folder || name.is_empty() {
            let message = format!("name `{name}` in folder `{folder}`; allowed: the folder's name");
            return Err(Problem::new(description.name.span(), message));
        }
        if description.needs.get_ref().is_empty() {
            let message = "`needs` is empty; allowed: what tells that it is installed";
            return Err(Problem::new(description.needs.span(), message));
        }
        if description.client.is_none() && description.server.is_none() {
            let message = "neither [client] nor [server]; allowed: one or both";
            return Err(Problem::new(description.name.span(), message));
        }
        for (role, allowed) in [(&description.client, CLIENT), (&description.server, SERVER)] {
            role.as_ref().map_or(Ok(()), |role| role.check(allowed))?;
        }
        Ok(Self {
            name: description.name.into_inner(),
            title: description.title,
            source: description.source,
            version: description.version,
            version_command: description.version_command,
            needs: description.needs.into_inner(),
            note: description.note,
            client: description.client,
            server: description.server,
            folder: PathBuf::new(),
            home: PathBuf::new(),
        })
    }

    /// What a program of it finds its programs by: its own before those of the system.
    pub fn search_path(&self) -> std::ffi::OsString {
        let own = ["bin", "usr/bin", "usr/sbin"].map(|part| self.home.join(part));
        let system = std::env::var_os("PATH").unwrap_or_default();
        // A folder with a colon in its name cannot be searched: then only the system's are.
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system)))
            .unwrap_or(system)
    }

    /// What of its needs is not there.
    pub fn missing(&self) -> Vec<String> {
        let path = self.search_path();
        let there = |need: &str| {
            let need = need.replace("{home}", &self.home.to_string_lossy());
            match need.contains('/') {
                true => Path::new(&need).exists(),
                false => std::env::split_paths(&path).any(|folder| folder.join(&need).is_file()),
            }
        };
        self.needs.iter().filter(|need| !there(need)).cloned().collect()
    }

    /// The command that installs it.
    pub fn install_command(&self) -> String {
        let base = self.home.parent().unwrap_or(Path::new("."));
        format!("{} {}", self.folder.join("install").display(), base.display())
    }
}

/// All peers of a folder, by name.
///
/// # Errors
/// A folder that cannot be read or has none; a description that is wrong.
pub fn read_all(folder: &Path, installed: &Path) -> Result<Vec<Peer>, LabError> {
    let entries = std::fs::read_dir(folder).map_err(|error| LabError::read(folder, error))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join(FILE).is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(LabError::read(
            folder,
            format!("no NAME/{FILE} in it; allowed: a folder of peers"),
        ));
    }
    folders.iter().map(|folder| Peer::read(folder, installed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"name = "a"
title = "A"
source = "somewhere"
version = "1.2"
needs = ["{home}/a"]
note = "as it is"
[client]
protocols = ["h3"]
command = ["{home}/a", "--url={url}", "-o", "{output}"]
[server]
protocols = ["h3", "h1"]
command = ["a", "{work}/conf"]
[server.files]
conf = "root {root}; listen {address}:{port}; { }"
"#;

    fn error(text: &str) -> (usize, String) {
        let error = Peer::parse("peer.toml", "a", text).expect_err("refused");
        (error.line, error.message.clone())
    }

    #[test]
    fn a_description_is_read_whole() {
        let peer = Peer::parse("peer.toml", "a", WHOLE).unwrap();
        let (client, server) = (peer.client.unwrap(), peer.server.unwrap());
        assert_eq!(
            client.command().collect::<Vec<_>>(),
            ["{home}/a", "--url={url}", "-o", "{output}"]
        );
        assert_eq!(server.protocols, [Protocol::H3, Protocol::H1]);
        assert_eq!(server.files().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, says) in [
            ("version = ", "verison = ", 4, "unknown field `verison`"),
            ("\"h3\", \"h1\"", "\"h3\", \"h4\"", 11, "h4"),
            ("{url}", "{uri}", 9, "no placeholder is named `uri`; allowed: `url`"),
            ("-o", "{root}", 9, "no placeholder is named `root`"),
            ("{port}", "{prot}", 14, "no placeholder is named `prot`"),
            ("name = \"a\"", "name = \"b\"", 1, "allowed: the folder's name"),
            ("needs = [\"{home}/a\"]", "needs = []", 5, "what tells that it is installed"),
            ("conf = ", "\"../conf\" = ", 14, "`../conf` is no file name"),
            ("command = [\"a\", \"{work}/conf\"]", "command = []", 12, "at least a program"),
        ] {
            let text = WHOLE.replace(from, to);
            assert_ne!(text, WHOLE, "{from}");
            let (at, message) = error(&text);
            assert!(at == line && message.contains(says), "{from} to {to}: {at}: {message}");
        }
        assert!(
            error("name = \"a\"\ntitle = \"\"\nsource = \"\"\nneeds = [\"a\"]\n")
                .1
                .contains("neither [client]")
        );
    }

    #[test]
    fn a_peer_without_what_it_needs_is_not_installed_and_says_how_to_install_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("peers/a");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join(FILE),
            WHOLE.replace("\"{home}/a\"", "\"{home}/a\", \"sh\", \"no-such-program\""),
        )
        .unwrap();
        let home = place.path().join("home");
        let peers = read_all(&place.path().join("peers"), &home).unwrap();
        assert_eq!(peers[0].missing(), ["{home}/a", "no-such-program"]);
        assert!(peers[0].install_command().ends_with("/home"), "{}", peers[0].install_command());
        std::fs::create_dir_all(home.join("a/bin")).unwrap();
        std::fs::write(home.join("a/a"), "").unwrap();
        std::fs::write(home.join("a/bin/no-such-program"), "").unwrap();
        assert!(peers[0].missing().is_empty());
        assert!(read_all(&home, &home).is_err());
    }

    #[test]
    fn protocols_are_known_by_the_names_that_clients_have_for_them() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::spoken(protocol.name()), Some(protocol));
        }
        assert_eq!(
            ["3", "2", "http/1.1", "0.9"].map(Protocol::spoken),
            [Some(Protocol::H3), Some(Protocol::H2), Some(Protocol::H1), None]
        );
    }
}

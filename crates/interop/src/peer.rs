//! `peer.toml`: the name, version, roles and commands of a peer.

use crate::Protocol;
use crate::placeholders::{CLIENT, SERVER, unknown};
use bentpipe_lab::LabError;
use bentpipe_scenario::{Problem, ScenarioError, Source};
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// File name of a peer's description, in the folder of the peer.
const FILE: &str = "peer.toml";
/// Maximum size of a description in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// A client or a server of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Protocols that it supports.
    pub protocols: Vec<Protocol>,
    /// Program and arguments, with placeholders.
    command: Spanned<Vec<Spanned<String>>>,
    /// Files that it reads, by name. They are written to `{work}` with their placeholders replaced.
    #[serde(default)]
    files: BTreeMap<String, Spanned<String>>,
    /// JSON pointer (RFC 6901) to the times in the JSON that a client prints.
    #[serde(default)]
    pub times: String,
}

impl Role {
    /// Returns program and arguments.
    pub fn command(&self) -> impl Iterator<Item = &str> {
        self.command.get_ref().iter().map(|word| word.get_ref().as_str())
    }

    /// Returns names and texts of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.get_ref().as_str()))
    }

    fn check(&self, allowed: &[&str]) -> Result<(), Problem> {
        let command = self.command.get_ref();
        if command.is_empty() || self.protocols.is_empty() {
            let message = "the command or the protocols are empty; allowed: at least a program \
                and one of `h3`, `h2`, `h1`";
            return Err(Problem::new(self.command.span(), message));
        }
        for (name, text) in &self.files {
            if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
                return Err(Problem::new(
                    text.span(),
                    format!(
                        "`{name}` is not a file name; allowed: a name without `/`, not starting \
                            with `.`"
                    ),
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

/// Content of `peer.toml`.
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

/// Software with a client, a server or both.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Name on command lines: the name of its folder.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// Source of the software.
    pub source: String,
    /// Version that its script installs; `None` for a program of the system.
    pub version: Option<String>,
    /// Command that prints the version of a program of the system.
    pub version_command: Vec<String>,
    /// Programs and files that must exist if the peer is installed.
    pub needs: Vec<String>,
    /// Notes on its settings.
    pub note: String,
    /// Its client.
    pub client: Option<Role>,
    /// Its server.
    pub server: Option<Role>,
    /// Folder of its description.
    pub folder: PathBuf,
    /// Folder in which its script installs it.
    pub home: PathBuf,
}

impl Peer {
    /// Reads `folder/peer.toml`. The peer is installed below `installed`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or has a wrong value, with its line.
    pub fn read(folder: &Path, installed: &Path) -> Result<Self, LabError> {
        let file = folder.join(FILE);
        let size = std::fs::metadata(&file).map_err(|error| LabError::read(&file, error))?.len();
        if size > MAX_BYTES {
            return Err(LabError::read(&file, format!("{size} bytes; allowed: up to {MAX_BYTES}")));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| LabError::read(&file, error))?;
        let name =
            folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut peer = Self::parse(&file.display().to_string(), &name, &text)?;
        peer.home = installed.join(&peer.name);
        peer.folder = folder.to_owned();
        Ok(peer)
    }

    /// Parses a description in the folder named `folder`. Errors refer to it as `file`.
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
            let message = "`needs` is empty; allowed: programs and files of the installed peer";
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

    /// Returns the `PATH` of the peer's programs: its own folders before those of the system.
    pub fn search_path(&self) -> std::ffi::OsString {
        let own = ["bin", "usr/bin", "usr/sbin"].map(|part| self.home.join(part));
        let system = std::env::var_os("PATH").unwrap_or_default();
        // A folder with a colon in its name cannot be in `PATH`. Then only those of the system are.
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system)))
            .unwrap_or(system)
    }

    /// Returns the required programs and files that are missing.
    pub fn missing(&self) -> Vec<String> {
        let path = self.search_path();
        let exists = |need: &str| {
            let need = need.replace("{home}", &self.home.to_string_lossy());
            match need.contains('/') {
                true => Path::new(&need).exists(),
                false => std::env::split_paths(&path).any(|folder| folder.join(&need).is_file()),
            }
        };
        self.needs.iter().filter(|need| !exists(need)).cloned().collect()
    }

    /// Returns the command that installs the peer.
    pub fn install_command(&self) -> String {
        let base = self.home.parent().unwrap_or(Path::new("."));
        format!("{} {}", self.folder.join("install").display(), base.display())
    }
}

/// Reads all peers of a folder, sorted by name.
///
/// # Errors
/// Returns an error if the folder cannot be read or has no peers, or if a description is wrong.
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
    fn a_complete_description_is_read() {
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
    fn errors_have_the_line_of_the_wrong_value() {
        for (from, to, line, says) in [
            ("version = ", "verison = ", 4, "unknown field `verison`"),
            ("\"h3\", \"h1\"", "\"h3\", \"h4\"", 11, "h4"),
            ("{url}", "{uri}", 9, "no placeholder is named `uri`; allowed: `url`"),
            ("-o", "{root}", 9, "no placeholder is named `root`"),
            ("{port}", "{prot}", 14, "no placeholder is named `prot`"),
            ("name = \"a\"", "name = \"b\"", 1, "allowed: the folder's name"),
            ("needs = [\"{home}/a\"]", "needs = []", 5, "`needs` is empty"),
            ("conf = ", "\"../conf\" = ", 14, "`../conf` is not a file name"),
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
    fn a_peer_with_missing_files_is_not_installed_and_has_an_install_command() {
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
}

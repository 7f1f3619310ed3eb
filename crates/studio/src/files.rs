//! The scenario files of a directory, and nothing outside it.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Largest text of a scenario, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// Largest number of scenarios in the list.
const MAX_FILES: usize = 1000;
/// Levels of directories that are searched.
const MAX_DEPTH: usize = 4;
/// Longest name of a directory that is made, in bytes.
const MAX_DIRECTORY_NAME: usize = 100;

/// Why a file cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The name is no name of a scenario.
    #[error("`{0}` is no scenario; allowed: names below the directory that end in .toml")]
    Name(String),
    /// The name is none of a new directory.
    #[error("`{name}` {problem}; allowed: the name of a new directory, without dots first and /")]
    NewDirectory {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The text is too large, or not UTF-8.
    #[error("{name}: {reason}")]
    Content {
        /// The file.
        name: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// The system refuses.
    #[error("{name}: {source}")]
    Io {
        /// The file or directory.
        name: String,
        /// The reason.
        source: io::Error,
    },
}

impl FileError {
    fn io(name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { name: name.to_owned(), source }
    }

    fn content(name: &str, reason: &str) -> Self {
        Self::Content { name: name.to_owned(), reason: reason.to_owned() }
    }
}

/// What a text is to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    /// Nothing: the file is new.
    Nothing,
    /// The text with this [`digest`].
    Text(String),
}

/// Whether a text was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It was.
    Done,
    /// It was not: the file has this text, which is not the one to be replaced. `None` if it does
    /// not exist any more.
    Conflict(Option<String>),
}

/// Returns the SHA-256 of a text in hexadecimal digits.
pub fn digest(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A directory with scenarios. Names are relative to it; links that lead out of it are errors.
#[derive(Debug)]
pub struct Directory {
    dir: Dir,
    path: PathBuf,
    /// Held while a file is written: two writers of one file would share its partial file.
    writing: Mutex<()>,
}

impl Directory {
    /// Opens a directory.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let name = path.display().to_string();
        let path = path.canonicalize().map_err(FileError::io(&name))?;
        let dir =
            Dir::open_ambient_dir(&path, ambient_authority()).map_err(FileError::io(&name))?;
        Ok(Self { dir, path, writing: Mutex::default() })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns names and titles of all scenarios, sorted, up to a number and a depth. Hidden
    /// directories and those of results are left out.
    pub fn list(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        list(&self.dir, Path::new(""), MAX_DEPTH, &mut found);
        found.sort();
        found
    }

    /// Reads the scenario `name`.
    ///
    /// # Errors
    /// It is not one, or cannot be read.
    pub fn read(&self, name: &str) -> Result<String, FileError> {
        let path = scenario(name)?;
        // Before it is opened: that waits for the writer of a pipe.
        if !self.dir.metadata(path).map_err(FileError::io(name))?.is_file() {
            return Err(FileError::content(name, "is not a regular file"));
        }
        let file = self.dir.open(path).map_err(FileError::io(name))?;
        let mut bytes = Vec::new();
        file.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(FileError::io(name))?;
        if bytes.len() > MAX_TEXT {
            return Err(FileError::content(name, "is larger than 1 MB, the most allowed"));
        }
        String::from_utf8(bytes).map_err(|_| FileError::content(name, "is not UTF-8"))
    }

    /// Writes the scenario `name` if it still has the text to be replaced. It keeps that until the
    /// new one is complete, and its mode.
    ///
    /// # Errors
    /// It is not one, or cannot be written.
    pub fn write(&self, name: &str, text: &str, replaced: &Replaced) -> Result<Written, FileError> {
        let path = scenario(name)?;
        if text.len() > MAX_TEXT {
            return Err(FileError::content(name, "is larger than 1 MB, the most allowed"));
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (present, permissions) = match self.dir.symlink_metadata(path) {
            Ok(metadata) if !metadata.is_file() => {
                return Err(FileError::content(name, "is not a regular file"));
            }
            Ok(metadata) => (Some(self.read(name)?), Some(metadata.permissions())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
            Err(error) => return Err(FileError::io(name)(error)),
        };
        // The text that is there already may be saved again.
        let same = present.as_deref() == Some(text);
        let expected = match replaced {
            Replaced::Nothing => present.is_none(),
            Replaced::Text(known) => present.as_deref().is_some_and(|now| digest(now) == *known),
        };
        if !expected && !same {
            return Ok(Written::Conflict(present));
        }
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let partial = path.with_file_name(format!(".{file_name}.partial-{}", std::process::id()));
        let written = self
            .dir
            .create(&partial)
            .and_then(|mut file| {
                // Before the text, which may be private.
                permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
                file.write_all(text.as_bytes())
            })
            .and_then(|()| self.dir.rename(&partial, &self.dir, path));
        if written.is_err() {
            // It may not exist.
            let _ = self.dir.remove_file(&partial);
        }
        written.map(|()| Written::Done).map_err(FileError::io(name))
    }

    /// Checks that `name` may be that of a directory of scenarios, and that nothing has it.
    ///
    /// # Errors
    /// It may not, or something has.
    pub fn check_new(&self, name: &str) -> Result<(), FileError> {
        let refused = |problem| FileError::NewDirectory { name: name.to_owned(), problem };
        let mut parts = Path::new(name).components();
        let single = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
        let named = single && !name.starts_with('.') && !name.contains(['/', '\\']);
        if !named || name.contains(char::is_control) || name.len() > MAX_DIRECTORY_NAME {
            return Err(refused("is no name"));
        }
        if is_skipped(name) {
            return Err(refused("is no place for scenarios"));
        }
        // Of a link, whether it leads anywhere or not.
        match self.dir.symlink_metadata(name) {
            Ok(_) => Err(refused("exists")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(FileError::io(name)(error)),
        }
    }

    /// Makes the directory `name` with these files, or nothing. The first file comes last, as it
    /// names the others.
    ///
    /// # Errors
    /// [`check_new`](Self::check_new) refuses the name, or the system a file.
    pub fn make(&self, name: &str, files: &[(String, String)]) -> Result<(), FileError> {
        self.check_new(name)?;
        self.dir.create_dir(name).map_err(FileError::io(name))?;
        let fill = || {
            let inner = self.dir.open_dir(name)?;
            let mut new = cap_std::fs::OpenOptions::new();
            new.write(true).create_new(true);
            for (file, text) in files.iter().rev() {
                inner.open_with(file, &new)?.write_all(text.as_bytes())?;
            }
            Ok(())
        };
        let filled: io::Result<()> = fill();
        filled.map_err(|error| {
            // What was made of it, so that the name is free again.
            let _ = self.dir.remove_dir_all(name);
            FileError::io(name)(error)
        })
    }

    /// Returns the directory of the files that the scenario `name` mentions.
    ///
    /// # Errors
    /// It is not one.
    pub fn base(&self, name: &str) -> Result<PathBuf, FileError> {
        Ok(self.path.join(scenario(name)?.parent().unwrap_or(Path::new(""))))
    }
}

/// Whether a directory of this name has no scenarios of its own.
fn is_skipped(name: &str) -> bool {
    matches!(name, "out" | "target" | "node_modules")
}

/// Returns `name` as a path if it may be the name of a scenario.
fn scenario(name: &str) -> Result<&Path, FileError> {
    let path = Path::new(name);
    let normal = |part: Component| match part {
        Component::Normal(part) => !part.to_string_lossy().starts_with('.'),
        _ => false,
    };
    let fine = path.components().all(normal)
        && path.extension().is_some_and(|extension| extension == "toml")
        && !name.contains(char::is_control);
    fine.then_some(path).ok_or_else(|| FileError::Name(name.to_owned()))
}

fn list(dir: &Dir, prefix: &Path, depth: usize, found: &mut Vec<(String, String)>) {
    let Ok(entries) = dir.entries() else { return };
    for entry in entries.flatten() {
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let path = prefix.join(name);
        if kind.is_file()
            && scenario(name).is_ok()
            && let Some(title) = title(dir, name)
        {
            if found.len() == MAX_FILES {
                return;
            }
            found.extend(path.to_str().map(|path| (path.to_owned(), title)));
        } else if kind.is_dir()
            && depth > 0
            && !is_skipped(name)
            && let Ok(inner) = entry.open_dir()
        {
            list(&inner, &path, depth - 1, found);
        }
    }
}

/// Returns the title of a file that looks like a scenario, empty if it has none: other TOML files,
/// such as `Cargo.toml`, have no table `path`, `flow` or `orbit`.
fn title(dir: &Dir, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    dir.open(name).ok()?.take(64 << 10).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let key = |line: &str, key: &str| {
        let line = line.trim_start().trim_start_matches('[');
        line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '=', '.', ']']))
    };
    let tables = ["path", "hop", "flow", "orbit", "workload"];
    if !text.lines().any(|line| tables.iter().any(|table| key(line, table))) {
        return None;
    }
    // Of one line: the rest of the file may be broken.
    let line =
        text.lines().take_while(|line| !line.starts_with('[')).find(|&line| key(line, "title"));
    let document = line.and_then(|line| line.parse::<toml_edit::DocumentMut>().ok());
    let title = document.as_ref().and_then(|document| document.get("title")?.as_str());
    Some(title.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn directory() -> (tempfile::TempDir, Directory) {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("secret.toml"), "[path]\n").unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir_all(inner.join("deep")).unwrap();
        let text = "title = \"A \\\"path\\\"\" # of one\n[path]\ntitle = \"no\"\n";
        fs::write(inner.join("a.toml"), text).unwrap();
        fs::write(inner.join("deep/b.toml"), "[[flow]]\n").unwrap();
        fs::write(inner.join("Cargo.toml"), "[package]\n").unwrap();
        let directory = Directory::open(&inner).unwrap();
        (outer, directory)
    }

    #[test]
    fn scenarios_are_listed_and_other_files_not() {
        let (_outer, directory) = directory();
        let list = directory.list();
        let list: Vec<_> =
            list.iter().map(|(name, title)| (name.as_str(), title.as_str())).collect();
        assert_eq!(list, [("a.toml", "A \"path\""), ("deep/b.toml", "")]);
    }

    #[test]
    fn names_outside_the_directory_are_refused() {
        let (_outer, directory) = directory();
        let names = [
            "../secret.toml",
            "/etc/x.toml",
            "a",
            "a.txt",
            "",
            ".a.toml",
            "deep/../a.toml",
            "\0",
            "a\n.toml",
            "out\u{9b}.toml",
        ];
        for name in names {
            assert!(matches!(directory.read(name), Err(FileError::Name(_))), "{name}");
            let written = directory.write(name, "", &Replaced::Nothing);
            assert!(matches!(written, Err(FileError::Name(_))), "{name}");
        }
    }

    #[test]
    fn links_out_of_the_directory_are_not_followed() {
        let (outer, directory) = directory();
        let inner = outer.path().join("inner");
        std::os::unix::fs::symlink("../secret.toml", inner.join("link.toml")).unwrap();
        std::os::unix::fs::symlink("..", inner.join("up")).unwrap();
        for name in ["link.toml", "up/secret.toml"] {
            assert!(directory.read(name).is_err(), "{name}");
            assert!(directory.write(name, "x", &Replaced::Nothing).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(outer.path().join("secret.toml")).unwrap(), "[path]\n");
    }

    #[test]
    fn a_directory_is_made_where_nothing_is() {
        let (outer, directory) = directory();
        let inner = outer.path().join("inner");
        let elsewhere = outer.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink("../elsewhere", inner.join("link")).unwrap();
        std::os::unix::fs::symlink("../nowhere", inner.join("broken")).unwrap();
        let files = [("scenario.toml", "[path]\n"), ("up.csv", "x")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()));
        let names = ["deep", "a.toml", "link", "broken", "..", ".", "", ".x", "/x", "../x", "x/y"];
        let more = ["out", "target", "a\nb", "x\\y", "deep/", "./x"];
        let long = "x".repeat(MAX_DIRECTORY_NAME + 1);
        for name in names.into_iter().chain(more).chain([long.as_str()]) {
            let error = directory.make(name, &files).unwrap_err().to_string();
            assert!(error.contains("allowed: the name of a new directory"), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        assert!(!outer.path().join("nowhere").exists() && !outer.path().join("x").exists());
        directory.make("new", &files).unwrap();
        assert_eq!(directory.read("new/scenario.toml").unwrap(), "[path]\n");
        // A file that cannot be made leaves nothing of the others.
        let bad = [files[0].clone(), ("../up.csv".to_owned(), String::new())];
        assert!(directory.make("half", &bad).is_err());
        assert!(!inner.join("half").exists() && !inner.join("up.csv").exists());
    }

    #[test]
    fn a_text_is_replaced_as_a_whole() {
        let (outer, directory) = directory();
        let old = Replaced::Text(digest(&directory.read("a.toml").unwrap()));
        assert_eq!(directory.write("a.toml", "new", &old).unwrap(), Written::Done);
        assert_eq!(directory.read("a.toml").unwrap(), "new");
        let names = fs::read_dir(outer.path().join("inner")).unwrap().count();
        assert_eq!(names, 3, "a partial file is left");
    }

    #[test]
    fn a_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let (outer, directory) = directory();
        let file = outer.path().join("inner/a.toml");
        for mode in [0o600, 0o664, 0o444] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let old = Replaced::Text(digest(&directory.read("a.toml").unwrap()));
            let text = format!("{mode:o}");
            assert_eq!(directory.write("a.toml", &text, &old).unwrap(), Written::Done);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            let now = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(now & 0o7777, mode, "{mode:o}");
        }
    }

    #[test]
    fn a_text_that_somebody_else_has_changed_is_kept() {
        let (outer, directory) = directory();
        let opened = Replaced::Text(digest(&directory.read("a.toml").unwrap()));
        let file = outer.path().join("inner/a.toml");
        fs::write(&file, "theirs").unwrap();
        let conflict = Written::Conflict(Some("theirs".to_owned()));
        assert_eq!(directory.write("a.toml", "ours", &opened).unwrap(), conflict);
        assert_eq!(directory.write("a.toml", "ours", &Replaced::Nothing).unwrap(), conflict);
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        // Who has seen their text may replace it.
        let seen = Replaced::Text(digest("theirs"));
        assert_eq!(directory.write("a.toml", "ours", &seen).unwrap(), Written::Done);
        fs::remove_file(&file).unwrap();
        let removed = directory.write("a.toml", "ours", &seen).unwrap();
        assert_eq!((removed, file.exists()), (Written::Conflict(None), false));
        assert_eq!(directory.write("b.toml", "new", &Replaced::Nothing).unwrap(), Written::Done);
        assert_eq!(directory.read("b.toml").unwrap(), "new");
    }

    #[test]
    fn writers_of_one_file_do_not_mix() {
        let (_outer, directory) = directory();
        let directory = &directory;
        std::thread::scope(|scope| {
            // The first one may be the last to begin.
            let old = Replaced::Text(digest(&directory.read("a.toml").unwrap()));
            directory.write("a.toml", "a", &old).unwrap();
            for (length, letter) in [(1, "a"), (100_000, "b"), (50_000, "c"), (200_000, "d")] {
                let text = letter.repeat(length);
                scope.spawn(move || {
                    for _ in 0..50 {
                        let old = Replaced::Text(digest(&directory.read("a.toml").unwrap()));
                        directory.write("a.toml", &text, &old).unwrap();
                        let read = directory.read("a.toml").unwrap();
                        let whole = [1, 100_000, 50_000, 200_000].contains(&read.len());
                        assert!(whole && read.bytes().all(|byte| byte == read.as_bytes()[0]));
                    }
                });
            }
        });
    }
}

//! Files that a configuration names: in a directory, or handed over by the caller.

use flate2::bufread::MultiGzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest size of an input file, in bytes. A day of a trace with a line per packet is smaller.
pub const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Reads the files that a configuration names.
pub trait ReadFiles {
    /// Returns the text of the file called `name` in the configuration.
    ///
    /// # Errors
    /// The file does not exist, is no regular file, is larger than [`MAX_INPUT_BYTES`], or is not
    /// UTF-8.
    fn read(&self, name: &Path) -> io::Result<Arc<str>>;

    /// Returns where the file is, for messages.
    fn location(&self, name: &Path) -> PathBuf {
        name.to_owned()
    }
}

impl<T: ReadFiles + ?Sized> ReadFiles for &T {
    fn read(&self, name: &Path) -> io::Result<Arc<str>> {
        (**self).read(name)
    }

    fn location(&self, name: &Path) -> PathBuf {
        (**self).location(name)
    }
}

/// Names are relative to this directory.
impl ReadFiles for Path {
    fn read(&self, name: &Path) -> io::Result<Arc<str>> {
        read_regular(&self.join(name))
    }

    fn location(&self, name: &Path) -> PathBuf {
        self.join(name)
    }
}

/// Reads a regular file of at most [`MAX_INPUT_BYTES`]; of a name that ends in `.gz`, its content.
/// A device such as `/dev/zero` has no end.
fn read_regular(path: &Path) -> io::Result<Arc<str>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        let reason = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    if metadata.len() > MAX_INPUT_BYTES {
        let reason = format!("it has {} bytes; allowed: {MAX_INPUT_BYTES}", metadata.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(std::fs::read_to_string(path)?.into());
    }
    let file = BufReader::new(std::fs::File::open(path)?);
    let mut text = String::new();
    MultiGzDecoder::new(file).take(MAX_INPUT_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_INPUT_BYTES {
        let reason = format!("its content has more than {MAX_INPUT_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(text.into())
}

/// Returns how an error shows a line of an input file: as it is if it looks like a quantity.
/// Otherwise the file may be another one, such as one of passwords.
pub fn shown_line(line: &str) -> &str {
    let quantity = line.chars().all(|c| c.is_ascii_digit() || "+-., eE_kMGBms".contains(c));
    if quantity && line.len() <= 20 { line } else { "the line" }
}

/// Files that a scenario names, each read once, with a record of which ones were used.
#[derive(Debug)]
pub struct InputFiles {
    /// Directory of the scenario. `None` if `state` has all files.
    directory: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    texts: BTreeMap<PathBuf, Arc<str>>,
    /// Files read since the last call of [`InputFiles::take_used`].
    used: BTreeSet<PathBuf>,
}

impl InputFiles {
    /// Creates the files of a scenario in `directory`.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), state: Mutex::default() }
    }

    /// Creates files from their names and texts. No others can be read.
    pub fn from_texts(texts: BTreeMap<PathBuf, Arc<str>>) -> Self {
        let state = State { texts, used: BTreeSet::new() };
        Self { directory: None, state: Mutex::new(state) }
    }

    /// Returns the names and texts of all files that were read.
    pub fn texts(&self) -> BTreeMap<PathBuf, Arc<str>> {
        self.state().texts.clone()
    }

    /// Returns the names and texts of the files read since the last call.
    pub fn take_used(&self) -> BTreeMap<PathBuf, Arc<str>> {
        let mut state = self.state();
        let used = std::mem::take(&mut state.used);
        let text = |name: PathBuf| state.texts.get(&name).map(|text| (name, Arc::clone(text)));
        used.into_iter().filter_map(text).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadFiles for InputFiles {
    fn read(&self, name: &Path) -> io::Result<Arc<str>> {
        let mut state = self.state();
        let text = match (state.texts.get(name), &self.directory) {
            (Some(text), _) => Arc::clone(text),
            (None, Some(directory)) => read_regular(&directory.join(name))?,
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        state.texts.insert(name.to_owned(), Arc::clone(&text));
        state.used.insert(name.to_owned());
        Ok(text)
    }

    fn location(&self, name: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| name.to_owned(), |directory| directory.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_and_reported_as_used_each_time() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "1").unwrap();
        let files = InputFiles::in_directory(directory.path());
        assert_eq!(&*files.read(Path::new("a")).unwrap(), "1");
        std::fs::write(directory.path().join("a"), "2").unwrap();
        assert_eq!(files.take_used().len(), 1);
        assert!(files.take_used().is_empty());
        assert_eq!(&*files.read(Path::new("a")).unwrap(), "1");
        assert_eq!(files.take_used().len(), 1);
        let copy = InputFiles::from_texts(files.texts());
        assert_eq!(&*copy.read(Path::new("a")).unwrap(), "1");
        assert!(copy.read(Path::new("b")).is_err());
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let error = directory.path().read(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        assert!(directory.path().read(Path::new(".")).is_err());
        let large = std::fs::File::create(directory.path().join("large")).unwrap();
        large.set_len(MAX_INPUT_BYTES + 1).unwrap();
        let error = directory.path().read(Path::new("large")).unwrap_err();
        assert!(error.to_string().contains("268435457 bytes"), "{error}");
    }
}

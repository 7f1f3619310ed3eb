//! The directory that is served.

use super::coding::Coding;
use super::conditional::Validators;
use super::content_type;
use super::path::RequestPath;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that is served for a directory.
const INDEX: &str = "index.html";

/// A directory whose files may be served. Symbolic links are followed within the directory. Paths
/// that lead out of it are not found, even if the tree changes during the lookup, because the
/// system itself resolves names below the directory if it can (openat2 on Linux).
#[derive(Debug, Clone)]
pub struct Root(Arc<Dir>);

/// An open file that may be served.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// Its length when it was opened, bytes.
    pub length: u64,
    /// Identifies its version.
    pub validators: Validators,
    /// Where it is, to open it again.
    pub stored: StoredFile,
    /// Its media type, before it was compressed.
    pub content_type: &'static str,
    /// The content coding that it has.
    pub coding: Option<Coding>,
}

/// A version of a file below a directory.
#[derive(Debug, Clone)]
pub struct StoredFile {
    root: Root,
    below: PathBuf,
    /// Entity tag of the version, before it was compressed.
    etag: String,
}

impl StoredFile {
    /// Opens the file. Blocks.
    ///
    /// # Errors
    /// It cannot be read, or holds another version now.
    pub fn open(&self) -> io::Result<File> {
        let opened = self.root.file(&self.below)?;
        if opened.validators.etag != self.etag {
            return Err(io::Error::other("the file was replaced while it was sent"));
        }
        Ok(opened.file)
    }
}

/// What a path leads to.
#[derive(Debug)]
pub enum Found {
    /// A file.
    File(OpenFile),
    /// A directory, although the path does not end in a slash. Relative links in it would be wrong.
    Directory,
}

impl Root {
    /// Opens `directory`.
    ///
    /// # Errors
    /// It does not exist, is not a directory or may not be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Dir::open_ambient_dir(directory, ambient_authority())?)))
    }

    /// Opens the file at `path`, or a compressed one beside it that has the first possible one of
    /// `codings`. Blocks.
    ///
    /// # Errors
    /// There is no regular file that can be read, or the path leads out of the directory.
    pub fn find(&self, path: &RequestPath, codings: &[Coding]) -> io::Result<Found> {
        let below = path.below();
        let is_root = below.as_os_str().is_empty();
        let is_directory = is_root || self.0.metadata(below)?.is_dir();
        match (is_directory, path.is_directory() || is_root) {
            (true, true) => self.coded(&below.join(INDEX), codings).map(Found::File),
            (true, false) => Ok(Found::Directory),
            (false, false) => self.coded(below, codings).map(Found::File),
            (false, true) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Opens the file `below`, or a compressed one beside it that is not older than it.
    fn coded(&self, below: &Path, codings: &[Coding]) -> io::Result<OpenFile> {
        let plain = self.file(below)?;
        if !content_type::is_compressible(plain.content_type) {
            return Ok(plain);
        }
        let OpenFile { content_type, ref validators, .. } = plain;
        let coded = codings.iter().find_map(|&coding| {
            let mut name = below.as_os_str().to_owned();
            name.push(coding.extension);
            let file = self.file(Path::new(&name)).ok()?;
            let validators = (file.validators.modified >= validators.modified)
                .then(|| file.validators.coded(coding.name))?;
            Some(OpenFile { validators, content_type, coding: Some(coding), ..file })
        });
        Ok(coded.unwrap_or(plain))
    }

    fn file(&self, below: &Path) -> io::Result<OpenFile> {
        let mut options = OpenOptions::new();
        options.read(true);
        // Opening a FIFO would otherwise wait for a writer.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
        let file = self.0.open_with(below, &options)?;
        let metadata: Metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let validators = Validators::new(metadata.modified()?.into_std(), metadata.len());
        let content_type = content_type::of(below);
        let stored = StoredFile {
            root: self.clone(),
            below: below.to_owned(),
            etag: validators.etag.clone(),
        };
        Ok(OpenFile {
            file: file.into_std(),
            length: metadata.len(),
            validators,
            stored,
            content_type,
            coding: None,
        })
    }
}

/// O_NONBLOCK.
#[cfg(unix)]
const NONBLOCK: i32 = {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        0o4000
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        0x4
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    fn find(root: &Root, path: &str) -> Option<OpenFile> {
        match root.find(&RequestPath::parse(path).unwrap(), &[]).ok()? {
            Found::File(opened) => Some(opened),
            Found::Directory => None,
        }
    }

    #[test]
    fn files_and_indexes_are_found() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d/index.html"), "hello").unwrap();
        std::fs::write(directory.path().join("f"), "file").unwrap();
        let root = Root::open(directory.path()).unwrap();
        assert_eq!(find(&root, "/f").unwrap().length, 4);
        assert_eq!(find(&root, "/d/").unwrap().length, 5);
        assert!(matches!(root.find(&RequestPath::parse("/d").unwrap(), &[]), Ok(Found::Directory)));
        for nothing in ["/", "/g", "/f/", "/f/g"] {
            assert!(find(&root, nothing).is_none(), "{nothing}");
        }
        assert!(Root::open(&directory.path().join("f")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out_and_fifos_do_not_block() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) = (directory.path().join("in"), directory.path().join("secret"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, "secret").unwrap();
        std::fs::write(inside.join("f"), "file").unwrap();
        symlink("f", inside.join("good")).unwrap();
        symlink("../secret", inside.join("relative")).unwrap();
        symlink(&outside, inside.join("absolute")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(inside.join("pipe")).status();
        let root = Root::open(&inside).unwrap();
        assert!(find(&root, "/good").is_some());
        for out in ["/relative", "/absolute", "/up/secret", "/up/"] {
            assert!(root.find(&RequestPath::parse(out).unwrap(), &[]).is_err(), "{out}");
        }
        assert!(made.unwrap().success());
        assert!(root.find(&RequestPath::parse("/pipe").unwrap(), &[]).is_err());
    }
}

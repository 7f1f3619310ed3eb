//! The directory that is served, and nothing beside it.

use super::conditional::Validators;
use super::{RequestPath, content_type};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a request for a directory is answered with.
const INDEX: &str = "index.html";

/// A directory whose files may be read. Symbolic links count while they lead to what is in it;
/// whatever leads out is not found, also where the tree changes while it is looked through: the
/// system itself resolves names below the directory, where it can (openat2 on Linux).
#[derive(Debug, Clone)]
pub struct Root(Arc<Dir>);

/// A file that may be sent.
#[derive(Debug)]
pub struct Opened {
    /// To read it.
    pub file: File,
    /// Bytes in it when it was opened.
    pub length: u64,
    /// What tells its versions apart.
    pub validators: Validators,
    /// Its media type.
    pub content_type: &'static str,
}

/// What is at a path.
#[derive(Debug)]
pub enum Found {
    /// A file.
    File(Opened),
    /// A directory, though the path does not end as that of one: its links would lead elsewhere.
    Directory,
}

impl Root {
    /// Opens `directory`.
    ///
    /// # Errors
    /// It does not exist, is no directory, or may not be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Dir::open_ambient_dir(directory, ambient_authority())?)))
    }

    /// Opens what is at `path`. Blocks.
    ///
    /// # Errors
    /// Nothing is there that can be read: no file, another kind of one, a way out.
    pub fn find(&self, path: &RequestPath) -> io::Result<Found> {
        let below = path.below();
        let named = below.as_os_str().is_empty();
        let is_directory = named || self.0.metadata(below)?.is_dir();
        match (is_directory, path.is_directory() || named) {
            (true, true) => self.file(&below.join(INDEX)).map(Found::File),
            (true, false) => Ok(Found::Directory),
            (false, false) => self.file(below).map(Found::File),
            (false, true) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn file(&self, below: &Path) -> io::Result<Opened> {
        let mut options = OpenOptions::new();
        options.read(true);
        // A pipe would otherwise be waited for.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
        let file = self.0.open_with(below, &options)?;
        let metadata: Metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let validators = Validators::new(metadata.modified()?.into_std(), metadata.len());
        let content_type = content_type::of(below);
        Ok(Opened { file: file.into_std(), length: metadata.len(), validators, content_type })
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

    fn find(root: &Root, path: &str) -> Option<Opened> {
        match root.find(&RequestPath::parse(path).unwrap()).ok()? {
            Found::File(opened) => Some(opened),
            Found::Directory => None,
        }
    }

    #[test]
    fn files_and_indexes_are_found_and_other_things_are_not() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        std::fs::write(place.path().join("d/index.html"), "hello").unwrap();
        std::fs::write(place.path().join("f"), "file").unwrap();
        let root = Root::open(place.path()).unwrap();
        assert_eq!(find(&root, "/f").unwrap().length, 4);
        assert_eq!(find(&root, "/d/").unwrap().length, 5);
        assert!(matches!(root.find(&RequestPath::parse("/d").unwrap()), Ok(Found::Directory)));
        for nothing in ["/", "/g", "/f/", "/f/g"] {
            assert!(find(&root, nothing).is_none(), "{nothing}");
        }
        assert!(Root::open(&place.path().join("f")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_and_never_out_and_pipes_do_not_block() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("secret"));
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
            assert!(root.find(&RequestPath::parse(out).unwrap()).is_err(), "{out}");
        }
        assert!(made.unwrap().success());
        assert!(root.find(&RequestPath::parse("/pipe").unwrap()).is_err());
    }
}

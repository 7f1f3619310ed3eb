//! Directories of runs: `out/studio/NUMBER-NAME` below the directory of the scenarios.
//!
//! Numbers go on from start to start, and no two runs have the same, not even those of two studios
//! of one directory: the largest is in a file, which is locked while it changes.

use bentpipe_lab::is_run;
use std::cmp::Reverse;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where results are, below the directory of the scenarios.
const BELOW: &str = "out/studio";
/// File with the largest number so far.
const LAST: &str = ".last";
/// Largest number: a name with a larger one is not ours.
const MAX_NUMBER: u64 = 999_999_999;

/// The directories of the runs of a directory of scenarios.
#[derive(Debug)]
pub struct RunDirectories {
    root: PathBuf,
}

impl RunDirectories {
    /// Returns those below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the directory of run number `number` of the scenario `name`.
    pub fn of(&self, number: u64, name: &str) -> PathBuf {
        self.root.join(BELOW).join(format!("{number:04}-{name}"))
    }

    /// Makes the directory around them. The directory of the scenarios may come from somebody else,
    /// with a link in this place.
    ///
    /// # Errors
    /// A part of its path is a link or a file, or cannot be created.
    pub fn create(&self) -> io::Result<PathBuf> {
        bentpipe_files::create_dir_below(&self.root, Path::new(BELOW))
    }

    /// Takes a number that no other run has.
    ///
    /// # Errors
    /// The file with the largest number cannot be written.
    pub fn take_number(&self) -> io::Result<u64> {
        let directory = self.create()?;
        let path = directory.join(LAST);
        // Opening a pipe waits for a reader.
        if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::other(format!("{} is not a file", path.display())));
        }
        let mut file = bentpipe_files::append(&path)?;
        file.lock()?;
        let mut text = String::new();
        fs::File::open(&path)?.take(20).read_to_string(&mut text)?;
        let last = text.trim().parse().ok().filter(|last| *last <= MAX_NUMBER).unwrap_or(0);
        let largest = numbered(&directory).map(|(number, _)| number).fold(last, u64::max);
        let next = largest + 1;
        if next > MAX_NUMBER {
            return Err(io::Error::other("no number of a run is left"));
        }
        file.set_len(0)?;
        writeln!(file, "{next}")?;
        Ok(next)
    }

    /// Removes the oldest directories beyond `kept`, those of earlier starts too.
    pub fn keep_newest(&self, kept: usize) {
        let Ok(directory) = self.create() else { return };
        let mut all: Vec<(u64, PathBuf)> = numbered(&directory).collect();
        all.sort_unstable_by_key(|(number, path)| Reverse((*number, path.clone())));
        for (_, path) in all.iter().skip(kept) {
            // Not what somebody has put there.
            if is_run(path) {
                // What remains does no harm.
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

/// Returns the directories in `directory` whose names begin with a number, in any order.
fn numbered(directory: &Path) -> impl Iterator<Item = (u64, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        // Not a link to one.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        let (digits, _) = name.to_str()?.split_once('-')?;
        let number = digits.parse().ok().filter(|number| *number <= MAX_NUMBER)?;
        (is_directory && digits.len() >= 4).then(|| (number, entry.path()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::MANIFEST;

    const OF_A_RUN: &str = r#"{ "version": "0.1.0", "clock": "virtual" }"#;

    fn names(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root.join(BELOW)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != LAST).collect();
        names.sort();
        names
    }

    fn run(directories: &RunDirectories, number: u64, name: &str) {
        let directory = directories.of(number, name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(MANIFEST), OF_A_RUN).unwrap();
    }

    #[test]
    fn numbers_are_taken_once() {
        let root = tempfile::tempdir().unwrap();
        let taken = std::sync::Mutex::new(Vec::new());
        // Studios that know nothing of each other.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let number = RunDirectories::new(root.path()).take_number().unwrap();
                        taken.lock().unwrap().push(number);
                    }
                });
            }
        });
        let mut taken = taken.into_inner().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, (1..=100).collect::<Vec<u64>>());
        // Nor does a run of a version that kept no such file lose its place.
        let directories = RunDirectories::new(root.path());
        run(&directories, 300, "x");
        fs::remove_file(root.path().join(BELOW).join(LAST)).unwrap();
        assert_eq!(directories.take_number().unwrap(), 301);
    }

    #[test]
    fn the_newest_directories_of_all_starts_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let directories = RunDirectories::new(root.path());
        for (number, name) in [(1, "first"), (1, "slow"), (2, "first"), (10_000, "x"), (9, "x")] {
            run(&directories, number, name);
        }
        // What is not ours stays.
        for name in ["0000-app", "0000-notes", "1-x", "notes-1", "99999999999999999999-x"] {
            fs::create_dir(root.path().join(BELOW).join(name)).unwrap();
        }
        let other = root.path().join(BELOW).join("0000-app").join(MANIFEST);
        fs::write(other, r#"{ "version": "1.0", "icons": [] }"#).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(MANIFEST), OF_A_RUN).unwrap();
        let link = root.path().join(BELOW).join("0000-link");
        std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
        directories.keep_newest(3);
        let kept =
            ["0000-app", "0000-link", "0000-notes", "0002-first", "0009-x", "1-x", "10000-x"];
        let others = ["99999999999999999999-x", "notes-1"];
        assert_eq!(names(root.path()), [&kept[..], &others].concat());
        assert!(elsewhere.path().join(MANIFEST).exists());
    }

    #[test]
    fn a_file_of_somebody_else_gives_no_number() {
        let root = tempfile::tempdir().unwrap();
        let directories = RunDirectories::new(root.path());
        let last = directories.create().unwrap().join(LAST);
        fs::write(&last, "99999999999999999999").unwrap();
        assert_eq!(directories.take_number().unwrap(), 1, "it is none");
        fs::remove_file(&last).unwrap();
        let outside = root.path().join("outside");
        fs::write(&outside, "precious").unwrap();
        std::os::unix::fs::symlink(&outside, &last).unwrap();
        assert!(directories.take_number().is_err());
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    }
}

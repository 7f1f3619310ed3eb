//! Runs in the files of shards.

use super::RunStore;
use super::stored_run::StoredRun;
use crate::error::LabError;
use crate::plan::{Plan, Task};
use crate::task_id::TaskId;
use bentpipe_files::check_below;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Name of the file in the run directory of a shard. Each record is an identity of 32 bytes, a
/// length of 8 bytes (little-endian), and the bytes of [`StoredRun::to_bytes`].
pub const RECORDS: &str = "records.bin";

/// Returns a record as it stands in the file.
pub(crate) fn entry(id: &TaskId, record: &StoredRun) -> Vec<u8> {
    let bytes = record.to_bytes();
    [id.as_bytes().as_slice(), &(bytes.len() as u64).to_le_bytes(), &bytes].concat()
}

/// The records of several shards.
#[derive(Debug, Default)]
pub struct ShardFiles {
    files: Vec<Mutex<File>>,
    /// File, offset and length of each record.
    index: HashMap<[u8; 32], (usize, u64, usize)>,
}

impl ShardFiles {
    /// Opens the records of the run directories `directories`.
    ///
    /// # Errors
    /// A file does not exist, or is cut off.
    pub fn open(directories: &[PathBuf]) -> Result<Self, LabError> {
        let mut files = Self::default();
        for directory in directories {
            files.add(directory)?;
        }
        Ok(files)
    }

    fn add(&mut self, directory: &Path) -> Result<(), LabError> {
        let path = directory.join(RECORDS);
        let failed = |error: std::io::Error| {
            LabError::read(&path, format!("{error}; allowed: directories that `run --shard` wrote"))
        };
        check_below(directory, Path::new(RECORDS)).map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::new(file);
        let mut at = 0;
        while at < size {
            let (mut id, mut length) = ([0; 32], [0; 8]);
            reader.read_exact(&mut id).map_err(failed)?;
            reader.read_exact(&mut length).map_err(failed)?;
            at += 40;
            let length = u64::from_le_bytes(length);
            if length > size - at {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
            }
            self.index.insert(id, (self.files.len(), at, length as usize));
            at += length;
            reader.seek_relative(length as i64).map_err(failed)?;
        }
        self.files.push(Mutex::new(reader.into_inner()));
        Ok(())
    }
}

impl RunStore for ShardFiles {
    fn record(&self, plan: &Plan, task: Task) -> Option<StoredRun> {
        let &(file, offset, length) = self.index.get(plan.task_id(task)?.as_bytes())?;
        let mut bytes = vec![0; length];
        let mut file = self.files[file].lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes)).ok()?;
        StoredRun::from_bytes(&bytes).ok()
    }

    fn keep(&self, _: &Plan, _: Task, _: &StoredRun) {}
}

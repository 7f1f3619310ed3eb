//! The file of a request.

use crate::Error;
use std::path::{Path, PathBuf};
use tokio::fs::File;

/// Size of the pieces in which files are read, in bytes.
pub const PIECE: usize = 64 * 1024;

/// A directory whose files are served, without its subdirectories.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// Serves the files of `directory`.
    pub fn new(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// Opens the file of a path with one component. Returns it with its size in bytes.
    ///
    /// # Errors
    /// The file does not exist, or the path has another form.
    pub async fn open(&self, path: &str) -> Result<(File, u64), Error> {
        let name = path.strip_prefix('/').filter(|name| {
            !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '%', '\0'])
        });
        let name = name.ok_or("the path is no file name")?;
        let file = File::open(self.0.join(name)).await?;
        let data = file.metadata().await?;
        if data.is_file() { Ok((file, data.len())) } else { Err("not a file".into()) }
    }
}

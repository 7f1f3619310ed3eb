//! Which file a request is for.

use crate::Error;
use std::path::{Path, PathBuf};
use tokio::fs::File;

/// How much of a file is read at a time.
pub const PIECE: usize = 64 * 1024;

/// A directory of files, without those below it.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// Files of `directory`.
    pub fn new(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// The file that a path of one part names, and its size.
    ///
    /// # Errors
    /// There is none of that name, or the path has another form.
    pub async fn open(&self, path: &str) -> Result<(File, u64), Error> {
        let name = path
            .strip_prefix('/')
            .filter(|name| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '%', '\0']));
        let name = name.ok_or("not a file's name")?;
        let file = File::open(self.0.join(name)).await?;
        let data = file.metadata().await?;
        if data.is_file() { Ok((file, data.len())) } else { Err("not a file".into()) }
    }
}

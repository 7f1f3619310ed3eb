//! What this command was built from.

/// Version and commit, as `bentpipe --version` prints them.
pub const VERSION: &str = if COMMIT.is_empty() {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("BENTPIPE_COMMIT"), ")")
};

const COMMIT: &str = env!("BENTPIPE_COMMIT");

/// The commit that the command was built from; `None` outside a repository.
pub fn commit() -> Option<String> {
    (!COMMIT.is_empty()).then(|| COMMIT.to_owned())
}

//! Default files for paths and tokens.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the default path store: `$XDG_STATE_HOME/bentpipe/paths.sqlite`, or
/// `$HOME/.local/state/bentpipe/paths.sqlite` if that variable is not set (XDG Base Directory
/// Specification 0.8). `None` if neither variable holds an absolute path. The specification says to
/// ignore relative ones.
pub fn default_store() -> Option<PathBuf> {
    state_file("paths.sqlite")
}

/// Returns the default token file: `tokens.sqlite` in the directory of [`default_store`].
pub fn default_tokens() -> Option<PathBuf> {
    state_file("tokens.sqlite")
}

/// Returns the default file for the keys and TLS sessions of a server: `server.sqlite` in the
/// directory of [`default_store`].
pub fn default_keys() -> Option<PathBuf> {
    state_file("server.sqlite")
}

fn state_file(name: &str) -> Option<PathBuf> {
    let directory = state_in(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
    directory.map(|directory| directory.join(name))
}

fn state_in(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| absolute(home).map(|home| home.join(".local/state")))?;
    Some(state.join("bentpipe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_files_follow_the_xdg_specification() {
        let store = |state: &str, home: &str| state_in(Some(state.into()), Some(home.into()));
        assert_eq!(store("/s", "/h"), Some("/s/bentpipe".into()));
        assert_eq!(store("s", "/h"), Some("/h/.local/state/bentpipe".into()));
        assert_eq!(store("", "h"), None);
        assert_eq!(state_in(None, None), None);
    }
}

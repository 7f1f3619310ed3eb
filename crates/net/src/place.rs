//! Where the path store is when nobody says so.

use std::ffi::OsString;
use std::path::PathBuf;

/// `$XDG_STATE_HOME/bentpipe/paths.sqlite`, or `$HOME/.local/state/bentpipe/paths.sqlite` where the
/// former is not set (XDG Base Directory Specification 0.8: state is what a program may keep
/// between runs and could do without). Nothing where neither says an absolute path; relative ones
/// are to be ignored, as the specification asks.
pub fn default_store() -> Option<PathBuf> {
    state_in(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
        .map(|state| state.join("paths.sqlite"))
}

/// `tokens.sqlite` beside it: what servers gave a client.
pub fn default_tokens() -> Option<PathBuf> {
    state_in(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
        .map(|state| state.join("tokens.sqlite"))
}

fn state_in(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |place: Option<OsString>| place.map(PathBuf::from).filter(|place| place.is_absolute());
    let state = absolute(state).or_else(|| absolute(home).map(|home| home.join(".local/state")))?;
    Some(state.join("bentpipe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_where_xdg_says() {
        let store = |state: &str, home: &str| state_in(Some(state.into()), Some(home.into()));
        assert_eq!(store("/s", "/h"), Some("/s/bentpipe".into()));
        assert_eq!(store("s", "/h"), Some("/h/.local/state/bentpipe".into()));
        assert_eq!(store("", "h"), None);
        assert_eq!(state_in(None, None), None);
    }
}

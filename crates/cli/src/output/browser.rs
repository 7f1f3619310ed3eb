//! Shows something in the browser of the desktop.

use crate::output::say;
use std::process::{Command, Stdio};

/// Asks the desktop to show `url`, an address or a file. Without one, the user has the address.
pub fn open(url: &str) {
    let desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let program = match std::env::consts::OS {
        "macos" => "open",
        _ if desktop => "xdg-open",
        _ => return,
    };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        say!("open the address above in a browser ({program}: {error})");
    }
}

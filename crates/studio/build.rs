//! Embeds the studio's page if it was built. `cargo build` never runs Node.
#![allow(clippy::disallowed_methods, reason = "it writes a file of its own")]

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let studio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio");
    let page = studio.join("dist/studio.html");
    // Watching a path that does not exist would rebuild the crate every time.
    let watched = if page.exists() { &page } else { &studio };
    if watched.exists() {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    if let Err(error) = fs::write(out.join("studio.html"), fs::read(&page).unwrap_or_default()) {
        println!("cargo::error=cannot write the studio's page: {error}");
    }
}

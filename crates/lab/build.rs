//! Embeds the report page where it has been built; `cargo build` never calls Node.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let studio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio");
    let page = studio.join("dist/index.html");
    // A path that does not exist would rerun this script, and rebuild the crate, every time.
    for watched in [&page, &studio] {
        if watched.exists() {
            println!("cargo::rerun-if-changed={}", watched.display());
            break;
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let text = fs::read(&page).unwrap_or_default();
    if let Err(error) = fs::write(out.join("page.html"), text) {
        println!("cargo::error=cannot write the report page: {error}");
    }
}

//! Embeds the report page if it was built. `cargo build` never runs Node.
#![allow(clippy::disallowed_methods, reason = "it writes a file of its own")]

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let studio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio");
    let built = [
        ("dist/index.html", "page.html"),
        ("dist/trace.html", "trace.html"),
        ("dist/globe.js", "globe.js"),
    ];
    for (from, _) in built {
        let page = studio.join(from);
        // Watching a path that does not exist would rebuild the crate every time.
        for watched in [page.as_path(), studio.as_path()] {
            if watched.exists() {
                println!("cargo::rerun-if-changed={}", watched.display());
                break;
            }
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    for (from, to) in built {
        let text = fs::read(studio.join(from)).unwrap_or_default();
        if let Err(error) = fs::write(out.join(to), text) {
            println!("cargo::error=cannot write the report page: {error}");
        }
    }
}

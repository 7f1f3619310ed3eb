//! Computes a digest of everything that decides the results of a run: the sources of the crates
//! that simulate it, and the versions of their dependencies.
//!
//! A change of the book, of the command or of the page leaves it as it is, and an uncommitted
//! change of the simulator alters it.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Crates that decide the results of a run.
const ENGINE: [&str; 12] = [
    "congestion",
    "lab",
    "link",
    "orbit",
    "qlog",
    "quic",
    "results",
    "scenario",
    "sim",
    "tcp",
    "timeseries",
    "units",
];

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = own.join("..");
    let mut files = vec![(String::from("Cargo.lock"), crates.join("../Cargo.lock"))];
    for name in ENGINE {
        let directory = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", directory.display());
        collect(&directory, name, &mut files);
    }
    // Stored time series are in the form that this file defines.
    let traces = "report/src/traces.rs";
    files.push((traces.to_owned(), crates.join(traces)));
    println!("cargo::rerun-if-changed={}", crates.join(traces).display());
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.lock").display());
    files.sort();
    let (mut digest, mut sources) = (Fnv::new(), Fnv::new());
    // The mathematical functions of the platform may round differently.
    digest.add(env::var("TARGET").unwrap_or_default().as_bytes());
    for (name, path) in files {
        // Outside the workspace there is no lock file.
        if let Ok(content) = fs::read(&path) {
            for digest in [&mut digest, &mut sources] {
                digest.add(name.as_bytes());
                digest.add(&content);
            }
        }
    }
    println!("cargo::rustc-env=BENTPIPE_ENGINE={:032x}", digest.0);
    println!("cargo::rustc-env=BENTPIPE_SOURCES={:032x}", sources.0);
}

/// Adds the files below `directory`, each with a name that does not depend on the machine.
fn collect(directory: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            collect(&path, &name, files);
        } else {
            files.push((name, path));
        }
    }
}

/// FNV-1a with 128 bits. It tells versions apart; nobody gains from a collision.
struct Fnv(u128);

impl Fnv {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds `bytes` and their number, so that "ab", "c" differs from "a", "bc".
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u128::from(*byte))
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

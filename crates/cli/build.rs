//! Names the commit that the command is built from, if the sources are in a Git repository.

use std::path::Path;
use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // An archive of the sources has no commit; one of another repository around it would mislead.
    let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git").exists();
    let commit = inside.then(|| git(&["rev-parse", "--short=12", "HEAD"])).flatten();
    println!("cargo::rustc-env=BENTPIPE_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|_| inside) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

//! A research page: a table that a test makes, and the tests that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Set to replace a block that differs.
const WRITE: &str = "BENTPIPE_WRITE_BOOK";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> PathBuf {
    repository().join("research/product.md")
}

/// Asserts that the block `name` of the page is `expected`: what stands between `<!-- NAME -->` and
/// `<!-- end -->`.
pub fn check_block(name: &str, expected: &str) {
    let text = fs::read_to_string(page()).unwrap();
    let marker = format!("<!-- {name} -->\n");
    let expected = format!("\n{expected}\n");
    let (before, rest) = text.split_once(&marker).expect("the page has the block's marker");
    let (block, after) = rest.split_once("<!-- end -->").expect("the block has an end");
    if block == expected {
        return;
    }
    if std::env::var_os(WRITE).is_some() {
        let text = [before, &marker, &expected, "<!-- end -->", after].concat();
        return fs::write(page(), text).unwrap();
    }
    let line = block.lines().zip(expected.lines()).find(|(shown, made)| shown != made);
    panic!(
        "{name}: the page differs, first in {line:?}; {WRITE}=1 writes what follows\n{expected}"
    );
}

/// Returns all Rust code of the repository's crates.
fn code(directory: &Path, into: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *into += &fs::read_to_string(&path).unwrap();
        }
    }
}

#[test]
fn the_page_names_tests_that_exist() {
    let text = fs::read_to_string(page()).unwrap();
    let (_, section) = text.split_once("\n## What the first attacks found\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let named: BTreeSet<&str> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            name.contains('_')
                && name.bytes().all(|c| c == b'_' || c.is_ascii_lowercase() || c.is_ascii_digit())
        })
        .collect();
    assert!(named.len() > 30, "{named:?}");
    let mut all = String::new();
    code(&repository().join("crates"), &mut all);
    let absent: Vec<_> =
        named.iter().filter(|name| !all.contains(&format!("fn {name}("))).collect();
    assert!(absent.is_empty(), "no such tests: {absent:?}");
}

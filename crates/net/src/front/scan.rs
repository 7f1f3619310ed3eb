//! Finds pairs of certificate chains and keys in directories, by the names that certbot, Caddy,
//! acme.sh, lego, mkcert, Apache, HAProxy and people give them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Directories below a given one: Caddy keeps `certificates/AUTHORITY/HOST/HOST.crt`.
const MAX_DEPTH: usize = 4;
/// Names that are looked at. Our choice: ten thousand hosts as certbot keeps them.
const MAX_NAMES: usize = 100_000;
/// Largest file that is read, bytes. Our choice: chains take less than 20 kB.
pub(super) const MAX_FILE: u64 = 1024 * 1024;

/// A chain and its key, which may be the same file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pair {
    pub chain: PathBuf,
    pub key: PathBuf,
}

/// What was found, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub pairs: BTreeSet<Pair>,
    pub failures: Vec<String>,
    names: usize,
}

/// Finds the pairs in `directories` and below them.
pub(super) fn scan(directories: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for directory in directories {
        found.visit(directory, 0);
    }
    if found.names > MAX_NAMES {
        let more = format!("more than {MAX_NAMES} files: the rest is not looked at");
        found.failures.push(more);
    }
    found
}

impl Found {
    fn visit(&mut self, directory: &Path, depth: usize) {
        let names = match self.names(directory) {
            Ok(names) => names,
            Err(error) => {
                return self.failures.push(format!("{}: {error}", directory.display()));
            }
        };
        let mut used = BTreeSet::new();
        for key in names.iter().filter(|name| is_key(name)) {
            let chain = chains(key).into_iter().find(|chain| names.contains(chain));
            let Some(chain) = chain else { continue };
            self.pairs.insert(Pair { chain: directory.join(&chain), key: directory.join(key) });
            used.extend([chain, key.clone()]);
        }
        for name in names.iter().filter(|name| !used.contains(*name)) {
            let path = directory.join(name);
            // Also behind a link: certbot's files are links.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                if depth < MAX_DEPTH {
                    self.visit(&path, depth + 1);
                }
            } else if name.ends_with(".pem") && metadata.is_file() && has_both(&path) {
                self.pairs.insert(Pair { chain: path.clone(), key: path });
            }
        }
    }

    /// Returns the names in a directory, except those of hidden files.
    fn names(&mut self, directory: &Path) -> io::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(directory)? {
            self.names += 1;
            if self.names > MAX_NAMES {
                break;
            }
            let name = entry?.file_name().into_string().ok();
            names.extend(name.filter(|name| !name.starts_with('.')));
        }
        Ok(names)
    }
}

fn is_key(name: &str) -> bool {
    name.ends_with(".key")
        || matches!(name, "privkey.pem" | "key.pem")
        || name.ends_with("-key.pem")
}

/// Returns the names that the chain of a key may have, the best first.
fn chains(key: &str) -> Vec<String> {
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match key {
        // certbot, dehydrated; Apache's mod_md.
        "privkey.pem" => named(&["fullchain.pem", "pubcert.pem"]),
        "key.pem" => named(&["fullchain.pem", "chain.pem", "cert.pem"]),
        _ => match (key.strip_suffix(".key"), key.strip_suffix("-key.pem")) {
            // acme.sh has HOST.cer, which is not the whole chain, beside fullchain.cer. HAProxy
            // reads NAME.crt.key.
            (Some(stem), _) => vec![
                "fullchain.cer".to_owned(),
                format!("{stem}.fullchain.pem"),
                format!("{stem}.crt"),
                format!("{stem}.pem"),
                format!("{stem}.cer"),
                stem.to_owned(),
            ],
            (_, Some(stem)) => vec![format!("{stem}.pem")],
            _ => Vec::new(),
        },
    }
}

/// Returns whether a file holds a certificate and a private key, as HAProxy reads them.
fn has_both(file: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    read.is_ok() && text.contains("PRIVATE KEY-----") && text.contains("BEGIN CERTIFICATE-----")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is found among files with these names, whose content is `text`.
    fn found(files: &[&str], text: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let below =
            |path: &Path| path.strip_prefix(directory.path()).unwrap().display().to_string();
        let found = scan(&[directory.path().to_owned()]);
        assert_eq!(found.failures, [""; 0]);
        found
            .pairs
            .iter()
            .map(|pair| format!("{} {}", below(&pair.chain), below(&pair.key)))
            .collect()
    }

    #[test]
    fn the_layouts_of_other_programs_are_known() {
        for (files, expected) in [
            // certbot
            (
                &["a/cert.pem", "a/chain.pem", "a/fullchain.pem", "a/privkey.pem", "README"][..],
                &["a/fullchain.pem a/privkey.pem"][..],
            ),
            // Caddy
            (
                &["ca-directory/a.test/a.test.crt", "ca-directory/a.test/a.test.key"],
                &["ca-directory/a.test/a.test.crt ca-directory/a.test/a.test.key"],
            ),
            // acme.sh
            (
                &["a_ecc/a.cer", "a_ecc/a.key", "a_ecc/ca.cer", "a_ecc/fullchain.cer"],
                &["a_ecc/fullchain.cer a_ecc/a.key"],
            ),
            // Apache's mod_md
            (&["a/pubcert.pem", "a/privkey.pem"], &["a/pubcert.pem a/privkey.pem"]),
            // lego, HAProxy, mkcert, pairs
            (
                &["a.crt", "a.key", "b.crt", "b.crt.key", "c.pem", "c-key.pem", "d.pem", "d.key"],
                &["a.crt a.key", "b.crt b.crt.key", "c.pem c-key.pem", "d.pem d.key"],
            ),
            (&["chain.pem", "key.pem"], &["chain.pem key.pem"]),
            // No key, no chain, hidden, too deep.
            (&["a.crt", "b.key", ".c.crt", ".c.key", "1/2/3/4/5/a.crt", "1/2/3/4/5/a.key"], &[]),
        ] {
            assert_eq!(found(files, "text"), expected, "{files:?}");
        }
    }

    #[test]
    fn one_file_may_hold_both() {
        let both = "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n";
        assert_eq!(found(&["a.pem", "a.txt"], both), ["a.pem a.pem"]);
        assert_eq!(found(&["a.pem"], "-----BEGIN CERTIFICATE-----"), [""; 0]);
    }

    #[test]
    fn links_that_lead_in_a_circle_end() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(directory.path(), directory.path().join("again")).unwrap();
        for name in ["a.crt", "a.key"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let found = scan(&[directory.path().to_owned()]);
        assert_eq!(found.pairs.len(), MAX_DEPTH + 1, "the same pair at each depth");
        let absent = scan(&[directory.path().join("absent")]);
        assert!(absent.failures[0].contains("/absent: No such file"), "{absent:?}");
    }
}

//! Files shared by all downloads: the content to download, a certificate and its key.

use base64::Engine;
use bentpipe_emu::server_addresses;
use bentpipe_lab::LabError;
use bentpipe_link::random::stream;
use bentpipe_units::Bytes;
use rand_core::Rng;
use ring::digest::{Context, Digest, SHA256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Host name in the certificate, in the domain for tests (RFC 6761 §6.2).
pub const HOST: &str = "h3.test";
/// Number of bytes that are written or hashed at a time.
const CHUNK: usize = 1 << 20;

/// A file to download.
#[derive(Debug)]
pub struct Content {
    /// Size of the file.
    pub size: Bytes,
    /// Name in the folder that servers serve.
    pub name: String,
    digest: Digest,
}

impl Content {
    /// Returns true if `file` has the same content.
    ///
    /// # Errors
    /// Returns an error if `file` cannot be read.
    pub fn is(&self, file: &Path) -> io::Result<bool> {
        let mut file = File::open(file)?;
        // A file of another size is not read.
        Ok(file.metadata()?.len() == self.size.get()
            && digest_of(&mut file)?.as_ref() == self.digest.as_ref())
    }

    /// Returns true if the SHA-256 (FIPS 180-4) of the content is `hex`, in lower case.
    pub fn has_digest(&self, hex: &str) -> bool {
        let own: String = self.digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        own == hex
    }
}

fn digest_of(file: &mut File) -> io::Result<Digest> {
    let (mut context, mut chunk) = (Context::new(&SHA256), vec![0; CHUNK]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(context.finish()),
            length => context.update(&chunk[..length]),
        }
    }
}

/// A temporary folder with the shared files, deleted on drop.
#[derive(Debug)]
pub struct SharedFiles {
    folder: TempDir,
    /// The files to download, in the order of their sizes' list.
    pub contents: Vec<Content>,
}

impl SharedFiles {
    /// Writes incompressible files of the given sizes, and a certificate for [`HOST`] and the
    /// addresses of the emulated server.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn new(sizes: &[Bytes], seed: u64) -> Result<Self, LabError> {
        let folder = TempDir::with_prefix("bentpipe-peers-")
            .map_err(|error| LabError::write(std::env::temp_dir(), error))?;
        let mut files = Self { folder, contents: Vec::new() };
        let root = files.root();
        fs::create_dir(&root).map_err(|error| LabError::write(&root, error))?;
        for &size in sizes {
            let name = format!("{}.bin", size.get());
            let path = root.join(&name);
            let digest = write(&path, size, seed).map_err(|error| LabError::write(&path, error))?;
            files.contents.push(Content { size, name, digest });
        }
        files.write_certificate().map_err(|reason| LabError::write(files.cert(), reason))?;
        Ok(files)
    }

    /// Writes the certificate and its key: ECDSA with P-256, which all clients support.
    fn write_certificate(&self) -> Result<(), Box<dyn std::error::Error>> {
        let names = [HOST.to_owned()]
            .into_iter()
            .chain(server_addresses().map(|address| address.to_string()));
        let key = rcgen::KeyPair::generate()?;
        let cert = rcgen::CertificateParams::new(names.collect::<Vec<_>>())?.self_signed(&key)?;
        bentpipe_files::replace(&self.cert(), pem("CERTIFICATE", cert.der()).as_bytes())?;
        // Only this user can access the folder, and so the key.
        bentpipe_files::replace(&self.key(), pem("PRIVATE KEY", &key.serialize_der()).as_bytes())?;
        Ok(())
    }

    /// Returns the folder that servers serve.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Returns the path of the certificate (PEM).
    pub fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Returns the path of the certificate's private key (PEM).
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Creates a working folder for one program.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub fn work(&self) -> io::Result<TempDir> {
        TempDir::with_prefix_in("work-", self.folder.path())
    }
}

/// Encodes DER as PEM, in lines of 64 characters (RFC 7468 §2).
fn pem(label: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Writes `size` random bytes, which depend only on the seed, and returns their digest.
fn write(path: &Path, size: Bytes, seed: u64) -> io::Result<Digest> {
    let mut random = stream(seed, 0, "peers content");
    let (mut file, mut context, mut chunk, mut left) =
        (bentpipe_files::create(path)?, Context::new(&SHA256), vec![0; CHUNK], size.get());
    while left > 0 {
        let length = left.min(CHUNK as u64) as usize;
        random.fill_bytes(&mut chunk[..length]);
        file.write_all(&chunk[..length])?;
        context.update(&chunk[..length]);
        left -= length as u64;
    }
    Ok(context.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_compared_by_content_and_the_folder_is_deleted() {
        let files = SharedFiles::new(&[Bytes::new(1_500_000), Bytes::new(0)], 1).unwrap();
        let (content, empty) = (&files.contents[0], &files.contents[1]);
        let file = files.root().join(&content.name);
        assert!(content.is(&file).unwrap() && !empty.is(&file).unwrap());
        // The digest of an empty message (FIPS 180-4).
        assert!(
            empty.has_digest("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
        let mut bytes = fs::read(&file).unwrap();
        bytes[1_400_000] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(!content.is(&file).unwrap());
        assert!(fs::read_to_string(files.cert()).unwrap().starts_with("-----BEGIN CERTIFICATE"));
        let work = files.work().unwrap();
        let root = files.root();
        drop((work, files));
        assert!(!root.exists());
    }
}

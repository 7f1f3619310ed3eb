//! What all downloads share: the files that are downloaded, a certificate, and the folder that they
//! are in.

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

/// The name in the certificate; of the domain that is for tests (RFC 6761 §6.2).
pub const HOST: &str = "h3.test";
/// How much is written or hashed at a time.
const PIECE: usize = 1 << 20;

/// A file to download.
#[derive(Debug)]
pub struct Content {
    /// How large it is.
    pub size: Bytes,
    /// Its name in the folder that servers serve.
    pub name: String,
    digest: Digest,
}

impl Content {
    /// Whether `file` is the same, byte by byte.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is(&self, file: &Path) -> io::Result<bool> {
        let mut file = File::open(file)?;
        // What is longer need not be read.
        Ok(file.metadata()?.len() == self.size.get()
            && digest_of(&mut file)?.as_ref() == self.digest.as_ref())
    }

    /// Whether its SHA-256 (FIPS 180-4) is `hex`, in small letters.
    pub fn has_digest(&self, hex: &str) -> bool {
        let own: String = self.digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        own == hex
    }
}

fn digest_of(file: &mut File) -> io::Result<Digest> {
    let (mut context, mut piece) = (Context::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(context.finish()),
            length => context.update(&piece[..length]),
        }
    }
}

/// A folder with everything, gone when this is dropped.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    /// The files, in the order asked for.
    pub contents: Vec<Content>,
}

impl Stage {
    /// Files of so many bytes, which cannot be compressed, and a certificate for [`HOST`] and the
    /// addresses of the emulated server.
    ///
    /// # Errors
    /// No room for them.
    pub fn new(sizes: &[Bytes], seed: u64) -> Result<Self, LabError> {
        let folder = TempDir::with_prefix("bentpipe-peers-")
            .map_err(|error| LabError::write(std::env::temp_dir(), error))?;
        let mut stage = Self { folder, contents: Vec::new() };
        let root = stage.root();
        fs::create_dir(&root).map_err(|error| LabError::write(&root, error))?;
        for &size in sizes {
            let name = format!("{}.bin", size.get());
            let path = root.join(&name);
            let digest = write(&path, size, seed).map_err(|error| LabError::write(&path, error))?;
            stage.contents.push(Content { size, name, digest });
        }
        stage.identify().map_err(|reason| LabError::write(stage.cert(), reason))?;
        Ok(stage)
    }

    /// Writes the certificate and its key. ECDSA with P-256, which all clients know.
    fn identify(&self) -> Result<(), Box<dyn std::error::Error>> {
        let names = [HOST.to_owned()]
            .into_iter()
            .chain(server_addresses().map(|address| address.to_string()));
        let key = rcgen::KeyPair::generate()?;
        let cert = rcgen::CertificateParams::new(names.collect::<Vec<_>>())?.self_signed(&key)?;
        fs::write(self.cert(), pem("CERTIFICATE", cert.der()))?;
        // The folder is this user's only: so is what is in it.
        fs::write(self.key(), pem("PRIVATE KEY", &key.serialize_der()))?;
        Ok(())
    }

    /// What servers serve.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Certificate, PEM.
    pub fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Its private key, PEM.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// A new folder in it, for one download.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn work(&self) -> io::Result<TempDir> {
        TempDir::with_prefix_in("work-", self.folder.path())
    }
}

/// As text, in lines of 64 characters (RFC 7468 §2).
fn pem(label: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Writes `size` random bytes, the same for the same seed.
fn write(path: &Path, size: Bytes, seed: u64) -> io::Result<Digest> {
    let mut random = stream(seed, 0, "peers content");
    let (mut file, mut context, mut piece, mut left) =
        (File::create(path)?, Context::new(&SHA256), vec![0; PIECE], size.get());
    while left > 0 {
        let length = left.min(PIECE as u64) as usize;
        random.fill_bytes(&mut piece[..length]);
        file.write_all(&piece[..length])?;
        context.update(&piece[..length]);
        left -= length as u64;
    }
    Ok(context.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_bytes_and_nothing_is_left_of_the_folder() {
        let stage = Stage::new(&[Bytes::new(1_500_000), Bytes::new(0)], 1).unwrap();
        let (content, empty) = (&stage.contents[0], &stage.contents[1]);
        let file = stage.root().join(&content.name);
        assert!(content.is(&file).unwrap() && !empty.is(&file).unwrap());
        // FIPS 180-4: the digest of nothing.
        assert!(
            empty.has_digest("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
        let mut bytes = fs::read(&file).unwrap();
        bytes[1_400_000] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(!content.is(&file).unwrap());
        assert!(fs::read_to_string(stage.cert()).unwrap().starts_with("-----BEGIN CERTIFICATE"));
        let work = stage.work().unwrap();
        let root = stage.root();
        drop((work, stage));
        assert!(!root.exists());
    }
}

//! Files of a pair of programs: objects, a certificate, and the programs' output.

use super::shell_words::expand;
use super::visit_runner::VisitRunner;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bentpipe_emu::{EmuError, Namespace, Program, client_addresses, server_addresses};
use bentpipe_link::random::stream;
use bentpipe_sim::FlowSpec;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the object. Objects of later visits are called `1-object.bin`, `2-object.bin` and so on.
pub const OBJECT: &str = "object.bin";
/// Bytes at the end of a failed program's output from which an error quotes.
const TAIL_BYTES: u64 = 2000;
/// Largest file of times that is read.
const MAX_TIMES: u64 = 64 * 1024;
/// Lines of a failed program's output that an error quotes.
const TAIL_LINES: usize = 5;

/// The directory of a pair of programs, and the values of the placeholders in their commands.
pub(super) struct ProgramFiles<'a> {
    directory: &'a Path,
    placeholders: Vec<(&'static str, String)>,
}

impl<'a> ProgramFiles<'a> {
    /// Creates the objects, and a certificate for the server's addresses.
    pub fn new(
        directory: &'a Path,
        runner: VisitRunner<'_>,
        flow: &FlowSpec,
        port: u16,
        sizes: &[u64],
    ) -> io::Result<Self> {
        let ([server, server6], [client, client6]) =
            (server_addresses(), client_addresses(flow.terminal));
        let at = |name: &str| directory.join(name).display().to_string();
        fs::create_dir(directory.join("served"))?;
        create_object(&directory.join("served").join(OBJECT), sizes.first().copied().unwrap_or(0))?;
        for (index, bytes) in sizes.iter().enumerate().skip(1) {
            create_object(&directory.join("served").join(format!("{index}-{OBJECT}")), *bytes)?;
        }
        create_certificate(directory, &[server.to_string(), server6.to_string()])?;
        let placeholders = vec![
            ("server", server.to_string()),
            ("client", client.to_string()),
            ("server6", server6.to_string()),
            ("client6", client6.to_string()),
            ("port", port.to_string()),
            ("url", format!("https://{server}:{port}/{OBJECT}")),
            ("dir", at("served")),
            ("file", OBJECT.to_owned()),
            ("bytes", sizes.first().copied().unwrap_or(0).to_string()),
            ("output", at("output")),
            ("times", at("times.json")),
            ("cert", at("cert.pem")),
            ("key", at("key.pem")),
            ("bentpipe", runner.bentpipe.display().to_string()),
        ];
        Ok(Self { directory, placeholders })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Starts `command` in `namespace`, with its output in the files `ROLE.out` and `ROLE.err`.
    pub fn start(
        &self,
        namespace: &Namespace,
        role: &str,
        command: &str,
    ) -> Result<Program, EmuError> {
        let file = |stream: &str| {
            let path = self.path(&format!("{role}.{stream}"));
            bentpipe_files::create(&path)
                .map_err(|error| EmuError::system(format!("{}", path.display()), error))
        };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(expand(command, &self.placeholders)).current_dir(self.directory);
        shell.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
        Program::start(namespace, shell)
    }

    /// Returns the standard output of the client.
    pub fn client_output(&self) -> Vec<u8> {
        fs::read(self.path("client.out")).unwrap_or_default()
    }

    /// Returns how many bytes the client wrote to `{output}`, or to standard output if it did not
    /// create that file.
    pub fn written(&self) -> u64 {
        let length = |name: &str| fs::metadata(self.path(name)).map(|file| file.len()).ok();
        length("output").or_else(|| length("client.out")).unwrap_or(0)
    }

    /// Returns what the client wrote to `{times}`, up to 64 kB. `None` if it did not create the
    /// file.
    pub fn times(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.path("times.json")).ok()?;
        file.take(MAX_TIMES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns the last lines of the output of `role`, in the form that an error message appends.
    pub fn log_tail(&self, role: &str) -> String {
        let tail = |stream: &str| -> io::Result<String> {
            let mut file = File::open(self.path(&format!("{role}.{stream}")))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let mut lines: Vec<String> = Vec::new();
        for stream in ["out", "err"] {
            let text = tail(stream).unwrap_or_default();
            // Control characters of a program must not reach the user's terminal.
            let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
            lines.extend(text.lines().map(clean).filter(|line| !line.trim().is_empty()));
        }
        let last = lines.split_off(lines.len().saturating_sub(TAIL_LINES));
        if last.is_empty() { String::new() } else { format!(": {}", last.join(" | ")) }
    }
}

/// Creates a file of `bytes` incompressible bytes.
fn create_object(path: &Path, bytes: u64) -> io::Result<()> {
    let mut draws = stream(1, 0, "content");
    let mut block = vec![0u8; 1 << 20];
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&draws.unit().to_bits().to_le_bytes());
    }
    let mut file = bentpipe_files::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let next = left.min(block.len() as u64) as usize;
        file.write_all(&block[..next])?;
        left -= next as u64;
    }
    Ok(())
}

/// Creates a self-signed certificate for `names`, and its key.
fn create_certificate(directory: &Path, names: &[String]) -> io::Result<()> {
    let certified = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    bentpipe_files::replace(
        &directory.join("cert.pem"),
        pem("CERTIFICATE", certified.cert.der()).as_bytes(),
    )?;
    let key = pem("PRIVATE KEY", &certified.signing_key.serialize_der());
    bentpipe_files::replace(&directory.join("key.pem"), key.as_bytes())
}

/// Encodes `der` as PEM, with lines of 64 characters (RFC 7468 §2).
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_has_lines_of_64_characters_between_its_labels() {
        let text = pem("CERTIFICATE", &[0; 100]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines[0], lines[lines.len() - 1]),
            ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        );
        assert_eq!(
            lines[1..lines.len() - 1].iter().map(|line| line.len()).collect::<Vec<_>>(),
            [64, 64, 8]
        );
    }

    #[test]
    fn log_tail_has_the_last_lines_without_control_characters() {
        let directory = tempfile::tempdir().unwrap();
        let files = ProgramFiles { directory: directory.path(), placeholders: Vec::new() };
        assert_eq!(files.log_tail("client"), "");
        let lines: String = (0..50).map(|line| format!("line {line}\x1b[0m\n\n")).collect();
        fs::write(files.path("client.err"), lines).unwrap();
        assert_eq!(
            files.log_tail("client"),
            ": line 45[0m | line 46[0m | line 47[0m | line 48[0m | line 49[0m"
        );
    }

    #[test]
    fn an_object_has_the_requested_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("object");
        create_object(&path, 1_500_001).unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), 1_500_001);
    }
}

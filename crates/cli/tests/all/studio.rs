//! `bentpipe studio` as a program.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A scenario whose 1000 cases take a minute to plan.
fn large() -> String {
    let mut text = "name = \"leo\"\n[path.orbit]\nconstellation = \"kuiper-630\"\n\
        links.all = { rate = \"10 Mbps\" }\n[workload]\nfrom = \"Toronto\"\n\
        to = \"Washington\"\nupload = \"1 MB\"\n[sweep]\n\"path.orbit.links.all.rate\" = ["
        .to_owned();
    for rate in 0..1000 {
        write!(text, "\"{} kbps\", ", 5000 + rate).unwrap();
    }
    text + "]\n"
}

#[test]
fn a_signal_ends_it_while_a_check_computes() {
    let directory = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .args(["studio", "--no-open", "--no-store"])
        .arg(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut running = Running(child.unwrap());
    let mut url = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (host, secret) = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut client = TcpStream::connect(host).unwrap();
    let text = large();
    let length = text.len();
    write!(
        client,
        "POST /{secret}api/check?file=x.toml HTTP/1.1\r\nhost: {host}\r\n\
         content-length: {length}\r\n\r\n{text}"
    )
    .unwrap();
    client.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    assert!(client.read(&mut [0]).is_err(), "it computes");
    let asked = Instant::now();
    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(running.0.wait().unwrap().success());
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

//! `bentpipe front` beside a web server.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::running;

use bentpipe_net::Certificate;
use bentpipe_net::serve::{Group, Holdback};
use running::{Running, bentpipe, refused};
use std::fs;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs `bentpipe serve` of a directory with `hello`, with a certificate of `a.test` that it saves
/// to `site.pem`. It stands for the site's web server. Returns its port.
fn site(dir: &Path) -> (Running, u16) {
    let public = dir.join("public");
    fs::create_dir_all(&public).unwrap();
    fs::write(public.join("hello"), "hello from the site").unwrap();
    let options = ["--listen", "127.0.0.1:0", "--no-store", "--self-signed", "--name", "a.test"];
    let running = Running::start(
        dir,
        &[&["serve", "public", "--save-cert", "site.pem"][..], &options].concat(),
    );
    let address = running.first["listening"].as_str().unwrap();
    let port = address.rsplit(':').next().unwrap().parse().unwrap();
    (running, port)
}

/// Writes a certificate of `name` as certbot keeps it, and `name.pem` beside.
pub fn write(dir: &Path, name: &str) -> Certificate {
    let made = Certificate::self_signed(&[name.to_owned()]).unwrap();
    let live = dir.join("live").join(name);
    fs::create_dir_all(&live).unwrap();
    fs::write(live.join("fullchain.pem"), made.pem()).unwrap();
    fs::write(live.join("privkey.pem"), made.key_pem()).unwrap();
    fs::write(dir.join(format!("{name}.pem")), made.pem()).unwrap();
    made
}

fn front(dir: &Path, options: &[&str]) -> Running {
    let begin = ["front", "--certs", "live", "--listen", "127.0.0.1:0", "--no-store"];
    Running::start(dir, &[&begin[..], options].concat())
}

/// Downloads `/hello` of `host` from the front.
fn get(dir: &Path, front: &Running, host: &str) -> Output {
    fetch(dir, front, host, "hello")
}

/// Downloads a file of `host` from the front.
fn fetch(dir: &Path, front: &Running, host: &str, file: &str) -> Output {
    fetching(dir, front, host, file).args(["--output", "-"]).output().unwrap()
}

/// Returns the command that downloads a file of `host` from the front.
fn fetching(dir: &Path, front: &Running, host: &str, file: &str) -> Command {
    let address = front.first["listening"].as_str().unwrap();
    let port = address.rsplit(':').next().unwrap();
    let url = format!("https://{host}:{port}/{file}");
    let resolve = format!("{host}=127.0.0.1");
    let authority = format!("{host}.pem");
    let mut command = bentpipe(dir);
    command.args(["get", "--http3-only", "--no-tokens", "--quiet", "--timeout", "5 s"]);
    command.args(["--resolve", &resolve, "--ca", &authority, &url]);
    command
}

fn content(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn hosts_are_served_and_renewals_are_noticed_without_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (_site, port) = site(dir);
    write(dir, "a.test");
    let upstream = format!("https://127.0.0.1:{port}");
    let options =
        ["--upstream", &upstream, "--upstream-ca", "site.pem", "--certs-interval", "100 ms"];
    let mut running = front(dir, &options);
    assert_eq!(running.first["hosts"], 1);
    assert_eq!(content(&get(dir, &running, "a.test")), "hello from the site");
    let line = running.line();
    assert_eq!(
        (&line["path"], &line["status"], &line["protocol"]),
        (&"/hello".into(), &200.into(), &"HTTP/3".into())
    );

    write(dir, "b.test");
    let until = Instant::now() + Duration::from_secs(20);
    while !running.errors().contains("1 certificates were read again; 2 hosts") {
        assert!(Instant::now() < until, "{}", running.errors());
        std::thread::sleep(Duration::from_millis(20));
    }
    // The site's server has no certificate for it.
    let output = get(dir, &running, "b.test");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && errors.contains("502"), "{errors}");
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());
}

#[test]
fn what_cannot_work_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir(dir.join("empty")).unwrap();
    let refused = |options: &[&str], reason: &str| {
        let begin = ["front", "--listen", "127.0.0.1:0"];
        refused(dir, &[&begin[..], options].concat(), reason);
    };
    refused(&["--certs", "empty"], "no certificate can be used in empty");
    refused(&["--certs", "absent"], "absent: No such file or directory");
    write(dir, "a.test");
    let certs = ["--certs", "live"];
    let with = |options: &[&'static str]| [&certs[..], options].concat();
    refused(&with(&["--upstream", "ftp://a"]), "its scheme is none of http, https, h2c and h2");
    refused(
        &with(&["--upstream", "unix:run.sock"]),
        "allowed: http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH",
    );
    refused(&with(&["--upstream", "a b=http://c"]), "`a b` is not a host; allowed: NAME or *.NAME");
    refused(
        &with(&["--upstream", "http://c", "--upstream-insecure"]),
        "--upstream-insecure is only for an https upstream",
    );
}

#[test]
fn a_check_says_what_is_there_and_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (_site, port) = site(dir);
    write(dir, "a.test");
    write(dir, "b.test");
    fs::write(dir.join("live/b.test/privkey.pem"), "nothing").unwrap();
    let upstream = format!("https://127.0.0.1:{port}");
    let check = |listen: u16, options: &[&str]| {
        let address = format!("127.0.0.1:{listen}");
        let begin = ["front", "--check", "--certs", "live", "--listen", &address];
        let output = bentpipe(dir).args(begin).args(options).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let trusted = ["--upstream", &upstream, "--upstream-ca", "site.pem", "--json"];
    let (status, text) = check(port, &trusted);
    let report: serde_json::Value = serde_json::from_str(&text).expect(&text);
    // One key cannot be read.
    assert_eq!((status, &report["ok"]), (Some(1), &false.into()), "{text}");
    let host = &report["hosts"][0];
    assert_eq!((&host["host"], &host["key"]), (&"a.test".into(), &"ECDSA".into()));
    assert_eq!(host["upstreams"][0]["status"], 404, "{text}");
    // The server announces its own port.
    assert_eq!(host["announced"], true);
    assert!(report["unusable"][0]["file"].as_str().unwrap().ends_with("b.test/fullchain.pem"));
    assert!(report["not_free"].as_str().unwrap().contains("is in use"));
    assert_eq!(
        report["announce"]["nginx"],
        format!("add_header Alt-Svc 'h3=\":{port}\"; ma=86400' always;")
    );

    fs::remove_dir_all(dir.join("live/b.test")).unwrap();
    let (_, text) = check(1443, &trusted);
    let report: serde_json::Value = serde_json::from_str(&text).expect(&text);
    assert_eq!(report["hosts"][0]["announced"], false);
    let (status, text) = check(1443, &trusted[..4]);
    assert!(text.contains("ok       a.test: ECDSA certificate, "), "{text}");
    assert!(text.contains(" days left ("), "{text}");
    assert!(text.contains("note       HTTP/3 is not announced yet"), "{text}");
    assert!(text.contains("  haproxy  http-response set-header Alt-Svc 'h3=\":1443\""), "{text}");
    let blocked = text.contains(" blocks UDP ");
    assert_eq!(status, Some(i32::from(blocked)), "{text}");

    // Nobody vouches for the site's own certificate, and the front has another.
    let (status, text) = check(1443, &["--upstream", &upstream]);
    assert_eq!(status, Some(1));
    assert!(text.contains("does not answer: invalid peer certificate: UnknownIssuer"), "{text}");
    let (status, text) = check(1443, &["--upstream", "http://127.0.0.1:1"]);
    assert!(status == Some(1) && text.contains("does not answer: "), "{text}");
}

/// Writes an access log of 10,000 visits to `log`, as a front with `--holdback '5 %'` does, of
/// clients that the front's own hash divides. Those that are not held back take `gain` less time.
fn write_log(log: &Path, gain: f64) {
    let holdback = Holdback::new(0.05, b"of a test");
    let mut number = 7u64;
    let mut random = || {
        // Knuth's linear congruential generator (MMIX).
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut text = String::new();
    for visit in 0..10_000u32 {
        // Three visits of each network.
        let network = visit / 3;
        let client = IpAddr::from((0x0a00_0000 | (network << 8) | (visit % 3)).to_be_bytes());
        let group = holdback.group(client);
        let (rtt, size) = ([0.03, 0.3, 0.6][(network % 3) as usize], (random() * 4.0) as i32);
        let saved = if group == Group::Holdback { 0.0 } else { gain };
        let spread = (random() + random() + random() - 1.5).exp();
        let seconds = rtt * (2.0 + f64::from(size)) * spread * (1.0 - saved);
        let line = serde_json::json!({
            "time": "2026-01-01T00:00:00Z", "client": client, "method": "GET", "path": "/",
            "protocol": "HTTP/3", "status": 200, "bytes": 5000 * 10_u64.pow(size as u32),
            "seconds": seconds / 2.0, "complete": true, "group": group.name(), "rtt_s": rtt,
            "delivered_s": seconds,
        });
        text += &format!("{line}\n");
    }
    // Lines of others do not count.
    text += "{\"listening\": \"127.0.0.1:443\"}\nnot a line\n";
    fs::write(log, text).unwrap();
}

#[test]
fn a_gain_of_a_fifth_is_found_in_the_log_of_10_000_visits_and_none_where_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let gain = |planted: f64, options: &[&str]| {
        write_log(&dir.join("access.log"), planted);
        let output =
            bentpipe(dir).args(["front", "--gain", "access.log"]).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let found: serde_json::Value = serde_json::from_str(&gain(0.2, &["--json"])).unwrap();
    let [low, high] = [0, 1].map(|end| found["gain_ci95"][end].as_f64().unwrap());
    assert!(low < 0.2 && 0.2 < high && low > 0.1 && high < 0.3, "{found}");
    assert_eq!(
        (&found["found"], &found["visits"], &found["lines_skipped"]),
        (&true.into(), &10_000.into(), &2.into())
    );
    let held = found["holdback_networks"].as_f64().unwrap();
    // 167 of 3,334, with a standard deviation of 12.6.
    assert!((115.0..220.0).contains(&held), "{found}");
    assert_eq!(found["classes"].as_array().unwrap().len(), 12);
    let text = gain(0.2, &[]);
    assert!(text.contains("The starts and the memory of paths save time."), "{text}");

    let none: serde_json::Value = serde_json::from_str(&gain(0.0, &["--json"])).unwrap();
    assert_eq!(none["found"], false, "{none}");
    assert!(gain(0.0, &[]).contains("No difference is found."));

    fs::write(dir.join("few.log"), "").unwrap();
    let output = bentpipe(dir).args(["front", "--gain", "few.log"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("It is too early to tell."), "{text}");
}

/// The end of a process that another one has started.
struct Ended<'a>(&'a str);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = Command::new("kill").arg(self.0).status();
    }
}

/// A download that nobody reads, until it is dropped.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A front in a directory, which tells this test the process that takes over.
struct Reloading {
    dir: tempfile::TempDir,
    site: Running,
    front: Running,
    manager: UnixDatagram,
    /// What `long` is.
    long: Vec<u8>,
}

impl Reloading {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(more: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path();
        write(dir, "a.test");
        let (site, port) = site(dir);
        let long: Vec<u8> =
            (0..60_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(dir.join("public/long"), &long).unwrap();
        let manager = UnixDatagram::bind(dir.join("notify")).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut command = bentpipe(dir);
        command.env("NOTIFY_SOCKET", dir.join("notify"));
        let upstream = format!("https://127.0.0.1:{port}");
        let options = ["front", "--certs", "live", "--listen", "127.0.0.1:0", "--no-store"];
        let upstream = ["--upstream", &upstream, "--upstream-ca", "site.pem", "--threads", "2"];
        let options = [&options[..], &upstream, more].concat();
        let front = Running::start_with(command, dir, &options);
        Self { dir: temporary, site, front, manager, long }
    }

    fn get(&self, file: &str) -> Vec<u8> {
        fetch(self.dir.path(), &self.front, "a.test", file).stdout
    }

    /// Returns a download of `long` that has begun and does not proceed.
    fn download(&self) -> Stopped {
        let mut command = fetching(self.dir.path(), &self.front, "a.test", "long");
        let mut process = command.args(["--output", "-"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0];
        process.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        Stopped(process)
    }

    /// Waits until the first process has said `text` so many times.
    fn said(&self, text: &str, times: usize) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.front.errors().matches(text).count() < times {
            assert!(Instant::now() < until, "{}", self.front.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until another process has taken over.
    fn process(&self) -> String {
        loop {
            let mut text = [0; 100];
            let length = self.manager.recv(&mut text);
            let length = length.unwrap_or_else(|error| panic!("{error}: {}", self.front.errors()));
            let text = String::from_utf8_lossy(&text[..length]).into_owned();
            if let Some(process) = text.strip_prefix("MAINPID=") {
                return process.to_owned();
            }
        }
    }

    /// Asks that process to be replaced. Returns the one that has taken over.
    fn reload(&self, process: &str) -> String {
        signal("-HUP", process);
        self.process()
    }
}

fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args([name, process]).status().unwrap().success());
}

#[test]
fn reloads_under_load_lose_nothing() {
    const RELOADS: usize = 5;
    let mut running = Reloading::new();
    let (mut asked, done) = (0, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let running = &running;
        let downloads: Vec<_> =
            (0..2).map(|_| scope.spawn(|| running.get("long") == running.long)).collect();
        let asking = scope.spawn(|| {
            let mut answers = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(running.get("hello"), b"hello from the site");
                answers += 1;
            }
            answers
        });
        let mut current = running.front.id().to_string();
        for _ in 0..RELOADS {
            current = running.reload(&current);
        }
        let last = Ended(&current);
        assert!(downloads.into_iter().all(|download| download.join().unwrap()));
        done.store(true, Ordering::Relaxed);
        asked = asking.join().unwrap();
        assert_eq!(running.get("hello"), b"hello from the site");
        drop(last);
    });
    assert!(asked > RELOADS, "{asked} requests");
    let Reloading { front, site, .. } = &mut running;
    assert_eq!(front.wait(), Some(0), "{}", front.errors());
    let handed_over = front.errors().matches("handed over to process").count();
    assert_eq!(handed_over, RELOADS, "{}", front.errors());
    assert_eq!(site.terminate(), Some(0));
}

#[test]
fn a_process_that_took_over_and_is_killed_is_replaced_and_no_download_is_cut() {
    let mut running = Reloading::new();
    std::thread::scope(|scope| {
        let running = &running;
        let download = scope.spawn(|| {
            let mut command = fetching(running.dir.path(), &running.front, "a.test", "long");
            command.args(["--output", "got"]).status().unwrap().code()
        });
        let part = running.dir.path().join("got.part");
        let until = Instant::now() + Duration::from_secs(20);
        while fs::metadata(&part).map_or(0, |part| part.len()) == 0 {
            assert!(Instant::now() < until, "the download has not begun");
            std::thread::sleep(Duration::from_millis(5));
        }
        let first = running.front.id().to_string();
        let killed = running.reload(&first);
        signal("-KILL", &killed);
        let next = running.process();
        let last = Ended(&next);
        assert!(next != killed && next != first, "{next}");
        assert_eq!(download.join().unwrap(), Some(0), "{}", running.front.errors());
        assert!(fs::read(running.dir.path().join("got")).unwrap() == running.long);
        assert_eq!(running.get("hello"), b"hello from the site");
        drop(last);
    });
    let front = &mut running.front;
    assert_eq!(front.wait(), Some(0), "{}", front.errors());
    let errors = front.errors();
    assert!(errors.contains("the process that took over has ended"), "{errors}");
}

/// While no process can take over, the old one tries again until its clients have had their time,
/// and then once more.
#[test]
fn the_last_attempt_to_replace_a_process_comes_when_the_time_is_over() {
    let mut running = Reloading::with(&["--drain-reload", "7 s"]);
    let (live, away) = (running.dir.path().join("live"), running.dir.path().join("away"));
    let download = running.download();
    let first = running.front.id().to_string();
    let killed = running.reload(&first);
    fs::rename(&live, &away).unwrap();
    signal("-KILL", &killed);
    // After 1 s and 3 s. The next one would come after 7 s.
    running.said("another attempt in", 2);
    fs::rename(&away, &live).unwrap();
    let next = running.process();
    let last = Ended(&next);
    assert!(next != killed && next != first, "{next}");
    drop(download);
    assert_eq!(running.get("hello"), b"hello from the site");
    let front = &mut running.front;
    assert_eq!(front.wait(), Some(0), "{}", front.errors());
    drop(last);
}

#[test]
fn a_process_that_cannot_be_replaced_says_so_and_fails() {
    let mut running = Reloading::with(&["--drain-reload", "4 s"]);
    let download = running.download();
    let first = running.front.id().to_string();
    let killed = running.reload(&first);
    fs::remove_dir_all(running.dir.path().join("live")).unwrap();
    signal("-KILL", &killed);
    let front = &mut running.front;
    assert_eq!(front.wait(), Some(3), "{}", front.errors());
    assert!(front.errors().contains("nobody takes new connections"), "{}", front.errors());
    drop(download);
}

#[test]
fn a_replaced_process_that_is_stopped_tells_its_clients_and_ends_well() {
    let mut running = Reloading::with(&["--drain", "1 s", "--drain-reload", "20001 ms"]);
    let download = running.download();
    let first = running.front.id().to_string();
    let next = running.reload(&first);
    let _last = Ended(&next);
    running.said("1 connections have 20 s to finish", 1);
    let front = &mut running.front;
    assert_eq!(front.terminate(), Some(0), "{}", front.errors());
    assert!(front.errors().contains("1 connections were closed before"), "{}", front.errors());
    drop(download);
}

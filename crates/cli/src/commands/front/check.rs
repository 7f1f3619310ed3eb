//! `bentpipe front --check`: what a front would do here, and what is missing.

use super::announce;
use super::firewall::{self, Finding, Verdict};
use crate::output;
use crate::status::{NOT_MET, OK};
use bentpipe_lab::LabError;
use bentpipe_net::front::{CertificateStore, CertificateTable, HostState, Sites, probe_all};
use bentpipe_net::proxy::Probe;
use bentpipe_units::Printable;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::SystemTime;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Days that certificates have left when their renewal should have happened: certbot, Caddy and
/// acme.sh renew with 30 left of 90.
const FEW_DAYS: i64 = 14;
/// What was found of a host.
struct Host {
    state: HostState,
    days_left: i64,
}

/// What was found.
pub struct Report {
    hosts: Vec<Host>,
    unusable: Vec<(String, String)>,
    firewalls: Vec<Finding>,
    listen: SocketAddr,
    /// Why the address cannot be listened on.
    not_free: Option<String>,
}

impl Report {
    /// Looks at certificates, upstreams and the firewall.
    pub async fn make(
        sites: &Sites,
        table: CertificateTable,
        store: &CertificateStore,
        listen: SocketAddr,
        now: SystemTime,
    ) -> Self {
        let hosts = probe_all(sites, table).await.into_iter().map(|state| {
            let days_left = days_between(now, state.certificate.not_after());
            Host { state, days_left }
        });
        let hosts = hosts.collect();
        let unusable =
            store.failures().map(|(file, why)| (file.display().to_string(), why.to_owned()));
        let not_free = UdpSocket::bind(listen).err().map(|error| why_not(listen, &error));
        let firewalls = firewall::check(listen.port());
        Self { hosts, unusable: unusable.collect(), firewalls, listen, not_free }
    }

    /// Prints it, as text or as one JSON document. Returns the exit status: 1 if something keeps a
    /// host from being served.
    pub fn print(&self, as_json: bool) -> Result<u8, LabError> {
        let text = if as_json { format!("{:#}\n", self.json()) } else { self.text() };
        output::print(&text)?;
        Ok(if self.is_good() { OK } else { NOT_MET })
    }

    fn is_good(&self) -> bool {
        let blocked = |finding: &Finding| matches!(finding.verdict, Verdict::Blocked(_));
        self.hosts.iter().all(|host| host.days_left >= 0 && !host.is_unreachable())
            && self.unusable.is_empty()
            && !self.firewalls.iter().any(blocked)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for host in &self.hosts {
            host.write(&mut text, self.listen.port());
        }
        for (_, why) in &self.unusable {
            line(&mut text, "problem", &format!("a certificate cannot be used: {why}"));
        }
        if let Some(why) = &self.not_free {
            line(&mut text, "note", why);
        }
        if self.firewalls.is_empty() {
            line(&mut text, "ok", "no firewall of ufw or nft is here");
        }
        for Finding { firewall, verdict, remedy } in &self.firewalls {
            let port = self.listen.port();
            match verdict {
                Verdict::Open => {
                    line(&mut text, "ok", &format!("{firewall} lets UDP {port} through"));
                }
                Verdict::Blocked(by) => line(
                    &mut text,
                    "problem",
                    &format!("{firewall} blocks UDP {port} ({by}); to open it: {remedy}"),
                ),
                Verdict::Partly(by) => line(
                    &mut text,
                    "note",
                    &format!("{firewall} opens UDP {port} for some only ({by}); for all: {remedy}"),
                ),
                Verdict::Unknown(why) => {
                    line(&mut text, "note", &format!("{firewall}: {why}"));
                }
            }
        }
        if self.hosts.iter().any(|host| host.announced(self.listen.port()) == Some(false)) {
            text.push_str("\nTo announce HTTP/3, add one line to the web server:\n");
            for (server, wanted) in announce::lines(self.listen.port()) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "  {server:8} {wanted}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        let port = self.listen.port();
        let announce: serde_json::Map<String, Value> = announce::lines(port)
            .into_iter()
            .map(|(server, line)| (server.to_owned(), line.into()))
            .collect();
        let firewalls = self.firewalls.iter().map(|Finding { firewall, verdict, remedy }| {
            let (state, why) = match verdict {
                Verdict::Open => ("open", None),
                Verdict::Blocked(by) => ("blocked", Some(by)),
                Verdict::Partly(by) => ("partly", Some(by)),
                Verdict::Unknown(why) => ("unknown", Some(why)),
            };
            json!({ "firewall": firewall, "udp": state, "why": why, "remedy": remedy })
        });
        let unusable = self.unusable.iter().map(|(file, why)| json!({ "file": file, "why": why }));
        json!({
            "ok": self.is_good(),
            "listen": self.listen,
            "not_free": self.not_free,
            "hosts": self.hosts.iter().map(|host| host.json(port)).collect::<Vec<_>>(),
            "unusable": unusable.collect::<Vec<_>>(),
            "firewalls": firewalls.collect::<Vec<_>>(),
            "alt_svc": announce::value(port),
            "announce": announce,
        })
    }
}

impl Host {
    fn answers(&self) -> impl Iterator<Item = &Probe> {
        self.state.probes.iter().filter_map(|probes| probes.as_ref().ok()).flatten()
    }

    /// Returns whether no server answers for it as it should.
    fn is_unreachable(&self) -> bool {
        self.state.probes.is_some() && self.answers().all(|probe| fault(probe).is_some())
    }

    /// Returns whether its server announces HTTP/3. `None` if it was not asked, or did not answer.
    fn announced(&self, port: u16) -> Option<bool> {
        let answers = self.answers().filter_map(|probe| probe.answer.as_ref().ok());
        let announces = answers.map(|answer| {
            answer.alt_svc.as_deref().is_some_and(|value| announce::announces(value, port))
        });
        announces.reduce(|one, other| one || other)
    }

    fn write(&self, text: &mut String, port: u16) {
        let kind = self.state.certificate.kind().name();
        let file = self.state.certificate.file().display();
        let level = match self.days_left {
            ..0 => "problem",
            0..FEW_DAYS => "note",
            _ => "ok",
        };
        let left = match self.days_left {
            days @ ..0 => format!("expired {} days ago", -days),
            days => format!("{days} days left"),
        };
        line(text, level, &format!("{}: {kind} certificate, {left} ({file})", self.state.name));
        match &self.state.probes {
            None => line(text, "note", "  not asked for: it stands for any host"),
            Some(Err(why)) => line(text, "problem", &format!("  {why}")),
            Some(Ok(probes)) => probes.iter().for_each(|probe| write_probe(text, probe)),
        }
        match self.announced(port) {
            Some(true) => line(text, "ok", "  HTTP/3 is announced"),
            Some(false) => line(text, "note", "  HTTP/3 is not announced yet"),
            None => {}
        }
    }

    fn json(&self, port: u16) -> Value {
        let probes = self.answers().map(|Probe { server, answer }| match answer {
            Ok(answer) => json!({
                "server": server,
                "status": answer.status,
                "alt_svc": answer.alt_svc,
                "location": answer.location,
            }),
            Err(why) => json!({ "server": server, "error": why }),
        });
        let error = self.state.probes.as_ref().and_then(|probes| probes.as_ref().err());
        json!({
            "host": self.state.name,
            "certificate": self.state.certificate.file(),
            "key": self.state.certificate.kind().name(),
            "days_left": self.days_left,
            "upstreams": probes.collect::<Vec<_>>(),
            "error": error,
            "announced": self.announced(port),
        })
    }
}

fn write_probe(text: &mut String, probe: &Probe) {
    match (fault(probe), &probe.answer) {
        (Some(fault), _) => line(text, "problem", &format!("  {} {fault}", probe.server)),
        (None, Ok(answer)) => {
            line(text, "ok", &format!("  {} answers {}", probe.server, answer.status));
        }
        (None, Err(_)) => {}
    }
}

/// Returns what is wrong with a server, in words after its name.
fn fault(Probe { server, answer }: &Probe) -> Option<String> {
    let answer = match answer {
        Err(why) => return Some(format!("does not answer: {why}")),
        Ok(answer) if answer.status >= 500 => return Some(format!("answers {}", answer.status)),
        Ok(answer) => answer,
    };
    let redirects = (300..400).contains(&answer.status) && server.starts_with("http:");
    let to = answer.location.as_deref().filter(|to| redirects && to.starts_with("https:"))?;
    Some(format!("redirects to {to}: browsers would go round; use https://… as the upstream"))
}

/// Adds a line with what it means. Servers' texts cannot control the terminal.
fn line(text: &mut String, level: &str, what: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{level:8} {}", Printable(what));
}

fn why_not(listen: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("UDP {listen} is in use: by a front that runs, or by another server of HTTP/3")
        }
        _ => format!("UDP {listen} cannot be listened on: {error}"),
    }
}

/// Returns the whole days from `now` to `end`, negative if it is past.
fn days_between(now: SystemTime, end: SystemTime) -> i64 {
    let days = |span: std::time::Duration| i64::try_from(span.as_secs() / DAY).unwrap_or(i64::MAX);
    match end.duration_since(now) {
        Ok(left) => days(left),
        Err(past) => -days(past.duration()) - 1,
    }
}

//! Whether the rules of this machine's firewall let UDP through, as far as they can be read.
//! Nothing is changed.

mod nft;
mod ufw;
mod verdict;

pub use verdict::Verdict;

use std::path::Path;
use std::process::{Command, Stdio};

/// What was found of one firewall.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its name.
    pub firewall: &'static str,
    /// What it does.
    pub verdict: Verdict,
    /// A command that opens the port.
    pub remedy: String,
}

/// Returns what the firewalls of this machine do with UDP to `port`.
pub fn check(port: u16) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(verdict) = ufw::check(Path::new("/etc"), port) {
        found.push(Finding { firewall: "ufw", verdict, remedy: format!("ufw allow {port}/udp") });
    }
    match ruleset() {
        // ufw's own rules are such as nft does not show.
        Some(Ok(text)) => match nft::check(&text, port) {
            (Verdict::Unknown(_), _) if !found.is_empty() => {}
            (verdict, chain) => {
                let remedy = format!("nft insert rule {chain} udp dport {port} accept");
                found.push(Finding { firewall: "nft", verdict, remedy });
            }
        },
        Some(Err(reason)) => {
            let (verdict, remedy) = (Verdict::Unknown(reason), String::new());
            found.push(Finding { firewall: "nft", verdict, remedy });
        }
        // The program is not installed, and neither are rules of it.
        None => {}
    }
    found
}

/// Returns the rules of nft as JSON, or why they cannot be read. `None` without the program.
fn ruleset() -> Option<Result<String, String>> {
    let run = |program: &str| {
        let mut command = Command::new(program);
        command.args(["--json", "list", "ruleset"]).stdin(Stdio::null()).output().ok()
    };
    let output = run("nft").or_else(|| run("/usr/sbin/nft"))?;
    if output.status.success() {
        return Some(Ok(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let first = reason.lines().next().unwrap_or("it fails").trim();
    Some(Err(format!("nft cannot read the rules: {first}; root may")))
}

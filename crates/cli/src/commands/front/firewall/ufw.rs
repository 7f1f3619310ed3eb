//! Rules of ufw, as it keeps them in files.

use super::verdict::Verdict;
use std::fs;
use std::path::Path;

/// Returns what ufw does with a new UDP datagram to `port`, by its files below `etc`. `None` if it
/// is not installed, or off.
pub fn check(etc: &Path, port: u16) -> Option<Verdict> {
    let settings = fs::read_to_string(etc.join("ufw/ufw.conf")).ok()?;
    if setting(&settings, "ENABLED").as_deref() != Some("yes") {
        return None;
    }
    let rules = match fs::read_to_string(etc.join("ufw/user.rules")) {
        Ok(rules) => rules,
        Err(error) => {
            let why = format!("its rules cannot be read: {error}; root may");
            return Some(Verdict::Unknown(why));
        }
    };
    let mut for_some = false;
    for line in rules.lines() {
        let Some((action, everybody)) = rule(line, port) else { continue };
        match (action, everybody) {
            ("allow" | "limit", true) => return Some(Verdict::Open),
            ("allow" | "limit", false) => for_some = true,
            (action, true) => {
                let by = format!("a rule: {action} {port}/udp");
                return Some(if for_some { Verdict::Partly(by) } else { Verdict::Blocked(by) });
            }
            (_, false) => {}
        }
    }
    let defaults = fs::read_to_string(etc.join("default/ufw")).unwrap_or_default();
    let policy = setting(&defaults, "DEFAULT_INPUT_POLICY").unwrap_or_default();
    Some(match policy.as_str() {
        "ACCEPT" => Verdict::Open,
        _ if for_some => Verdict::Partly("the default for incoming packets".to_owned()),
        _ => Verdict::Blocked("the default for incoming packets".to_owned()),
    })
}

/// Returns the value of `KEY=value` or `KEY="value"`.
fn setting(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Returns the action of a rule that is about incoming UDP to `port`, and whether it is for every
/// source. Rules are kept as `### tuple ### ACTION PROTOCOL PORTS TO PORTS FROM … DIRECTION`.
fn rule(line: &str, port: u16) -> Option<(&str, bool)> {
    let words: Vec<&str> = line.strip_prefix("### tuple ### ")?.split(' ').collect();
    let [action, protocol, to_ports, _, from_ports, from, ..] = words[..] else { return None };
    let direction = words.last()?;
    let action = action.split('_').next()?;
    let incoming = !action.starts_with("route:") && direction.starts_with("in");
    let about = matches!(protocol, "udp" | "any") && from_ports == "any" && has(to_ports, port);
    let everybody = matches!(from, "0.0.0.0/0" | "::/0") && *direction == "in";
    (incoming && about).then_some((action, everybody))
}

/// Returns whether `port` is in a list such as `80,443` or `6000:6007`.
fn has(ports: &str, port: u16) -> bool {
    ports == "any"
        || ports.split(',').any(|part| {
            let (first, last) = part.split_once(':').unwrap_or((part, part));
            let bounds = first.parse::<u16>().ok().zip(last.parse::<u16>().ok());
            bounds.is_some_and(|(first, last)| (first..=last).contains(&port))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(enabled: &str, policy: &str, tuples: &[&str]) -> Option<Verdict> {
        let etc = tempfile::tempdir().unwrap();
        for folder in ["ufw", "default"] {
            fs::create_dir(etc.path().join(folder)).unwrap();
        }
        let write = |name: &str, text: String| fs::write(etc.path().join(name), text).unwrap();
        write("ufw/ufw.conf", format!("# on?\nENABLED={enabled}\nLOGLEVEL=low\n"));
        write("default/ufw", format!("IPV6=yes\nDEFAULT_INPUT_POLICY=\"{policy}\"\n"));
        let rules: String = tuples.iter().map(|tuple| format!("### tuple ### {tuple}\n")).collect();
        write("ufw/user.rules", format!("*filter\n{rules}COMMIT\n"));
        check(etc.path(), 443)
    }

    #[test]
    fn the_first_rule_for_the_port_counts() {
        let any = "0.0.0.0/0";
        let rule = |text: &str| format!("{text} {any} any {any} in");
        let [tcp, both, udp, list, range, deny] = [
            "allow tcp 443",
            "allow any 443",
            "allow udp 443",
            "allow udp 80,443",
            "limit_log udp 440:450",
            "deny udp 443",
        ]
        .map(rule);
        let blocked = Some(Verdict::Blocked("the default for incoming packets".to_owned()));
        assert_eq!(with("no", "DROP", &[]), None);
        assert_eq!(with("yes", "ACCEPT", &[]), Some(Verdict::Open));
        assert_eq!(with("yes", "DROP", &[&tcp]), blocked);
        for open in [&both, &udp, &list, &range] {
            assert_eq!(with("yes", "DROP", &[&tcp, open, &deny]), Some(Verdict::Open), "{open}");
        }
        let denied = Some(Verdict::Blocked("a rule: deny 443/udp".to_owned()));
        assert_eq!(with("yes", "ACCEPT", &[&deny, &udp]), denied);
        let from_some = format!("allow udp 443 {any} any 10.0.0.0/8 in");
        assert!(matches!(with("yes", "DROP", &[&from_some]), Some(Verdict::Partly(_))));
        for other in ["route:allow udp 443 0.0.0.0/0 any 0.0.0.0/0 in", "allow udp"] {
            assert_eq!(with("yes", "DROP", &[other]), blocked, "{other}");
        }
        let out = format!("allow udp 443 {any} any {any} out");
        assert_eq!(with("yes", "DROP", &[&out]), blocked);
        let by_name = format!("allow tcp 80,443 {any} any {any} Nginx%20Full - in");
        assert_eq!(with("yes", "DROP", &[&by_name]), blocked);
    }
}

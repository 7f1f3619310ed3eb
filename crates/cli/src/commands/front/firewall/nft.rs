//! Rules of nft, as `nft --json list ruleset` prints them (libnftables-json(5)), asked about a new
//! UDP datagram from anywhere.

use super::verdict::Verdict;
use serde_json::Value;

/// Deepest chain of jumps that is followed. The kernel allows 16.
const MAX_JUMPS: usize = 16;

/// What a rule does with the datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Nothing that ends its way.
    Next,
    Return,
    Accept,
    /// A rule in words.
    Drop(String),
}

/// Whether a rule is about the datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Yes,
    No,
    /// About some datagrams of the kind, by their source for instance.
    Some,
}

/// Returns what the ruleset `text` does with a new UDP datagram to `port`, and the family, table
/// and name of the chain that decides.
pub fn check(text: &str, port: u16) -> (Verdict, String) {
    let parsed = serde_json::from_str::<Value>(text);
    let objects = parsed.as_ref().ok().and_then(|all| all["nftables"].as_array());
    let Some(objects) = objects else {
        let why = "nft prints something else than its rules".to_owned();
        return (Verdict::Unknown(why), String::new());
    };
    let mut packet = Packet { objects, port, accepted_for_some: false, opaque: false };
    for chain in packet.base_chains() {
        let ended = packet.follow(chain, 0);
        let ended = match ended {
            Step::Next | Step::Return if chain["policy"] == "drop" => {
                Step::Drop(format!("the policy of chain {}", name(chain)))
            }
            other => other,
        };
        if let Step::Drop(by) = ended {
            let verdict = match packet {
                Packet { opaque: true, .. } => Verdict::Unknown(format!(
                    "rules of iptables, which nft does not show, come before {by}"
                )),
                Packet { accepted_for_some: true, .. } => Verdict::Partly(by),
                _ => Verdict::Blocked(by),
            };
            return (verdict, name(chain));
        }
    }
    (Verdict::Open, String::new())
}

/// A new datagram on its way through the rules.
struct Packet<'a> {
    objects: &'a [Value],
    port: u16,
    /// Whether a rule accepts some datagrams of the kind.
    accepted_for_some: bool,
    /// Whether a rule on its way has parts that are not shown.
    opaque: bool,
}

impl<'a> Packet<'a> {
    /// Returns the chains that the kernel begins with.
    fn base_chains(&self) -> Vec<&'a Value> {
        let chains = self.objects.iter().map(|object| &object["chain"]);
        let begins = |chain: &&Value| {
            let hook = chain["hook"].as_str();
            chain["type"] == "filter" && matches!(hook, Some("input" | "prerouting"))
        };
        let mut chains: Vec<&Value> = chains.filter(begins).collect();
        chains.sort_by_key(|chain| (chain["hook"] == "input", chain["prio"].as_i64()));
        chains
    }

    /// Follows the rules of a chain.
    fn follow(&mut self, chain: &'a Value, depth: usize) -> Step {
        let of = |rule: &&Value| {
            rule["chain"] == chain["name"]
                && rule["table"] == chain["table"]
                && rule["family"] == chain["family"]
        };
        let rules = self.objects.iter().map(|object| &object["rule"]).filter(of);
        for rule in rules {
            let step = self.apply(rule, chain, depth);
            if step != Step::Next {
                return step;
            }
        }
        Step::Next
    }

    fn apply(&mut self, rule: &'a Value, chain: &'a Value, depth: usize) -> Step {
        let mut matches = Match::Yes;
        for part in rule["expr"].as_array().into_iter().flatten() {
            let Some((kind, value)) = part.as_object().and_then(|part| part.iter().next()) else {
                continue;
            };
            let of_part = match kind.as_str() {
                "match" => self.matches(value, chain),
                "limit" => Match::Some,
                "xt" => {
                    self.opaque = true;
                    Match::Some
                }
                "vmap" => {
                    let Some(verdict) = self.look_up(value, chain) else { return Step::Next };
                    return self.decide(verdict, matches, chain, depth);
                }
                _ => match self.decide(part, matches, chain, depth) {
                    Step::Next => continue,
                    step => return step,
                },
            };
            match of_part {
                Match::No => return Step::Next,
                Match::Some => matches = Match::Some,
                Match::Yes => {}
            }
        }
        Step::Next
    }

    /// Returns what a verdict means for the datagram.
    fn decide(&mut self, verdict: &Value, matches: Match, chain: &'a Value, depth: usize) -> Step {
        let is = |name: &str| verdict.get(name).is_some();
        let certain = matches == Match::Yes;
        if is("accept") {
            self.accepted_for_some |= !certain;
            return if certain { Step::Accept } else { Step::Next };
        }
        if (is("drop") || is("reject")) && certain {
            return Step::Drop(format!("a rule of chain {}", name(chain)));
        }
        if is("return") && certain {
            return Step::Return;
        }
        let jump = verdict.get("jump").or_else(|| verdict.get("goto"));
        let Some(target) = jump.and_then(|jump| jump["target"].as_str()) else { return Step::Next };
        let named = |other: &&Value| {
            other["name"] == target
                && other["table"] == chain["table"]
                && other["family"] == chain["family"]
        };
        let target = self.objects.iter().map(|object| &object["chain"]).find(named);
        let Some(target) = target.filter(|_| depth < MAX_JUMPS) else { return Step::Next };
        match (self.follow(target, depth + 1), certain) {
            (Step::Accept, false) => {
                self.accepted_for_some = true;
                Step::Next
            }
            (step @ (Step::Accept | Step::Drop(_)), true) => step,
            _ => Step::Next,
        }
    }

    fn matches(&self, condition: &Value, chain: &Value) -> Match {
        let found = self.compare(&condition["left"], &condition["right"], chain);
        match (found, condition["op"] == "!=") {
            (Match::Yes, true) => Match::No,
            (Match::No, true) => Match::Yes,
            (found, _) => found,
        }
    }

    /// Returns whether a property of the datagram is among the values of `right`.
    fn compare(&self, left: &Value, right: &Value, chain: &Value) -> Match {
        let payload = &left["payload"];
        let (protocol, field) = (&payload["protocol"], &payload["field"]);
        if field == "dport" || field == "sport" {
            if protocol != "udp" && protocol != "th" {
                return Match::No;
            }
            if field == "sport" {
                return Match::Some;
            }
            let ports = self.values(right, chain);
            let found = ports.iter().any(|value| holds(value, self.port.into()));
            return if found { Match::Yes } else { Match::No };
        }
        let key = &left["meta"]["key"];
        let of_protocol = key == "l4proto"
            || (protocol == "ip" && field == "protocol")
            || (protocol == "ip6" && field == "nexthdr");
        if of_protocol {
            return has(&self.values(right, chain), &["udp", "17"]);
        }
        if left["ct"]["key"] == "state" {
            return has(&self.values(right, chain), &["new"]);
        }
        let interface = key == "iif" || key == "iifname";
        if interface && has(&self.values(right, chain), &["lo"]) == Match::Yes {
            return Match::No;
        }
        // Of other protocols, such as icmp.
        let other = protocol
            .as_str()
            .is_some_and(|name| !matches!(name, "ip" | "ip6" | "udp" | "th" | "ether"));
        if other { Match::No } else { Match::Some }
    }

    /// Returns the values of a match: one, several, or those of a named set.
    fn values<'b>(&'b self, right: &'b Value, chain: &Value) -> Vec<&'b Value> {
        let named = right.as_str().and_then(|name| name.strip_prefix('@'));
        let set = match named {
            Some(name) => self.objects.iter().map(|object| &object["set"]).find(|set| {
                set["name"] == name
                    && set["table"] == chain["table"]
                    && set["family"] == chain["family"]
            }),
            None => None,
        };
        let list = match set {
            Some(set) => set["elem"].as_array(),
            None => right.as_array().or_else(|| right["set"].as_array()),
        };
        match list {
            Some(list) => list.iter().collect(),
            None => vec![right],
        }
    }

    /// Returns the verdict that a map has for the datagram, if it has one.
    fn look_up(&self, map: &'a Value, chain: &Value) -> Option<&'a Value> {
        let entries = map["data"]["set"].as_array()?;
        entries.iter().find_map(|entry| {
            let (key, verdict) = (entry.get(0)?, entry.get(1)?);
            let matches = self.compare(&map["key"], key, chain) == Match::Yes;
            matches.then_some(verdict)
        })
    }
}

/// Returns the family, the table and the name of a chain, as commands of nft have them.
fn name(chain: &Value) -> String {
    let text = |key: &str| chain[key].as_str().unwrap_or_default();
    format!("{} {} {}", text("family"), text("table"), text("name"))
}

/// Returns whether one of `values` is one of `words`.
fn has(values: &[&Value], words: &[&str]) -> Match {
    let is = |value: &&Value| match value {
        Value::String(text) => words.contains(&text.as_str()),
        Value::Number(number) => words.contains(&number.to_string().as_str()),
        _ => false,
    };
    if values.iter().any(is) { Match::Yes } else { Match::No }
}

/// Returns whether a port is a value, or in its range.
fn holds(value: &Value, port: u64) -> bool {
    match (value.as_u64(), value["range"].as_array().map(Vec::as_slice)) {
        (Some(one), _) => one == port,
        (_, Some([first, last])) => {
            let bounds = first.as_u64().zip(last.as_u64());
            bounds.is_some_and(|(first, last)| (first..=last).contains(&port))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nft 1.0.6 prints of a set of ports for TCP, a chain with ports for UDP, and a chain
    /// with policy drop that ends with a reject.
    const RULES: &str = include_str!("rules.json");

    fn check(text: &str, port: u16) -> Verdict {
        super::check(text, port).0
    }

    #[test]
    fn rules_are_followed_as_the_kernel_does() {
        assert_eq!(check(RULES, 450), Verdict::Open, "by a jump to a range");
        assert_eq!(check(RULES, 53), Verdict::Open);
        let rule = "a rule of chain inet filter input".to_owned();
        assert_eq!(check(RULES, 80), Verdict::Blocked(rule.clone()), "open for TCP only");
        assert_eq!(check(RULES, 500), Verdict::Open);
        assert_eq!(check(RULES, 501), Verdict::Blocked(rule));
        assert_eq!(super::check(RULES, 80).1, "inet filter input");
        // Without the jump, only some sources have port 443.
        let jump = r#"{"jump": {"target": "base"}}"#;
        let without = RULES.replace(jump, r#"{"counter": null}"#);
        assert!(matches!(check(&without, 443), Verdict::Partly(_)));
        assert!(matches!(check(&without, 444), Verdict::Blocked(_)));
        // Without the reject, the policy decides.
        let reject = r#"{"reject": {"type": "icmpx", "expr": "admin-prohibited"}}"#;
        let without = RULES.replace(reject, r#"{"counter": null}"#);
        let policy = "the policy of chain inet filter input".to_owned();
        assert_eq!(check(&without, 80), Verdict::Blocked(policy));
        let accepting = without.replace(r#""policy": "drop""#, r#""policy": "accept""#);
        assert_eq!(check(&accepting, 80), Verdict::Open);
        let hidden = without.replace(jump, r#"{"xt": {"type": "match", "name": "udp"}}"#);
        assert!(matches!(check(&hidden, 443), Verdict::Unknown(_)));
    }

    #[test]
    fn without_rules_all_is_open_and_other_text_is_unknown() {
        assert_eq!(check(r#"{"nftables": [{"metainfo": {}}]}"#, 443), Verdict::Open);
        for text in ["", "[]", "{}", "table inet filter"] {
            assert!(matches!(check(text, 443), Verdict::Unknown(_)), "{text}");
        }
        // Chains that lead to each other end.
        let circle = RULES.replace(r#"{"accept": null}"#, r#"{"jump": {"target": "base"}}"#);
        assert!(matches!(check(&circle, 450), Verdict::Blocked(_)));
    }

    #[test]
    fn maps_of_verdicts_are_looked_up() {
        let map = r#"{"vmap": {"key": {"payload": {"protocol": "udp", "field": "dport"}},
            "data": {"set": [[22, {"drop": null}], [443, {"accept": null}]]}}}"#;
        let rules = RULES.replace(r#"{"jump": {"target": "base"}}"#, map);
        assert_eq!(check(&rules, 443), Verdict::Open);
        assert!(matches!(check(&rules, 22), Verdict::Blocked(_)));
    }
}

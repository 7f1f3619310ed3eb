//! `{name}` in command lines and files of peers.

/// Placeholders of clients.
pub const CLIENT: &[&str] = &[
    "url", "host", "address", "port", "path", "cert", "output", "timeout", "protocol", "home",
    "peer", "work", "bentpipe",
];
/// Placeholders of servers.
pub const SERVER: &[&str] =
    &["root", "host", "address", "port", "cert", "key", "home", "peer", "work", "bentpipe"];

/// Returns the names in braces in a text. Braces around anything but lower-case letters are no
/// placeholders: they occur in configuration files, such as those of nginx.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let after = text.match_indices('{').map(|(at, _)| &text[at + 1..]);
    after.filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the first placeholder that is not in `allowed`.
pub fn unknown<'a>(text: &'a str, allowed: &[&str]) -> Option<&'a str> {
    names(text).find(|name| !allowed.contains(name))
}

/// Replaces the placeholders in `text`. Values are inserted literally, even if they contain
/// placeholders.
pub fn fill(text: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let found = after.split_once('}').and_then(|(name, after)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value, after))
        });
        match found {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once_and_other_braces_are_kept() {
        let values = [("url", "https://{port}/".to_owned()), ("port", "4433".to_owned())];
        assert_eq!(fill("--to={url}", &values), "--to=https://{port}/");
        assert_eq!(fill("a { listen {port}; } {", &values), "a { listen 4433; } {");
        assert_eq!(fill("%{http_version} {unknown}", &values), "%{http_version} {unknown}");
        assert_eq!(fill("{{port}}é", &values), "{4433}é");
    }

    #[test]
    fn an_unknown_placeholder_is_found_and_other_braces_are_not() {
        assert_eq!(unknown("{url} {prot}", CLIENT), Some("prot"));
        assert_eq!(unknown("events { } %{http_version} {", CLIENT), None);
        assert_eq!(unknown("{url", CLIENT), None);
    }
}

//! Values in commands of `/bin/sh`.

/// Returns `command` with each `{name}` of `values` replaced by its value. The shell reads a value
/// as it is, whatever it contains, in quotes or without.
pub fn expand(command: &str, values: &[(&str, String)]) -> String {
    let mut expanded = String::with_capacity(command.len());
    let mut quotes = Quotes::None;
    let mut rest = command;
    while let Some(next) = rest.chars().next() {
        let found = values.iter().find_map(|(name, value)| {
            let after = rest.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after))
        });
        if let Some((value, after)) = found {
            expanded.push_str(&quotes.escaped(value));
            rest = after;
            continue;
        }
        expanded.push(next);
        rest = &rest[next.len_utf8()..];
        match (next, quotes) {
            ('\'', Quotes::None) => quotes = Quotes::Single,
            ('"', Quotes::None) => quotes = Quotes::Double,
            ('\'', Quotes::Single) | ('"', Quotes::Double) => quotes = Quotes::None,
            ('\\', Quotes::None | Quotes::Double) => {
                if let Some(escaped) = rest.chars().next() {
                    expanded.push(escaped);
                    rest = &rest[escaped.len_utf8()..];
                }
            }
            _ => {}
        }
    }
    expanded
}

/// Returns `value` as a word of a command.
pub fn word(value: &str) -> String {
    Quotes::None.escaped(value)
}

/// The quotes around a place in a command (POSIX.1-2017, XCU 2.2).
#[derive(Clone, Copy)]
enum Quotes {
    None,
    Single,
    Double,
}

impl Quotes {
    fn escaped(self, value: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,=+@%".contains(c);
        match self {
            Self::None if !value.is_empty() && value.chars().all(plain) => value.to_owned(),
            Self::None => format!("'{}'", Self::Single.escaped(value)),
            Self::Single => value.replace('\'', r"'\''"),
            Self::Double => {
                let mut escaped = String::with_capacity(value.len());
                for c in value.chars() {
                    if "\\\"$`".contains(c) {
                        escaped.push('\\');
                    }
                    escaped.push(c);
                }
                escaped
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn known_placeholders_only_are_replaced() {
        let values = [("port", "5001".to_owned()), ("url", "https://[::1]:1/{port}".to_owned())];
        let expanded = |command| expand(command, &values);
        assert_eq!(expanded("serve :{port} '{x}' {port}"), "serve :5001 '{x}' 5001");
        assert_eq!(expanded("{url} {porty} {"), "'https://[::1]:1/{port}' {porty} {");
    }

    #[test]
    fn the_shell_reads_values_as_they_are() {
        for value in ["/tmp/plain", "/tmp/a b", "it's", "$HOME `id` \"x\" \\", "a*?;&|<>#~ü", "'"]
        {
            let values = [("v", value.to_owned())];
            let command =
                r#"printf '%s\n' {v} '{v}' "{v}" --dir={v} "x"{v}'y' \"{v} "it's"'"'"{v}""#;
            let output = Command::new("/bin/sh").arg("-c").arg(expand(command, &values)).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            let expected = format!(
                "{value}\n{value}\n{value}\n--dir={value}\nx{value}y\n\"{value}\nit's\"{value}\n"
            );
            assert_eq!(text, expected);
            assert_eq!(word(value), expand("{v}", &values));
        }
    }
}

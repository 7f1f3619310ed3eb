//! What a `priority` field says (RFC 9218).

use bentpipe_units::Priority;

/// What a `priority` field says. Parameters that it does not name are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriorityField {
    /// Urgency, from 0 to 7.
    pub urgency: Option<u8>,
    /// Whether the response is incremental.
    pub incremental: Option<bool>,
}

/// Longest field that is read, in bytes. Our choice: those of browsers have at most six.
pub const MAX_PRIORITY_FIELD: usize = 1024;

impl PriorityField {
    /// A response whose parts are of use, such as those of a tunnel (RFC 9218 §11).
    pub const INCREMENTAL: Self = Self { urgency: None, incremental: Some(true) };

    /// Returns `priority` with what the field says.
    #[must_use]
    pub fn over(self, priority: Priority) -> Priority {
        Priority {
            urgency: self.urgency.unwrap_or(priority.urgency),
            incremental: self.incremental.unwrap_or(priority.incremental),
        }
    }

    /// Reads a field: a dictionary of structured values (RFC 8941 §3.2), in which unknown members,
    /// and values out of range, are ignored (RFC 9218 §4). `None` if it is not a dictionary, or
    /// longer than [`MAX_PRIORITY_FIELD`].
    pub fn parse(field: &[u8]) -> Option<Self> {
        let mut priority = Self::default();
        let mut rest = trim(field);
        if field.len() > MAX_PRIORITY_FIELD {
            return None;
        }
        while !rest.is_empty() {
            let (member, after) = split(rest, b',')?;
            priority.read_member(trim(member))?;
            rest = match after {
                // A comma promises another member.
                Some(after) => Some(trim(after)).filter(|after| !after.is_empty())?,
                None => &[],
            };
        }
        Some(priority)
    }

    /// Reads one member. The last one of a name counts. `None` if it has no valid name.
    fn read_member(&mut self, member: &[u8]) -> Option<()> {
        let (item, _) = split(member, b';')?;
        let (name, value) = match item.iter().position(|byte| *byte == b'=') {
            Some(at) => (&item[..at], Some(&item[at + 1..])),
            None => (item, None),
        };
        let starts = name.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'*');
        let inside = |byte: &u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(byte)
        };
        if !starts || !name.iter().all(inside) || value.is_some_and(<[u8]>::is_empty) {
            return None;
        }
        match (name, value) {
            (b"u", Some([digit @ b'0'..=b'7'])) => self.urgency = Some(digit - b'0'),
            (b"u", _) => self.urgency = None,
            (b"i", None | Some(b"?1")) => self.incremental = Some(true),
            (b"i", Some(b"?0")) => self.incremental = Some(false),
            (b"i", _) => self.incremental = None,
            _ => {}
        }
        Some(())
    }
}

/// Splits at the first `separator` that is outside of strings and inner lists. `None` if one of
/// these does not end.
fn split(bytes: &[u8], separator: u8) -> Option<(&[u8], Option<&[u8]>)> {
    let (mut quoted, mut listed, mut escaped) = (false, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' => listed = true,
            b')' => listed = false,
            byte if *byte == separator && !listed => {
                return Some((&bytes[..at], Some(&bytes[at + 1..])));
            }
            _ => {}
        }
    }
    (!quoted && !listed).then_some((bytes, None))
}

/// Returns `bytes` without spaces and tabs at both ends.
fn trim(bytes: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = bytes.iter().position(|byte| !is_space(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(field: &str) -> Option<(Option<u8>, Option<bool>)> {
        PriorityField::parse(field.as_bytes()).map(|field| (field.urgency, field.incremental))
    }

    #[test]
    fn fields_of_browsers_and_strange_ones_are_read() {
        for (field, expected) in [
            ("", (None, None)),
            ("u=0", (Some(0), None)),
            ("u=0, i", (Some(0), Some(true))),
            ("i,u=7", (Some(7), Some(true))),
            ("\tu=5 ,  i=?0 ", (Some(5), Some(false))),
            ("u=1;x=2, i=?1;y=\"a,b\"", (Some(1), Some(true))),
            ("u=1, u=2", (Some(2), None)),
            ("x=\"u=1, i\", y=(u=1, i), u=6", (Some(6), None)),
            // Out of range, or of another type.
            ("u=8, i", (None, Some(true))),
            ("u=-1", (None, None)),
            ("u=3.0", (None, None)),
            ("u", (None, None)),
            ("i=1", (None, None)),
        ] {
            assert_eq!(parsed(field), Some(expected), "{field:?}");
        }
        let broken =
            ["u=1,", ",u=1", "U=1", "=1", "u=", "x=\"a", "x=(a", "\u{e4}=1", "u=1,,i", "x=\"a\\\""];
        for field in broken {
            assert_eq!(parsed(field), None, "{field:?}");
        }
        assert_eq!(parsed(&format!("u=1, x={}", "1".repeat(MAX_PRIORITY_FIELD))), None);
    }

    proptest! {
        #[test]
        fn any_field_is_read_or_refused(field in "[ui=?01 ,;\"()\\\\a-z*\t]{0,40}") {
            if let Some(read) = PriorityField::parse(field.as_bytes()) {
                prop_assert!(read.urgency.is_none_or(|urgency| urgency <= 7));
            }
        }
    }
}

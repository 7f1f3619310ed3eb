//! Byte ranges (RFC 9110 §14).

/// A part of a file, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub first: u64,
    /// Number of bytes.
    pub length: u64,
}

/// The part of a file that a `Range` header selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// The whole file: no header, another unit, an invalid header, or several ranges, which a
    /// server may ignore (RFC 9110 §14.2).
    Whole,
    /// This part, with at least one byte.
    Part(ByteRange),
    /// No byte of the file: 416.
    Unsatisfiable,
}

impl Selected {
    /// Reads the value of a `Range` header for a file of `length` bytes.
    pub fn of(header: &str, length: u64) -> Self {
        Self::read(header, length).unwrap_or(Self::Whole)
    }

    /// Returns `None` if the header is to be ignored.
    fn read(header: &str, length: u64) -> Option<Self> {
        let (unit, set) = header.split_once('=')?;
        if !unit.eq_ignore_ascii_case("bytes") || set.contains(',') {
            return None;
        }
        let (first, last) = set.trim_matches([' ', '\t']).split_once('-')?;
        let range = match (first, last) {
            ("", suffix) => {
                let suffix = number(suffix)?.min(length);
                ByteRange { first: length - suffix, length: suffix }
            }
            (first, "") => {
                let first = number(first)?;
                ByteRange { first, length: length.saturating_sub(first) }
            }
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return None;
                }
                let end = last.saturating_add(1).min(length);
                ByteRange { first, length: end.saturating_sub(first) }
            }
        };
        Some(if range.length == 0 { Self::Unsatisfiable } else { Self::Part(range) })
    }
}

/// Parses digits. A number beyond `u64::MAX` counts as that, which no file reaches.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_select_by_rfc_9110() {
        let part = |first, length| Selected::Part(ByteRange { first, length });
        for (header, selected) in [
            ("bytes=0-499", part(0, 500)),
            ("bytes=500-999", part(500, 500)),
            ("bytes=-500", part(9500, 500)),
            ("bytes=9500-", part(9500, 500)),
            ("Bytes= 0-0 ", part(0, 1)),
            ("bytes=9999-20000", part(9999, 1)),
            ("bytes=-20000", part(0, 10_000)),
            ("bytes=0-99999999999999999999999", part(0, 10_000)),
            ("bytes=10000-", Selected::Unsatisfiable),
            ("bytes=10000-10001", Selected::Unsatisfiable),
            ("bytes=-0", Selected::Unsatisfiable),
            ("bytes=2-1", Selected::Whole),
            ("bytes=", Selected::Whole),
            ("bytes=-", Selected::Whole),
            ("bytes=+1-2", Selected::Whole),
            ("bytes=0-1,3-4", Selected::Whole),
            ("lines=0-1", Selected::Whole),
            ("", Selected::Whole),
        ] {
            assert_eq!(Selected::of(header, 10_000), selected, "{header}");
        }
        assert_eq!(Selected::of("bytes=0-", 0), Selected::Unsatisfiable);
    }

    proptest! {
        #[test]
        fn a_part_lies_in_the_file(
            header in "bytes=[0-9]{0,21}-[0-9]{0,21}|\\PC{0,30}",
            length in prop::num::u64::ANY,
        ) {
            if let Selected::Part(range) = Selected::of(&header, length) {
                prop_assert!(range.length > 0);
                let end = range.first.checked_add(range.length);
                prop_assert!(end.is_some_and(|end| end <= length));
            }
        }
    }
}

//! JSON text, written into a buffer without intermediate values.

use bentpipe_units::Span;

/// Writes the fields of an object. [`Object::end`] closes it.
pub(crate) struct Object<'a> {
    pub out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    #[inline]
    pub fn end(self) {
        self.out.push(b'}');
    }

    /// Writes the name of a field, which needs no escapes.
    #[inline]
    pub fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Writes a finite number.
    pub fn number(&mut self, name: &str, value: f64) {
        self.key(name).extend_from_slice(value.to_string().as_bytes());
    }

    #[inline]
    pub fn uint(&mut self, name: &str, value: u64) {
        uint(self.key(name), value);
    }

    #[inline]
    pub fn uint_if(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.uint(name, value);
        }
    }

    /// Writes milliseconds, with microseconds as the fraction.
    pub fn millis(&mut self, name: &str, value: Span) {
        millis(self.key(name), value);
    }

    pub fn millis_if(&mut self, name: &str, value: Option<Span>) {
        if let Some(value) = value {
            self.millis(name, value);
        }
    }

    pub fn bool(&mut self, name: &str, value: bool) {
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.key(name).extend_from_slice(text);
    }

    /// Writes text that needs no escapes: a name of ours.
    #[inline]
    pub fn name(&mut self, name: &str, value: &str) {
        let out = self.key(name);
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    }

    /// Writes any text.
    pub fn text(&mut self, name: &str, value: &str) {
        text(self.key(name), value);
    }

    pub fn hex(&mut self, name: &str, value: &[u8]) {
        hex(self.key(name), value);
    }

    pub fn hex_if(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.hex(name, value);
        }
    }

    #[inline]
    pub fn object(&mut self, name: &str, fields: impl FnOnce(&mut Object<'_>)) {
        let mut object = Object::begin(self.key(name));
        fields(&mut object);
        object.end();
    }

    /// Writes an array. `item` writes each of `items`.
    pub fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Vec<u8>, T),
    ) {
        let out = self.key(name);
        out.push(b'[');
        for (index, value) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            item(out, value);
        }
        out.push(b']');
    }
}

#[inline]
pub(crate) fn uint(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Writes milliseconds, with microseconds as the fraction. Nanoseconds are dropped.
#[inline]
pub(crate) fn millis(out: &mut Vec<u8>, value: Span) {
    let micros = value.as_nanos() / 1000;
    uint(out, micros / 1000);
    let fraction = (micros % 1000) as u32;
    if fraction > 0 {
        let digit = |place: u32| b'0' + (fraction / place % 10) as u8;
        let digits = [b'.', digit(100), digit(10), digit(1)];
        let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        out.extend_from_slice(&digits[..digits.len() - zeros]);
    }
}

pub(crate) fn hex(out: &mut Vec<u8>, value: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in value {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'"');
}

/// Writes a string (RFC 8259 §7).
pub(crate) fn text(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                let digits = b"0123456789abcdef";
                out.push(digits[usize::from(byte >> 4)]);
                out.push(digits[usize::from(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_have_microseconds_without_trailing_zeros() {
        for (nanos, expected) in [
            (0, "0"),
            (999, "0"),
            (1_000, "0.001"),
            (1_500_000, "1.5"),
            (300_039_296, "300.039"),
            (60_000_000_000, "60000"),
            (10_010_000, "10.01"),
        ] {
            let mut out = Vec::new();
            millis(&mut out, Span::from_nanos(nanos));
            assert_eq!(out, expected.as_bytes(), "{nanos} ns");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_json(value in any::<String>(), bytes in any::<Vec<u8>>()) {
            let mut out = Vec::new();
            let mut object = Object::begin(&mut out);
            object.text("text", &value);
            object.hex("hex", &bytes);
            object.end();
            let parsed: serde_json::Value = serde_json::from_slice(&out).unwrap();
            prop_assert_eq!(parsed["text"].as_str(), Some(value.as_str()));
            prop_assert_eq!(parsed["hex"].as_str().unwrap().len(), 2 * bytes.len());
        }
    }
}

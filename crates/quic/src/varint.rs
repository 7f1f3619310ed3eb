//! Reading of variable-length integers (RFC 9000 §16).

/// The bytes that are left to read.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads a variable-length integer.
    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let length = 1usize << (first >> 6);
        let bytes = self.0.get(..length)?;
        self.0 = self.0.get(length..)?;
        let (first, others) = bytes.split_first()?;
        Some(
            others
                .iter()
                .fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte)),
        )
    }

    /// Skips `count` variable-length integers.
    pub fn varints(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Skips `count` bytes.
    pub fn skip(&mut self, count: u64) -> Option<()> {
        self.bytes(count).map(drop)
    }

    /// Reads a length and as many bytes.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.varint()?;
        self.bytes(bytes)
    }
}

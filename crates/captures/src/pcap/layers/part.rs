//! The bytes of a layer.

use super::kind::Kind;

/// The bytes of a layer: those that the file kept, and how many were on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    kept: &'a [u8],
    wire: u64,
}

impl<'a> Part<'a> {
    /// Creates it of bytes that were kept of `wire`.
    pub fn new(kept: &'a [u8], wire: u64) -> Self {
        Self { kept, wire: wire.max(kept.len() as u64) }
    }

    /// Returns the bytes that were kept.
    pub fn kept(&self) -> &'a [u8] {
        self.kept
    }

    /// Returns the number of bytes on the wire.
    pub fn wire(&self) -> u64 {
        self.wire
    }

    /// Returns what follows `length` bytes.
    pub fn skip(&self, length: usize) -> Result<Self, Kind> {
        let kept = self.kept.get(length..).ok_or(Kind::CutOff)?;
        Ok(Self { kept, wire: self.wire.saturating_sub(length as u64) })
    }

    /// Returns a part that has `length` bytes on the wire: the rest is padding.
    pub fn limit(&self, length: u64) -> Self {
        let end = usize::try_from(length).unwrap_or(usize::MAX).min(self.kept.len());
        Self { kept: self.kept.get(..end).unwrap_or_default(), wire: length }
    }

    /// Returns the byte at an offset.
    pub fn u8(&self, at: usize) -> Result<u8, Kind> {
        self.kept.get(at).copied().ok_or(Kind::CutOff)
    }

    /// Returns the two bytes at an offset, big-endian.
    pub fn u16(&self, at: usize) -> Result<u16, Kind> {
        Ok(u16::from_be_bytes(self.array(at)?))
    }

    /// Returns the four bytes at an offset, big-endian.
    pub fn u32(&self, at: usize) -> Result<u32, Kind> {
        Ok(u32::from_be_bytes(self.array(at)?))
    }

    /// Returns the bytes at an offset.
    pub fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Kind> {
        let bytes = self.kept.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or(Kind::CutOff)
    }
}

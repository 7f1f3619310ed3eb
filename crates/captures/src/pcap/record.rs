//! Records of capture files.

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// A packet of a capture.
#[derive(Debug, Clone, Copy)]
pub struct CapturedPacket<'a> {
    /// Time in nanoseconds since the epoch of the capture; `None` if the file has none for it.
    pub at: Option<u64>,
    /// Link type (`LINKTYPE_…` of the registry of tcpdump.org).
    pub link_type: u16,
    /// Bytes that it had on the wire.
    pub wire: u32,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// Offset of `data` in the file.
    pub start: usize,
}

/// What a file has.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// A packet.
    Packet(CapturedPacket<'a>),
    /// Secrets of TLS in the form of `SSLKEYLOGFILE`.
    KeyLog(&'a [u8]),
}

/// Reads numbers of a byte order.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// True if it is big-endian.
    pub big: bool,
}

impl Order {
    /// Reads two bytes.
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let field = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
    }

    /// Reads four bytes.
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let field = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) })
    }

    /// Writes two bytes.
    pub fn put_u16(self, number: u16) -> [u8; 2] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    /// Writes four bytes.
    pub fn put_u32(self, number: u32) -> [u8; 4] {
        if self.big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    /// Reads eight bytes.
    pub fn i64(self, bytes: &[u8], at: usize) -> Option<i64> {
        let field = *bytes.get(at..)?.first_chunk()?;
        Some(if self.big { i64::from_be_bytes(field) } else { i64::from_le_bytes(field) })
    }
}

//! When the application of a TCP connection begins.

use super::segment::Segment;

/// Content type of a TLS record with application data (RFC 8446 §5.1), and of the handshake.
const TLS_APPLICATION: u8 = 0x17;
const TLS_HANDSHAKE: u8 = 0x16;

/// Finds out when the application begins: after the handshake of TLS, if there is one.
#[derive(Debug)]
pub enum Opening {
    /// No data has been seen.
    Silent,
    /// In TLS's handshake: the offset of the client's next record.
    Tls(u64),
    /// The application has begun.
    Over,
}

impl Opening {
    /// Handles a segment with data, which begins at `offset`.
    pub fn advance(&mut self, by_client: bool, offset: u64, segment: &Segment<'_>) {
        let data = segment.data;
        if matches!(self, Self::Silent) {
            let is_tls = by_client && data.starts_with(&[TLS_HANDSHAKE, 3]);
            *self = if is_tls { Self::Tls(offset) } else { Self::Over };
        }
        let Self::Tls(next) = self else { return };
        if !by_client {
            return;
        }
        let end = offset.saturating_add(u64::from(segment.length));
        while *next < end {
            let header = next
                .checked_sub(offset)
                .and_then(|skip| data.get(usize::try_from(skip).ok()?..)?.first_chunk::<5>());
            match header {
                // Of a record whose begin was not kept, nothing is known.
                None | Some([TLS_APPLICATION, ..]) => {
                    *self = Self::Over;
                    return;
                }
                Some([_, _, _, high, low]) => {
                    *next += 5 + u64::from(u16::from_be_bytes([*high, *low]));
                }
            }
        }
    }
}

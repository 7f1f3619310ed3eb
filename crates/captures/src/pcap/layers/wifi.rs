//! IEEE 802.11 frames, and the headers that capturing devices put before them.

use super::kind::Kind;
use super::layer::{Before, Layer, Next};
use super::part::Part;

/// Bits of radiotap's first presence word, and of its flags.
const RADIOTAP_TSFT: u32 = 1;
const RADIOTAP_FLAGS: u32 = 2;
const RADIOTAP_MORE: u32 = 1 << 31;
const RADIOTAP_PADDED: u8 = 0x20;
/// Most presence words.
const MAX_WORDS: usize = 32;
/// Bits of a frame's second byte (IEEE 802.11-2020 §9.2.4.1).
const TO_AND_FROM_DS: u8 = 3;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// Bit of QoS control: the frame has several packets.
const AGGREGATE: u8 = 0x80;

/// Reads the header before a frame, and the frame's.
pub fn read(before: Before, part: Part<'_>) -> Result<Next<'_>, Kind> {
    // The upper 20 bits of AVS's first word.
    let is_avs = |word: u32| word >> 12 == 0x8_0211;
    let (length, is_padded) = match before {
        Before::Nothing => (0, false),
        Before::Radiotap => {
            (usize::from(u16::from_le_bytes(part.array(2)?)), radiotap_padding(part)?)
        }
        Before::Prism if !is_avs(part.u32(0)?) => {
            // In the byte order of the machine.
            let [little, big] =
                [u32::from_le_bytes(part.array(4)?), u32::from_be_bytes(part.array(4)?)];
            (little.min(big) as usize, false)
        }
        Before::Prism | Before::Avs => (part.u32(4)? as usize, false),
        // Its link type is nearly always that of a frame.
        Before::Ppi => (usize::from(u16::from_le_bytes(part.array(2)?)), false),
    };
    frame(part.skip(length)?, is_padded)
}

/// Returns true if a frame's header is padded to four bytes.
fn radiotap_padding(part: Part<'_>) -> Result<bool, Kind> {
    let word = |index: usize| Ok::<u32, Kind>(u32::from_le_bytes(part.array(4 + 4 * index)?));
    let first = word(0)?;
    let mut words = 1;
    while words < MAX_WORDS && word(words - 1)? & RADIOTAP_MORE != 0 {
        words += 1;
    }
    if first & RADIOTAP_FLAGS == 0 {
        return Ok(false);
    }
    let mut at = 4 + 4 * words;
    if first & RADIOTAP_TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    Ok(part.u8(at)? & RADIOTAP_PADDED != 0)
}

fn frame(part: Part<'_>, is_padded: bool) -> Result<Next<'_>, Kind> {
    let (kind, flags) = (part.u8(0)?, part.u8(1)?);
    let is_data = kind & 0x0c == 8;
    let (has_qos, is_null) = (kind & 0x80 != 0, kind & 0x40 != 0);
    if !is_data || is_null {
        return Err(Kind::WifiControl);
    }
    if flags & PROTECTED != 0 {
        return Err(Kind::WifiEncrypted);
    }
    if part.u8(22)? & 0x0f != 0 {
        return Err(Kind::Fragment);
    }
    let mut length = 24;
    if flags & TO_AND_FROM_DS == TO_AND_FROM_DS {
        length += 6;
    }
    let mut is_aggregate = false;
    if has_qos {
        is_aggregate = part.u8(length)? & AGGREGATE != 0;
        length += if flags & ORDER == 0 { 2 } else { 6 };
    }
    if is_padded {
        length = length.next_multiple_of(4);
    }
    if is_aggregate {
        // Of several packets the first: addresses and its length are before it.
        length += 14;
    }
    Ok(Next::Layer(Layer::Llc, part.skip(length)?))
}

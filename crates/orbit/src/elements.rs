//! Published orbital elements: two-line element sets (with or without a line of name) and OMM messages (JSON, CSV or key-value).

use crate::OrbitError;
use bentpipe_units::Epoch;

/// How elements are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementsFormat {
    /// Two or three lines for each satellite.
    Tle,
    /// CCSDS Orbit Mean-elements Messages as JSON, as CelesTrak and Space-Track give them.
    OmmJson,
}

/// One satellite's elements.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    pub name: String,
    pub epoch: Epoch,
    pub elements: sgp4::Elements,
}

/// Most satellites that one text may describe.
pub(crate) const MOST: usize = 100_000;

/// The format that `text` is written in, by how it begins.
pub(crate) fn detect(text: &str) -> ElementsFormat {
    let _ = text;
    todo!()
}

/// Reads every satellite of `text`; lines that are empty or begin with `#` are left out.
///
/// # Errors
/// The first line that cannot be read: wrong checksum (which one was computed), wrong length, numbers that are none, two lines of different satellites.
pub(crate) fn read(text: &str, format: ElementsFormat) -> Result<Vec<Elements>, OrbitError> {
    let _ = (text, format);
    todo!()
}

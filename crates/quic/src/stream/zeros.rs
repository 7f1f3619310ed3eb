//! Payload of zeros that the stack need not copy.
//!
//! The content of a simulated object never matters. Writers get slices, which the stack copies into
//! its send buffer: megabytes of fresh memory on a long path. Slices of [`zeros`] are recognised by
//! their address and passed on by reference.

use bytes::Bytes;

static ZEROS: [u8; 1_048_576] = [0; 1_048_576];

/// Returns `length` zeros, at most [`MAX_ZEROS`], for the content of a simulated object.
pub fn zeros(length: usize) -> Bytes {
    Bytes::from_static(&ZEROS[..length.min(MAX_ZEROS)])
}

/// Most zeros that [`zeros`] returns at once. Applications write DATA frames of this size because
/// the stack searches the chunks of its send buffer one by one.
pub const MAX_ZEROS: usize = ZEROS.len();

/// Returns `data` without copying it, if it is a part of [`zeros`].
pub(crate) fn by_reference(data: &[u8]) -> Option<Bytes> {
    ZEROS.as_ptr_range().contains(&data.as_ptr()).then(|| zeros(data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slices_of_the_zeros_are_passed_by_reference() {
        let data = zeros(1000);
        let part = by_reference(&data[400..]).unwrap();
        assert_eq!(part, data[400..]);
        assert!(ZEROS.as_ptr_range().contains(&part.as_ptr()));
        assert_eq!(by_reference(&[0; 600]), None);
        assert_eq!(zeros(usize::MAX).len(), MAX_ZEROS);
    }
}

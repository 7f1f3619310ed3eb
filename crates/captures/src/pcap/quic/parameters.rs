//! The transport parameters that the ends announce in their first messages of TLS (RFC 9000 §18).

use super::frames::DELAY_EXPONENT;
use super::header::integer;
use crate::event::{Event, TransportParameters};
use bentpipe_units::Span;

/// Largest exponent of ACK delays that is allowed (RFC 9000 §18.2).
const MAX_EXPONENT: u64 = 20;

/// The parameters of an end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters(TransportParameters);

impl Parameters {
    /// Reads the content of the extension; of one that is damaged, what stands before.
    pub fn read(mut bytes: &[u8]) -> Self {
        let mut read = Self::default();
        while let Some((id, value, rest)) = parameter(bytes) {
            bytes = rest;
            let Some((number, [])) = integer(value) else { continue };
            let known = &mut read.0;
            let time = || Span::from_nanos(number.saturating_mul(1_000_000));
            match id {
                0x01 => known.max_idle_timeout = Some(time()),
                0x03 => known.max_udp_payload_size = Some(number),
                0x04 => known.initial_max_data = Some(number),
                0x05 => known.initial_max_stream_data_bidi_local = Some(number),
                0x06 => known.initial_max_stream_data_bidi_remote = Some(number),
                0x07 => known.initial_max_stream_data_uni = Some(number),
                0x08 => known.initial_max_streams_bidi = Some(number),
                0x0a => known.ack_delay_exponent = Some(number),
                0x0b => known.max_ack_delay = Some(time()),
                _ => {}
            }
        }
        read
    }

    /// Returns the exponent of the end's ACK delays (RFC 9000 §18.2).
    pub fn ack_delay_exponent(&self) -> u32 {
        let announced = self.0.ack_delay_exponent.filter(|exponent| *exponent <= MAX_EXPONENT);
        announced.and_then(|exponent| exponent.try_into().ok()).unwrap_or(DELAY_EXPONENT)
    }

    /// Returns the events that say them in a recording; `is_local` if the end recorded it.
    pub fn events(&self, is_local: bool) -> Vec<Event> {
        let known = &self.0;
        if *known == TransportParameters::default() {
            return Vec::new();
        }
        let of_streams = [
            known.initial_max_stream_data_bidi_local,
            known.initial_max_stream_data_bidi_remote,
            known.initial_max_stream_data_uni,
        ];
        let limits = known.initial_max_data.zip(of_streams.into_iter().flatten().max());
        let limits = limits.filter(|_| !is_local);
        let limits = limits.map(|(connection, stream)| Event::PeerLimits { connection, stream });
        let parameters = TransportParameters { is_local, ..known.clone() };
        limits.into_iter().chain([Event::Parameters(Box::new(parameters))]).collect()
    }
}

/// Returns the first parameter of `bytes`: its number, its value, and what follows.
fn parameter(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (id, rest) = integer(bytes)?;
    let (length, rest) = integer(rest)?;
    let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((id, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_those_that_are_unknown_left_out() {
        let bytes = [
            &[0x01, 1, 30, 0x04, 2, 0x43, 0xe8, 0x05, 1, 9, 0x07, 1, 11][..],
            // Of a length that no number has; grease; then one that is cut off.
            &[0x06, 3, 1, 2, 3, 0x40, 0x9b, 2, 1, 1, 0x0a, 1, 5, 0x0b, 1, 25, 0x08, 4, 1],
        ]
        .concat();
        let read = Parameters::read(&bytes);
        let expected = TransportParameters {
            max_idle_timeout: Some(Span::from_millis(30)),
            initial_max_data: Some(1000),
            initial_max_stream_data_bidi_local: Some(9),
            initial_max_stream_data_uni: Some(11),
            ack_delay_exponent: Some(5),
            max_ack_delay: Some(Span::from_millis(25)),
            ..TransportParameters::default()
        };
        assert_eq!(read.0, expected);
        assert_eq!(read.events(false)[0], Event::PeerLimits { connection: 1000, stream: 11 });
        assert_eq!(read.events(true).len(), 1);
        assert_eq!(read.ack_delay_exponent(), 5);
        // Larger ones are not allowed.
        assert_eq!(Parameters::read(&[0x0a, 1, 21]).ack_delay_exponent(), DELAY_EXPONENT);
        assert_eq!(Parameters::read(&[1, 2, 3]).events(false), Vec::new());
    }
}

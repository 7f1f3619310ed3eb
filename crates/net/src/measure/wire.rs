//! Messages of a measurement, all of fixed sizes and in network order.

use bentpipe_units::Span;
use thiserror::Error;

/// Size of a message on a stream, bytes: kind, three zeros, milliseconds, bytes.
pub const MESSAGE: usize = 16;
/// Size of a ping and of its answer, bytes.
pub const PING_BYTES: usize = 100;
/// Nanoseconds in a millisecond.
const MILLI: u64 = 1_000_000;
/// Most bins of a [`Message::Bins`]: two minutes.
pub const MAX_BINS: u64 = 1200;

/// A message on a stream. Times have milliseconds there: they are rounded down, and that of
/// [`Message::Later`] is rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The client wants to measure for so long, with so many bytes of UDP payload in both
    /// directions together.
    Begin {
        /// Time.
        time: Span,
        /// Bytes.
        bytes: u64,
    },
    /// The server grants as much, for the whole or for an upload.
    Granted {
        /// Time.
        time: Span,
        /// Bytes.
        bytes: u64,
    },
    /// The server is busy or has measured with this network lately: a client may ask again after
    /// this time.
    Later {
        /// Time.
        time: Span,
    },
    /// The server shall send so many bytes on this stream, for at most this time.
    Download {
        /// Time.
        time: Span,
        /// Bytes.
        bytes: u64,
    },
    /// The client will send so many bytes on this stream, for at most this time, once the server
    /// has granted as many or fewer.
    Upload {
        /// Time.
        time: Span,
        /// Bytes.
        bytes: u64,
    },
    /// What arrived of an upload follows: bytes of IP packets in each 100 ms, 8 bytes each.
    Bins {
        /// Number of bins.
        count: u64,
    },
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// The kind is unknown.
    #[error("message of kind {0}; allowed: 1 to 6")]
    Kind(u8),
    /// Bytes that are zero in this version.
    #[error("a message has bytes of a later version; allowed: three zeros after its kind")]
    Reserved,
    /// More bins than a measurement has.
    #[error("{0} bins; allowed: up to {MAX_BINS}")]
    Bins(u64),
    /// A datagram of another size.
    #[error("a ping of {0} bytes; allowed: {PING_BYTES}")]
    Size(usize),
}

impl Message {
    /// Returns the bytes.
    pub fn encode(self) -> [u8; MESSAGE] {
        let (kind, millis, bytes) = match self {
            Self::Begin { time, bytes } => (1, time.as_nanos() / MILLI, bytes),
            Self::Granted { time, bytes } => (2, time.as_nanos() / MILLI, bytes),
            Self::Later { time } => (3, time.as_nanos().div_ceil(MILLI), 0),
            Self::Download { time, bytes } => (4, time.as_nanos() / MILLI, bytes),
            Self::Upload { time, bytes } => (5, time.as_nanos() / MILLI, bytes),
            Self::Bins { count } => (6, 0, count),
        };
        // Longer times are as good as endless.
        let millis = u32::try_from(millis).unwrap_or(u32::MAX);
        let mut encoded = [0; MESSAGE];
        encoded[0] = kind;
        encoded[4..8].copy_from_slice(&u32::to_be_bytes(millis));
        encoded[8..].copy_from_slice(&u64::to_be_bytes(bytes));
        encoded
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn decode(encoded: &[u8; MESSAGE]) -> Result<Self, WireError> {
        let [kind, reserved @ .., m0, m1, m2, m3, _, _, _, _, _, _, _, _] = encoded;
        if *reserved != [0; 3] {
            return Err(WireError::Reserved);
        }
        let time = Span::from_millis(u32::from_be_bytes([*m0, *m1, *m2, *m3]).into());
        let bytes = number(&encoded[8..]);
        match kind {
            1 => Ok(Self::Begin { time, bytes }),
            2 => Ok(Self::Granted { time, bytes }),
            3 => Ok(Self::Later { time }),
            4 => Ok(Self::Download { time, bytes }),
            5 => Ok(Self::Upload { time, bytes }),
            6 if bytes > MAX_BINS => Err(WireError::Bins(bytes)),
            6 => Ok(Self::Bins { count: bytes }),
            other => Err(WireError::Kind(*other)),
        }
    }
}

/// A ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Its number, from 0.
    pub number: u32,
    /// Time at which it was sent, in nanoseconds on the client's clock.
    pub sent: u64,
}

/// The answer to a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The ping.
    pub ping: Ping,
    /// Time at which the ping arrived, in nanoseconds on the server's clock.
    pub received: u64,
    /// Time at which the answer was sent, on the same clock.
    pub answered: u64,
    /// Which of the 64 pings before this one have arrived: bit 0 is the one just before.
    pub arrived: u64,
}

impl Ping {
    /// Returns the datagram.
    pub fn encode(self) -> [u8; PING_BYTES] {
        let mut encoded = [0; PING_BYTES];
        encoded[..4].copy_from_slice(&self.number.to_be_bytes());
        encoded[4..12].copy_from_slice(&self.sent.to_be_bytes());
        encoded
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// It has another size.
    pub fn decode(encoded: &[u8]) -> Result<Self, WireError> {
        if encoded.len() != PING_BYTES {
            return Err(WireError::Size(encoded.len()));
        }
        // The number fits, as it is of four bytes.
        Ok(Self { number: number(&encoded[..4]) as u32, sent: number(&encoded[4..12]) })
    }
}

impl Answer {
    /// Returns the datagram, as long as the ping's.
    pub fn encode(self) -> [u8; PING_BYTES] {
        let mut encoded = self.ping.encode();
        for (place, value) in [(12, self.received), (20, self.answered), (28, self.arrived)] {
            encoded[place..place + 8].copy_from_slice(&value.to_be_bytes());
        }
        encoded
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// It has another size.
    pub fn decode(encoded: &[u8]) -> Result<Self, WireError> {
        let ping = Ping::decode(encoded)?;
        let [received, answered, arrived] =
            [12, 20, 28].map(|place| number(&encoded[place..place + 8]));
        Ok(Self { ping, received, answered, arrived })
    }
}

/// Returns the number that up to eight bytes are.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads bins from the bytes after [`Message::Bins`].
pub fn bins(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_back() {
        let (time, bytes) = (Span::from_secs(180), 100_000_000);
        for message in [
            Message::Begin { time, bytes },
            Message::Granted { time, bytes },
            Message::Later { time },
            Message::Download { time, bytes },
            Message::Upload { time, bytes },
            Message::Bins { count: 7 },
        ] {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        let ping = Ping { number: 70_000, sent: 1 << 40 };
        let answer = Answer { ping, received: 5, answered: u64::MAX, arrived: 0b101 };
        assert_eq!(Ping::decode(&ping.encode()), Ok(ping));
        assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        assert_eq!(bins(&[0, 0, 0, 0, 0, 0, 1, 2, 9]), [258]);
    }

    #[test]
    fn times_are_rounded_so_that_nobody_gets_more_or_is_asked_again_too_soon() {
        let told = |message: Message| match Message::decode(&message.encode()) {
            Ok(Message::Granted { time, .. } | Message::Later { time }) => time,
            other => panic!("{other:?}"),
        };
        let exact = Span::from_nanos(1_500_001);
        assert_eq!(told(Message::Granted { time: exact, bytes: 0 }), Span::from_millis(1));
        assert_eq!(told(Message::Later { time: exact }), Span::from_millis(2));
        let longest = Span::from_millis(u32::MAX.into());
        assert_eq!(told(Message::Granted { time: Span::MAX, bytes: 0 }), longest);
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut encoded = Message::Bins { count: MAX_BINS + 1 }.encode();
        assert_eq!(Message::decode(&encoded), Err(WireError::Bins(MAX_BINS + 1)));
        encoded[0] = 9;
        assert_eq!(Message::decode(&encoded), Err(WireError::Kind(9)));
        encoded[2] = 1;
        assert_eq!(Message::decode(&encoded), Err(WireError::Reserved));
        assert_eq!(Answer::decode(&[0; 99]), Err(WireError::Size(99)));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_in_the_same_way(encoded in any::<[u8; MESSAGE]>()) {
            if let Ok(message) = Message::decode(&encoded) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}

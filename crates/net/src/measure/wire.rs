//! Messages of a measurement, all of fixed sizes and in network order.

use thiserror::Error;

/// Size of a message on a stream, bytes: kind, three zeros, milliseconds, bytes.
pub const MESSAGE: usize = 16;
/// Size of a ping and of its answer, bytes.
pub const PING_BYTES: usize = 100;
/// Most bins of a [`Message::Bins`]: two minutes.
pub const MAX_BINS: u64 = 1200;

/// A message on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The client wants to measure for so long, with so many bytes of UDP payload in both
    /// directions together.
    Begin {
        /// Time.
        millis: u32,
        /// Bytes.
        bytes: u64,
    },
    /// The server grants as much, for the whole or for an upload.
    Granted {
        /// Time.
        millis: u32,
        /// Bytes.
        bytes: u64,
    },
    /// The server is busy or has measured with this network lately: a client may ask again after
    /// this time.
    Later {
        /// Time.
        millis: u32,
    },
    /// The server shall send so many bytes on this stream, for at most this time.
    Download {
        /// Time.
        millis: u32,
        /// Bytes.
        bytes: u64,
    },
    /// The client will send so many bytes on this stream, for at most this time, once the server
    /// has granted as many or fewer.
    Upload {
        /// Time.
        millis: u32,
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
            Self::Begin { millis, bytes } => (1, millis, bytes),
            Self::Granted { millis, bytes } => (2, millis, bytes),
            Self::Later { millis } => (3, millis, 0),
            Self::Download { millis, bytes } => (4, millis, bytes),
            Self::Upload { millis, bytes } => (5, millis, bytes),
            Self::Bins { count } => (6, 0, count),
        };
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
        let millis = u32::from_be_bytes([*m0, *m1, *m2, *m3]);
        let bytes = number(&encoded[8..]);
        match kind {
            1 => Ok(Self::Begin { millis, bytes }),
            2 => Ok(Self::Granted { millis, bytes }),
            3 => Ok(Self::Later { millis }),
            4 => Ok(Self::Download { millis, bytes }),
            5 => Ok(Self::Upload { millis, bytes }),
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
        let (millis, bytes) = (180_000, 100_000_000);
        for message in [
            Message::Begin { millis, bytes },
            Message::Granted { millis, bytes },
            Message::Later { millis },
            Message::Download { millis, bytes },
            Message::Upload { millis, bytes },
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

//! What a hostile client does, one step after another, decoded from arbitrary bytes. So the
//! property test, the fuzz target and a saved regression share one language.

use bentpipe_units::Span;

/// One step. `stream` counts the streams that the client has opened, modulo their number.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Opens a bidirectional stream, if credit is left.
    OpenRequest,
    /// Opens a unidirectional stream, if credit is left.
    OpenUni,
    /// Sends bytes on a stream.
    Write { stream: u8, what: Content },
    /// Ends a stream's sending side.
    Finish { stream: u8 },
    /// RESET_STREAM.
    Reset { stream: u8, code: u8 },
    /// STOP_SENDING.
    Stop { stream: u8, code: u8 },
    /// Reads what has arrived on a stream, and so returns its credit.
    Read { stream: u8 },
    /// Lets time pass.
    Wait(Span),
    /// Loses the next datagrams of one direction.
    Lose { to_server: bool, datagrams: u8 },
    /// Sends the last datagram once more, with one byte changed if `flip` is not zero.
    Replay { at: u8, flip: u8 },
    /// A datagram of arbitrary bytes to the server.
    Garbage(Vec<u8>),
    /// Continues from another port.
    Rebind,
    /// A PING frame.
    Ping,
    /// A key update.
    KeyUpdate,
    /// Closes the connection and opens another one.
    Reconnect { code: u8 },
}

/// Bytes on a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// HEADERS of a GET for that many kB.
    Get(u16),
    /// HEADERS of a PUT.
    Put,
    /// A DATA frame that declares a length and has that many bytes.
    Data { declared: u32, sent: u16 },
    /// A frame of some type that declares a length (up to 2^62 - 1) and has a few bytes.
    Frame { kind: u64, declared: u64, sent: u8 },
    /// The type of a unidirectional stream, and SETTINGS if it is the control stream.
    StreamType(u8),
    /// Arbitrary bytes.
    Raw(Vec<u8>),
}

/// Decodes steps until the bytes end. Any bytes are valid.
pub fn decode(bytes: &[u8]) -> Vec<Step> {
    let mut input = Input(bytes);
    let mut steps = Vec::new();
    while let Some(step) = input.step() {
        steps.push(step);
    }
    steps
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn step(&mut self) -> Option<Step> {
        let kind = self.byte_or_end()?;
        Some(match kind % 32 {
            0..=4 => Step::OpenRequest,
            5 => Step::OpenUni,
            6..=15 => Step::Write { stream: self.byte(), what: self.content() },
            16 | 17 => Step::Finish { stream: self.byte() },
            18 => Step::Reset { stream: self.byte(), code: self.byte() },
            19 | 20 => Step::Stop { stream: self.byte(), code: self.byte() },
            21 | 22 => Step::Read { stream: self.byte() },
            // Up to 64 ms, or up to 16 s.
            23 | 24 => Step::Wait(Span::from_micros(250 * u64::from(self.byte()))),
            25 => Step::Wait(Span::from_millis(64 * u64::from(self.byte()))),
            26 => {
                let byte = self.byte();
                Step::Lose { to_server: byte & 1 == 0, datagrams: byte >> 4 }
            }
            27 => Step::Replay { at: self.byte(), flip: self.byte() },
            28 => Step::Garbage(self.some(64)),
            29 => Step::Rebind,
            30 if self.byte() < 128 => Step::Ping,
            30 => Step::KeyUpdate,
            _ => Step::Reconnect { code: self.byte() },
        })
    }

    fn content(&mut self) -> Content {
        match self.byte() % 16 {
            0..=4 => Content::Get(u16::from(self.byte()) * u16::from(self.byte() % 16)),
            5 => Content::Put,
            6 | 7 => Content::Data { declared: self.number(2) as u32, sent: self.number(2) as u16 },
            8 => Content::Data { declared: self.number(4) as u32, sent: self.number(2) as u16 },
            9 => Content::Frame {
                kind: u64::from(self.byte() % 16),
                declared: self.number(8) >> 2,
                sent: self.byte(),
            },
            10 => Content::Frame {
                kind: self.number(8) >> 2,
                declared: self.number(2),
                sent: self.byte(),
            },
            11..=13 => Content::StreamType(self.byte()),
            _ => Content::Raw(self.some(64)),
        }
    }

    fn byte_or_end(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next byte, or zero after the end.
    fn byte(&mut self) -> u8 {
        self.byte_or_end().unwrap_or(0)
    }

    fn number(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn some(&mut self, most: u8) -> Vec<u8> {
        let length = self.byte() % (most + 1);
        (0..length).map(|_| self.byte()).collect()
    }
}

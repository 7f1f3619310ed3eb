//! Arbitrary sequences of segments to an endpoint and to both legs of a proxy: no panic, no endless
//! loop, and no buffer exceeds its size.
#![no_main]

use bentpipe_congestion::{CongestionConfig, FastStart};
use bentpipe_link::Ecn;
use bentpipe_tcp::{Endpoint, Flags, Leg, MakeController, Relay, Sack, Segment, TcpSettings};
use bentpipe_units::{Bytes, Span, Time};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

/// Size of every buffer in this test, in bytes.
const BUFFER: u64 = 100_000;

/// A sequence number near those in use, or an arbitrary one.
#[derive(Debug, Arbitrary)]
enum Position {
    Near(u16),
    Any(u64),
}

impl Position {
    fn get(&self) -> u64 {
        match *self {
            Self::Near(near) => u64::from(near),
            Self::Any(any) => any,
        }
    }
}

#[derive(Debug, Arbitrary)]
struct Piece {
    seq: Position,
    ack: Position,
    window: Position,
    timestamp: Position,
    echo: Position,
    len: u16,
    flags: [bool; 6],
    ecn: u8,
    blocks: Vec<(Position, Position)>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Client(Piece),
    Server(Piece),
    WaitMicros(u32),
    Write(u16),
    Consume(u16),
    Finish,
    Reset,
}

fn segment(piece: &Piece) -> (Segment, Ecn) {
    let [syn, fin, rst, ack, ece, cwr] = piece.flags;
    let mut sack = Sack::default();
    for (start, end) in &piece.blocks {
        sack.push(start.get(), end.get());
    }
    let segment = Segment {
        seq: piece.seq.get(),
        ack: piece.ack.get(),
        window: piece.window.get(),
        timestamp: Time::from_nanos(piece.timestamp.get()),
        echo: Time::from_nanos(piece.echo.get()),
        len: u32::from(piece.len),
        flags: Flags { syn, fin, rst, ack, ece, cwr },
        sack,
    };
    (segment, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(piece.ecn % 4)])
}

fuzz_target!(|input: (bool, Vec<Step>)| {
    let (connects, steps) = input;
    let Ok(factory) = CongestionConfig::default().factory() else { return };
    let make: MakeController =
        Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None));
    let buffer = Bytes::new(BUFFER);
    let settings = Arc::new(TcpSettings {
        receive_buffer: buffer,
        window_share: 1000,
        autotune: false,
        send_buffer: buffer,
        ecn: true,
        ..TcpSettings::default()
    });
    let mut now = Time::from_millis(1);
    let begin = if connects { Endpoint::connect } else { Endpoint::listen };
    let mut endpoint = begin(now, settings.clone(), make.clone(), None);
    let mut relay =
        Relay::new(now, [settings.clone(), settings], [make.clone(), make], [None, None], buffer);
    for step in &steps {
        match step {
            Step::Client(piece) => {
                let (segment, ecn) = segment(piece);
                endpoint.handle_segment(now, &segment, ecn);
                relay.handle_segment(now, Leg::Client, &segment, ecn);
            }
            Step::Server(piece) => {
                let (segment, ecn) = segment(piece);
                relay.handle_segment(now, Leg::Server, &segment, ecn);
            }
            Step::WaitMicros(micros) => {
                now += Span::from_micros(u64::from(*micros));
                endpoint.handle_timeout(now);
                relay.handle_timeout(now);
            }
            Step::Write(bytes) => {
                endpoint.write(now, u64::from(*bytes));
            }
            Step::Consume(bytes) => endpoint.consume(now, u64::from(*bytes)),
            Step::Finish => endpoint.finish(now),
            Step::Reset => endpoint.reset(now),
        }
        // 100 000 bytes are 70 full segments, or more if the peer's windows are small.
        assert!(
            (0..100_000).any(|_| endpoint.poll_transmit(now).is_none()),
            "the endpoint never stops sending"
        );
        assert!(
            (0..100_000).any(|_| relay.poll_transmit(now).is_none()),
            "the proxy never stops sending"
        );
        assert!(endpoint.acknowledged() <= endpoint.written());
        assert!(endpoint.written() - endpoint.acknowledged() <= BUFFER);
        // The window field is rounded up to its unit of two bytes.
        assert!(endpoint.received() - endpoint.consumed() <= BUFFER + 1);
        for leg in [Leg::Client, Leg::Server] {
            assert!(relay.max_buffered(leg) <= BUFFER);
        }
    }
});

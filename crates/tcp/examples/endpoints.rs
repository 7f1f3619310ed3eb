//! A bulk transfer between two endpoints connected only by a delay, for timing from outside: it
//! shows the cost of the endpoints themselves.
//!
//! `cargo build --release -p bentpipe-tcp --example endpoints && time
//! target/release/examples/endpoints [SEGMENTS] [SEGMENTS PER LOSS]`

use bentpipe_congestion::{CongestionConfig, Controller, ControllerConfig, FastStart};
use bentpipe_link::Ecn;
use bentpipe_tcp::{Endpoint, MakeController, Segment, TcpSettings};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// One-way delay.
const DELAY: Span = Span::from_millis(300);
/// Interval between segments: about 120 Mbps.
const SPACING: Span = Span::from_micros(100);

/// Segments in transit, in order of arrival.
type Wire = VecDeque<(Time, Segment, Ecn)>;

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap_or(0));
    let segments = arguments.next().unwrap_or(2_000_000);
    let lost = arguments.next().unwrap_or(0);
    let buffer = Bytes::new(16 << 20);
    let settings = Arc::new(TcpSettings {
        receive_buffer: buffer,
        send_buffer: buffer,
        ..TcpSettings::default()
    });
    let Ok(congestion) = CongestionConfig::default().factory() else { return };
    let make: MakeController = Arc::new(move |setup: &ControllerConfig| -> Box<dyn Controller> {
        congestion.make(setup, FastStart::Refused, None)
    });
    let mut ends = [
        Endpoint::connect(Time::ZERO, Arc::clone(&settings), Arc::clone(&make), None),
        Endpoint::listen(Time::ZERO, settings, make, None),
    ];
    let mut wires: [Wire; 2] = [Wire::new(), Wire::new()];
    let (mut now, mut free, mut count) = (Time::ZERO, Time::ZERO, 0_u64);
    let total = segments * 1448;
    let mut written = 0;
    loop {
        for from in 0..2 {
            if from == 1 {
                written += ends[1].write(now, total - written);
            }
            while let Some(transmit) = ends[from].poll_transmit(now) {
                if transmit.segment.len > 0 {
                    free = free.max(now) + SPACING;
                    count += 1;
                    if lost > 0 && count.is_multiple_of(lost) {
                        continue;
                    }
                }
                let at = if transmit.segment.len > 0 { free + DELAY } else { now + DELAY };
                wires[from].push_back((at, transmit.segment, transmit.ecn));
            }
        }
        if ends[1].acknowledged() == total {
            break;
        }
        let first = |wire: &Wire| wire.front().map(|(at, _, _)| *at);
        let times =
            [first(&wires[0]), first(&wires[1]), ends[0].next_timeout(), ends[1].next_timeout()];
        let Some(next) = times.into_iter().flatten().min() else { break };
        now = next;
        for from in 0..2 {
            while wires[from].front().is_some_and(|(at, _, _)| *at <= now)
                && let Some((_, segment, ecn)) = wires[from].pop_front()
            {
                let to = &mut ends[1 - from];
                to.handle_segment(now, &segment, ecn);
                let waiting = to.received() - to.consumed();
                to.consume(now, waiting);
            }
        }
        for end in &mut ends {
            if end.next_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
        }
    }
    println!("{} segments in {now}, {:?}", segments, ends[1].record());
}

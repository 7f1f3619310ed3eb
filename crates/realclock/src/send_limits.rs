//! What limited a sender on the real clock, as far as it says: the kernel of its TCP sockets, the
//! server of `bentpipe` in its qlog file.

use bentpipe_captures::{CapturedConnection, LimitChange, SenderLimit, sender_limits};
use bentpipe_emu::{PacketLog, PacketRecord, SocketState};
use bentpipe_quic::congestion::{SendLimit, SendLimits};
use bentpipe_units::{Span, Time};

/// Room in a window that counts as none: a segment.
const SEGMENT: u64 = 1500;
/// Shortest silence before a sender that nothing has arrived at sends again, and has waited for a
/// timer then: the smallest retransmission timeout of Linux (`TCP_RTO_MIN`).
const MIN_TIMEOUT: Span = Span::from_millis(200);

/// Limits over time, in its order.
pub type Limits = Vec<(Time, SendLimit)>;

/// Returns the limits of a TCP sender from samples of its socket.
///
/// A sample says what limits the sender until the next one. With room in the window and data in
/// flight it is still what it was: the kernel sends in bursts.
pub fn of_samples(samples: &[(Time, SocketState)], controller: &str) -> Limits {
    let own_rate = controller.starts_with("bbr");
    let mut limits = Limits::new();
    let mut blocked = Span::ZERO;
    for (at, state) in samples {
        let is_blocked = state.blocked > blocked;
        blocked = state.blocked;
        let slow_start = state.ssthresh.is_none_or(|ssthresh| state.cwnd < ssthresh);
        let limit = if is_blocked {
            SendLimit::FlowControl
        } else if state.in_flight.get() + SEGMENT > state.cwnd.get() {
            window(slow_start && !own_rate)
        } else if state.in_flight.is_zero() {
            SendLimit::Application
        } else if own_rate {
            SendLimit::Pacing
        } else {
            limits.last().map_or(window(slow_start), |(_, limit)| *limit)
        };
        add(&mut limits, *at, limit);
    }
    limits
}

fn window(slow_start: bool) -> SendLimit {
    if slow_start { SendLimit::SlowStart } else { SendLimit::CongestionWindow }
}

/// Adds a limit, if it is another one than the last.
fn add(limits: &mut Limits, at: Time, limit: SendLimit) {
    if limits.last().is_none_or(|(_, last)| *last != limit) {
        limits.push((at, limit));
    }
}

/// Returns what a sender's qlog file says of its limits; nothing if it cannot be read.
pub fn of_qlog(text: &[u8]) -> Vec<LimitChange> {
    CapturedConnection::parse(text, &[]).and_then(|trace| sender_limits(&trace)).unwrap_or_default()
}

/// Converts the limits of a qlog file whose first event was at `start`.
pub fn of_changes(changes: &[LimitChange], start: Time, controller: &str) -> Limits {
    let own_rate = controller.starts_with("bbr") || controller == "fixed-rate";
    let mut limits = Limits::new();
    for LimitChange { at, limit, is_slow_start } in changes {
        let limit = match limit {
            SenderLimit::Window => window(*is_slow_start),
            SenderLimit::Pacing if own_rate && !is_slow_start => SendLimit::Pacing,
            SenderLimit::Pacing => window(*is_slow_start),
            SenderLimit::FlowControl => SendLimit::FlowControl,
            SenderLimit::Application => SendLimit::Application,
        };
        add(&mut limits, start + at.since_start(), limit);
    }
    limits
}

/// Returns `limits` with the times in which the sender waited for a timer: neither it nor `back`
/// had sent anything for long, and then it sent on its own. Not before one of `begins`, when the
/// application had something new to send.
pub fn with_timeouts(
    limits: Limits,
    data: &PacketLog,
    back: &PacketLog,
    rtt: Span,
    begins: &[Time],
) -> SendLimits {
    let mut silences = Vec::new();
    let mut sent: Vec<Time> =
        data.packets().filter(|packet| packet.payload > 0).map(|packet| packet.entered).collect();
    sent.sort_unstable();
    let arrived = back.packets().filter(|packet| !packet.is_lost);
    let mut arrived: Vec<Time> = arrived.map(|PacketRecord { left, .. }| *left).collect();
    arrived.sort_unstable();
    let mut arrivals = arrived.into_iter().peekable();
    let mut since: Option<Time> = None;
    for at in sent {
        while let Some(arrival) = arrivals.next_if(|arrival| *arrival <= at) {
            since = since.max(Some(arrival));
        }
        if let Some(since) = since
            && at.since(since) >= rtt.max(MIN_TIMEOUT)
            && !begins.iter().any(|begin| (since..=at).contains(begin))
        {
            silences.push((since, at));
        }
        since = since.max(Some(at));
    }
    let all = SendLimits::default();
    let mut changes = limits.into_iter().peekable();
    let mut current = None;
    for (from, to) in silences {
        while let Some((at, limit)) = changes.next_if(|(at, _)| *at < from) {
            current = Some(limit);
            all.set(0, at, limit);
        }
        // Without the sender's word, the time after its silence is unknown: so is this.
        let Some(before) = current else { continue };
        all.set(0, from, SendLimit::Timeout);
        while let Some((_, limit)) = changes.next_if(|(at, _)| *at <= to) {
            current = Some(limit);
        }
        all.set(0, to, current.unwrap_or(before));
    }
    changes.for_each(|(at, limit)| all.set(0, at, limit));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_emu::PathService;
    use bentpipe_units::Bytes;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn state(cwnd: u64, in_flight: u64, ssthresh: Option<u64>, blocked: u64) -> SocketState {
        SocketState {
            cwnd: Bytes::new(cwnd),
            in_flight: Bytes::new(in_flight),
            ssthresh: ssthresh.map(Bytes::new),
            blocked: Span::from_millis(blocked),
            ..SocketState::default()
        }
    }

    #[test]
    fn samples_of_a_socket_say_what_limits_it() {
        let samples = [
            (ms(0), state(14_480, 14_480, None, 0)),
            (ms(20), state(28_960, 20_000, None, 0)),
            (ms(40), state(50_000, 50_000, Some(30_000), 0)),
            (ms(60), state(50_000, 30_000, Some(30_000), 15)),
            (ms(80), state(50_000, 0, Some(30_000), 15)),
        ];
        let expected = [
            (ms(0), SendLimit::SlowStart),
            (ms(40), SendLimit::CongestionWindow),
            (ms(60), SendLimit::FlowControl),
            (ms(80), SendLimit::Application),
        ];
        assert_eq!(of_samples(&samples, "cubic"), expected);
        assert_eq!(of_samples(&samples[1..2], "bbr"), [(ms(20), SendLimit::Pacing)]);
    }

    fn log(packets: &[(u64, u64)]) -> PacketLog {
        let records = packets.iter().map(|(entered, left)| PacketRecord {
            entered: ms(*entered),
            left: ms(*left),
            bytes: 1500,
            payload: 1448,
            is_lost: false,
            service: PathService::default(),
        });
        records.collect()
    }

    fn taken(limits: &SendLimits, to: u64) -> Vec<(SendLimit, u64)> {
        let mut all = Vec::new();
        limits.take(ms(0), ms(to), |limit, span| all.push((limit, span.as_nanos() / 1_000_000)));
        all
    }

    #[test]
    fn a_sender_that_sends_after_a_silence_has_waited_for_a_timer() {
        let data = log(&[(100, 150), (110, 160), (900, 950)]);
        let back = log(&[(150, 200), (950, 1000)]);
        let known = vec![(ms(100), SendLimit::SlowStart), (ms(500), SendLimit::Application)];
        let rtt = Span::from_millis(100);
        let limits = with_timeouts(known.clone(), &data, &back, rtt, &[ms(0)]);
        assert_eq!(
            taken(&limits, 1000),
            [(SendLimit::SlowStart, 200), (SendLimit::Timeout, 700), (SendLimit::Application, 100)]
        );
        // The application had something new to send.
        let limits = with_timeouts(known, &data, &back, rtt, &[ms(0), ms(900)]);
        assert_eq!(
            taken(&limits, 1000),
            [(SendLimit::SlowStart, 500), (SendLimit::Application, 500)]
        );
        let unknown = with_timeouts(Vec::new(), &data, &back, rtt, &[]);
        assert_eq!(taken(&unknown, 1000), [], "without the sender's word");
    }
}

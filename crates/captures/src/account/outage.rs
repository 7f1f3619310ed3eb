//! Times in which the path carried nothing, and then what had waited.

use super::sent::DataPacket;
use super::spending::is_habit;
use bentpipe_units::{Span, Time};

/// Shortest outage, as a share of the round trip and as a time.
const SHARE: f64 = 0.5;
const SHORTEST: Span = Span::from_millis(100);

/// Share of that for which nothing arrived: something may have been on its way.
const SILENT: f64 = 0.7;
/// Round trips after which a repeated packet is unanswered, and a time besides, for
/// acknowledgements that wait.
const UNANSWERED: f64 = 1.5;
const LATE: Span = Span::from_millis(100);

/// How many times as long as the one before each probe timeout is (RFC 9002 §6.2.1), and how far
/// from that it may be.
const BACKOFF: f64 = 2.0;
const OFF: f64 = 0.4;
/// Most packets of a probe: two, and one that tries a larger size.
const PROBE: usize = 3;

/// Returns the times in which a sender whose packets are not opened only probed: a few packets
/// after a silence, and a few after each that was twice as long. Neither answers nor an application
/// pause like that, whatever came meanwhile.
pub fn probed(packets: &[DataPacket], rtt: Span) -> Vec<(Time, Time)> {
    let least = SHORTEST.max(rtt);
    let bursts: Vec<&[DataPacket]> =
        packets.chunk_by(|one, next| next.at.since(one.at) < least).collect();
    // Silences, with the packets after each.
    let silences: Vec<(Time, Time, usize)> = bursts
        .windows(2)
        .filter_map(|two| Some((two[0].last()?.at, two[1].first()?.at, two[1].len())))
        .collect();
    let mut found = Vec::new();
    let mut run: Option<(Time, usize)> = None;
    for two in silences.windows(2) {
        let &[(from, probe, count), (sent, to, _)] = two else { continue };
        let ratio = to.since(sent).as_secs_f64() / probe.since(from).as_secs_f64().max(1e-9);
        let doubles = count <= PROBE && (ratio - BACKOFF).abs() <= OFF;
        match (&mut run, doubles) {
            (Some((_, times)), true) => *times += 1,
            (None, true) => run = Some((from, 1)),
            // The last of the silences ends with an answer, or with the next probe.
            (Some((begin, times)), false) => {
                let end = if count <= PROBE && ratio < BACKOFF { to } else { probe };
                found.extend((*times >= 2).then_some((*begin + rtt, end)));
                run = None;
            }
            (None, false) => {}
        }
    }
    if let (Some((begin, times)), Some((_, end, _))) = (run, silences.last()) {
        found.extend((times >= 2).then_some((begin + rtt, *end)));
    }
    found
}

/// Returns the outages that a sender's file shows, in order: times in which packets were held up,
/// times in which not even repeated packets were answered, and `others`. The receiver holds
/// acknowledgements back for up to `hold`.
pub fn outages(
    packets: &[DataPacket],
    rtt: Span,
    hold: Span,
    others: Vec<(Time, Time)>,
) -> Vec<(Time, Time)> {
    // The first data may be without an answer, too.
    let first = packets.first().map(|packet| packet.at);
    let acknowledged = packets.iter().filter_map(|packet| packet.acknowledged);
    let mut arrivals: Vec<Time> = first.into_iter().chain(acknowledged).collect();
    arrivals.sort_unstable();
    arrivals.dedup();
    let mut all = held(packets, &arrivals, rtt, hold);
    all.extend(unanswered(packets, &arrivals, rtt, hold));
    all.extend(others);
    all.sort_unstable();
    let mut found: Vec<(Time, Time)> = Vec::new();
    for (from, to) in all {
        match found.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => found.push((from, to)),
        }
    }
    let lengths = found.iter().map(|(from, to)| to.since(*from)).collect();
    if is_habit(lengths) { Vec::new() } else { found }
}

/// Returns the silences in which a repeated packet was not answered, each from when the answer to
/// the first packet without one should have come. `arrivals` are the times of new
/// acknowledgements.
fn unanswered(
    packets: &[DataPacket],
    arrivals: &[Time],
    rtt: Span,
    hold: Span,
) -> Vec<(Time, Time)> {
    let mut found = Vec::new();
    let held_back = packets.iter().map(|packet| packet.ack_delay).max().unwrap_or_default();
    let held_back = held_back.max(hold);
    let mut wait = Span::ZERO;
    for pair in arrivals.windows(2) {
        let &[before, after] = pair else { continue };
        let index = packets.partition_point(|packet| packet.at + rtt + wait <= before);
        let silent = packets.get(index..).unwrap_or_default().iter();
        let mut silent = silent.take_while(|packet| packet.at < after);
        let known = packets.get(..index).unwrap_or_default().iter().rev().take(64);
        let last = known.filter_map(DataPacket::rtt).next();
        wait = last.map_or(wait, |last| last.saturating_sub(rtt).min(rtt * 4));
        let Some(first) = silent.next() else { continue };
        let least = rtt.mul_f64(UNANSWERED) + wait + held_back + LATE;
        if after.since(before) > least
            && silent.any(|packet| is_probe(first, packet, rtt) && after.since(packet.at) > least)
        {
            found.push(((first.at + rtt + wait).max(before), after));
        }
    }
    found
}

/// Returns true if a packet after the `first` that was not answered asks again: it repeats data or,
/// as probes of QUIC may (RFC 9002 §6.2.4), brings new data a round trip later or more.
fn is_probe(first: &DataPacket, packet: &DataPacket, rtt: Span) -> bool {
    packet.repeats || packet.at.since(first.at) > rtt.mul_f64(UNANSWERED)
}

/// Returns the times for which packets were held up: one took longer than that before it, and
/// nothing arrived for about as much longer.
fn held(packets: &[DataPacket], arrivals: &[Time], rtt: Span, hold: Span) -> Vec<(Time, Time)> {
    let least = SHORTEST.max(rtt.mul_f64(SHARE)) + hold;
    let mut acknowledged: Vec<(Time, Span)> =
        packets.iter().filter_map(|packet| Some((packet.acknowledged?, packet.rtt()?))).collect();
    acknowledged.sort_by_key(|(at, _)| *at);
    let mut found: Vec<(Time, Time)> = Vec::new();
    let mut before = rtt;
    for (at, own) in acknowledged {
        let longer = own.saturating_sub(before);
        if longer >= least {
            let index = arrivals.partition_point(|arrival| *arrival < at);
            let previous = index.checked_sub(1).and_then(|index| arrivals.get(index));
            let silent = previous.map_or(Span::ZERO, |previous| at.since(*previous));
            if silent >= longer.mul_f64(SILENT) {
                found.push((at.saturating_sub(longer), at));
            }
        }
        before = own;
    }
    found
}

/// Returns the last of `outages` that reaches into the time from `from` to `to`.
pub fn within(outages: &[(Time, Time)], from: Time, to: Time) -> Option<(Time, Time)> {
    let before = outages.partition_point(|outage| outage.0 < to);
    let last = before.checked_sub(1).and_then(|last| outages.get(last)).copied();
    last.filter(|outage| from < outage.1)
}

/// Returns true if a packet was on its way when one of `outages` ended.
pub fn is_held(packet: &DataPacket, outages: &[(Time, Time)]) -> bool {
    let until = packet.acknowledged.unwrap_or(packet.at);
    let next = outages.partition_point(|outage| outage.1 <= packet.at);
    outages.get(next).is_some_and(|outage| outage.1 <= until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_ms: u64, acknowledged_ms: u64) -> DataPacket {
        DataPacket {
            at: Time::from_millis(sent_ms),
            wire: 1500,
            data: 1448,
            stream: 0,
            begins: false,
            repeats: false,
            is_ambiguous: false,
            acknowledged: Some(Time::from_millis(acknowledged_ms)),
            ack_delay: Span::ZERO,
            held_back: Span::ZERO,
            declared_lost: false,
        }
    }

    #[test]
    fn repeated_packets_without_an_answer_show_an_outage_and_one_timeout_does_not() {
        let rtt = Span::from_millis(30);
        let lost = DataPacket { acknowledged: None, declared_lost: true, ..packet(40, 0) };
        let again = |ms, acknowledged| DataPacket {
            repeats: true,
            at: Time::from_millis(ms),
            acknowledged,
            ..lost.clone()
        };
        let end = Time::from_millis(2070);
        let dead = [packet(0, 30), lost.clone(), again(280, None), again(2040, Some(end))];
        let from_the_start = outages(&dead[1..], rtt, Span::ZERO, Vec::new());
        assert_eq!(from_the_start, [(Time::from_millis(70), end)]);
        assert_eq!(outages(&dead, rtt, Span::ZERO, Vec::new()), [(Time::from_millis(70), end)]);
        let end = Time::from_millis(310);
        let timeout = [packet(0, 30), lost.clone(), again(280, Some(end))];
        assert_eq!(outages(&timeout, rtt, Span::ZERO, Vec::new()), []);
        // Probes with new data, and a receiver that may hold that back.
        let probes = [packet(0, 30), packet(40, 2070), packet(140, 2070), packet(340, 2070)];
        assert_eq!(
            outages(&probes, rtt, Span::ZERO, Vec::new()),
            [(Time::from_millis(70), Time::from_millis(2070))]
        );
        assert_eq!(outages(&probes[..3], rtt, Span::from_millis(2000), Vec::new()), []);
    }

    #[test]
    fn packets_that_wait_together_show_an_outage_and_a_queue_does_not() {
        let rtt = Span::from_millis(30);
        let held = [packet(0, 30), packet(40, 70), packet(50, 4080), packet(60, 4081)];
        let found = outages(&held, rtt, Span::ZERO, Vec::new());
        assert_eq!(found, [(Time::from_millis(80), Time::from_millis(4080))]);
        assert!(!is_held(&held[0], &found) && is_held(&held[3], &found));
        let queue: Vec<DataPacket> = (0..400).map(|index| packet(index, 30 + index * 11)).collect();
        assert_eq!(outages(&queue, rtt, Span::ZERO, Vec::new()), []);
    }

    #[test]
    fn silences_that_double_are_those_of_probes() {
        let rtt = Span::from_millis(90);
        let at = |times: &[u64]| times.iter().map(|ms| packet(*ms, ms + 90)).collect::<Vec<_>>();
        // Data, probes after 0.4, 0.8 and 1.6 s, and an answer before the next one.
        let dead = at(&[0, 10, 20, 420, 421, 1220, 1221, 2820, 4000, 4010, 4020, 4030, 4040]);
        let ms = Time::from_millis;
        assert_eq!(probed(&dead, rtt), [(ms(110), ms(4000))]);
        let regular = at(&[0, 10, 20, 420, 421, 820, 821, 1220, 1221, 1620]);
        assert_eq!(probed(&regular, rtt), [], "a clock");
        let once = at(&[0, 10, 20, 420, 421, 1220, 1230, 1240, 1250, 1260]);
        assert_eq!(probed(&once, rtt), [], "two pauses");
    }
}

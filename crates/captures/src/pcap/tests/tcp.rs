//! Connections of TCP: which acknowledgement is of which packet, and where the capture was made.

use super::samples::{RTT_US, SEGMENT, Sent, download, pcap};
use crate::event::{CapturedConnection, Event, Packet, Side};
use crate::{Recording, account};
use bentpipe_units::{Span, Time};

const CLIENT: u32 = 1000;
const SERVER: u32 = 5000;

fn client(at: u64, acked: u32) -> Sent {
    let ack = Some(SERVER + 1 + acked);
    Sent { at, by_client: true, seq: CLIENT + 1, ack, ..Sent::default() }
}

fn server(at: u64, offset: u32, length: u32) -> Sent {
    Sent { at, seq: SERVER + 1 + offset, ack: Some(CLIENT + 1), length, ..Sent::default() }
}

/// Returns a handshake over 30 ms, as the server sees it.
fn handshake() -> Vec<Sent> {
    let syn = Sent { by_client: true, syn: true, seq: CLIENT, ..Sent::default() };
    let answer = Sent { at: 20, syn: true, seq: SERVER, ack: Some(CLIENT + 1), ..Sent::default() };
    vec![syn, answer, client(30_020, 0)]
}

fn parse(sent: &[Sent]) -> CapturedConnection {
    CapturedConnection::parse(&pcap(sent), &[]).unwrap()
}

/// Returns the packets that arrived and acknowledge something.
fn acknowledgements(trace: &CapturedConnection) -> Vec<(u64, &Packet)> {
    let arrived = trace.events.iter().filter_map(|(at, event)| match event {
        Event::Received(packet) if !packet.acknowledged.is_empty() => {
            Some((at.since_start().as_nanos() / 1000, packet))
        }
        _ => None,
    });
    arrived.collect()
}

#[test]
fn no_rtt_follows_from_data_that_was_sent_twice() {
    let mut sent = handshake();
    sent.push(server(40_000, 0, SEGMENT));
    sent.push(server(40_010, SEGMENT, SEGMENT));
    // The first copy of the second segment is acknowledged just after the second one was sent.
    sent.push(client(70_000, SEGMENT));
    sent.push(server(330_000, SEGMENT, SEGMENT));
    sent.push(client(330_070, 2 * SEGMENT));
    let trace = parse(&sent);
    let acked = acknowledgements(&trace);
    let (at, last) = acked.last().unwrap();
    assert_eq!(
        (*at, &*last.acknowledged, &*last.details.ambiguous),
        (330_070, &[(3, 3)][..], &[(3, 3)][..])
    );
    let rtt = account(&trace, None).unwrap().path.rtt;
    assert!(rtt >= Span::from_micros(29_990), "{rtt}");
}

#[test]
fn timestamps_say_which_copy_arrived() {
    let run = |echo: u32| {
        let mut sent = handshake();
        sent.push(Sent { times: (40, 1), ..server(40_000, 0, SEGMENT) });
        sent.push(Sent { times: (330, 1), ..server(330_000, 0, SEGMENT) });
        sent.push(Sent { times: (2, echo), ..client(360_000, SEGMENT) });
        let trace = parse(&sent);
        let acked = acknowledgements(&trace);
        let last = acked.last().unwrap().1;
        assert_eq!(last.timestamps, Some((2, echo)));
        (last.acknowledged.to_vec(), last.details.ambiguous.clone())
    };
    assert_eq!(run(330), (vec![(2, 2)], vec![]), "the second copy");
    // The first copy had arrived, and the second will, too.
    assert_eq!(run(40), (vec![(1, 1), (2, 2)], vec![(2, 2)]), "the first copy");
    assert_eq!(run(7), (vec![(2, 2)], vec![(2, 2)]), "neither");
}

#[test]
fn the_handshake_has_an_rtt_at_both_ends() {
    // An upload, of which the server sends no data that could be acknowledged.
    let mut sent = handshake();
    for number in 0..20 {
        let data = Sent {
            at: 30_100 + u64::from(number) * 100,
            seq: CLIENT + 1 + number * SEGMENT,
            length: SEGMENT,
            ..client(0, 0)
        };
        let ack = Some(data.seq + SEGMENT);
        sent.push(Sent { ack, ..server(data.at + 10, 0, 0) });
        sent.push(data);
    }
    sent.sort_by_key(|one| one.at);
    let trace = parse(&sent);
    assert_eq!(trace.side, Side::Server);
    assert_eq!(account(&trace, None).unwrap().path.rtt, Span::from_millis(30));
    // Even if the acknowledgement comes with data, and of a SYN that was repeated not.
    let with_data: Vec<Sent> = sent.iter().filter(|one| one.at != 30_020).cloned().collect();
    let rtt = account(&parse(&with_data), None).unwrap().path.rtt;
    assert_eq!(rtt, Span::from_micros(30_080));
    let again = Sent { at: 29_000, ..sent[1].clone() };
    let trace = parse(&[&sent[..2], &[again], &sent[2..]].concat());
    assert_eq!(acknowledgements(&trace)[0].1.details.ambiguous, [(0, 0)]);
    // At the client, the answer to its SYN.
    let times = [0, 30_000, 30_010];
    let mut at_client = handshake();
    at_client.iter_mut().zip(times).for_each(|(one, at)| one.at = at);
    at_client.push(Sent { length: 90, ..client(30_020, 0) });
    at_client.push(Sent { ack: Some(CLIENT + 91), ..server(60_900, 0, SEGMENT) });
    at_client.push(client(60_950, SEGMENT));
    let trace = parse(&at_client);
    assert_eq!(trace.side, Side::Client);
    assert_eq!(account(&trace, None).unwrap().path.rtt, Span::from_millis(30));
}

#[test]
fn a_capture_that_begins_late_finds_its_end() {
    // At the sender, the data is acknowledged after an RTT.
    let sent = download(200);
    let late = parse(&sent[40..]);
    assert_eq!(late.side, Side::Server);
    let rtt = account(&late, None).unwrap().path.rtt.as_millis_f64();
    assert!((199.0..210.0).contains(&rtt), "{rtt}");
    // At the receiver, at once: the data comes half an RTT later, the acknowledgement left before.
    let mut at_receiver = Vec::new();
    for number in 0..40 {
        let at = u64::from(number / 10) * RTT_US + u64::from(number % 10) * 1000;
        at_receiver.push(server(at, number * SEGMENT, SEGMENT));
        if number % 2 == 1 {
            at_receiver.push(client(at + 40, (number + 1) * SEGMENT));
        }
    }
    assert_eq!(parse(&at_receiver).side, Side::Client);
    // Without a handshake, windows have no known scale.
    let has_window = |trace: &CapturedConnection| {
        trace.events.iter().any(|(_, event)| {
            matches!(event, Event::Sent(packet) | Event::Received(packet)
                if packet.max_data.is_some())
        })
    };
    assert!(has_window(&parse(&sent)) && !has_window(&late));
}

#[test]
fn keep_alives_and_window_probes_are_no_data() {
    let mut sent = handshake();
    sent.push(server(40_000, 0, SEGMENT));
    sent.push(client(70_000, SEGMENT));
    sent.push(server(5_000_000, SEGMENT - 1, 1));
    sent.push(Sent { window: Some(0), ..client(5_030_000, SEGMENT) });
    // A byte beyond the window, and once more.
    sent.push(server(5_300_000, SEGMENT, 1));
    sent.push(Sent { window: Some(0), ..client(5_330_000, SEGMENT) });
    sent.push(server(5_900_000, SEGMENT, 1));
    let trace = parse(&sent);
    let data: Vec<u64> = trace.sent().map(|packet| packet.stream_bytes()).collect();
    assert_eq!(data, [1448, 0, 1, 0]);
    assert!(!trace.events.iter().any(|(_, event)| matches!(event, Event::Lost(_))));
}

#[test]
fn the_wait_before_a_capture_has_no_part_in_its_times() {
    let mut sent = handshake();
    sent.iter_mut().for_each(|one| one.at += 7_000_000);
    let recording = Recording::parse(pcap(&sent), &[]).unwrap();
    assert_eq!(recording.read(0).unwrap().events[0].0, Time::ZERO);
    assert_eq!(recording.connections()[0].start, Time::ZERO);
    assert_eq!(recording.connections()[0].problem.as_deref(), Some("it has no data"));
}

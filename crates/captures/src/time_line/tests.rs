use super::*;
use crate::account::account;
use crate::event::{Packet, Side, StreamPart, Transport};
use bentpipe_timeseries::TimePart;

/// A server that sends `packets` packets of data, one each 10 ms, of which each tenth is lost and
/// sent again; each of the others is acknowledged 100 ms later.
fn transfer(packets: u64) -> CapturedConnection {
    let mut trace = CapturedConnection::empty(Transport::Quic, Side::Server);
    let packet = |number| Packet { is_application: true, number, bytes: 1250, ..Packet::default() };
    let request = StreamPart { stream: 0, offset: 0, length: 100 };
    let request = Packet { data: vec![request].into(), ..packet(0) };
    trace.events.push((Time::ZERO, Event::Received(request)));
    for number in 0..packets {
        let at = Time::from_millis(10 * number);
        let offset = if number % 10 == 9 { number - 9 } else { number } * 1200;
        let part = StreamPart { stream: 0, offset, length: 1200 };
        trace.events.push((at, Event::Sent(Packet { data: vec![part].into(), ..packet(number) })));
        if number % 10 == 0 {
            continue;
        }
        let ack = Packet { acknowledged: vec![(number, number)].into(), ..packet(number) };
        trace.events.push((Time::from_millis(10 * number + 100), Event::Received(ack)));
        if number % 10 == 9 {
            trace.events.push((at, Event::Lost(number - 9)));
        }
    }
    trace.events.sort_by_key(|(at, _)| *at);
    trace
}

fn of(packets: u64, limit: usize) -> TimeLine {
    let trace = transfer(packets);
    let recorded = account(&trace, None).expect("an account");
    time_line(&trace, &recorded, SeriesLimit::new(limit))
}

fn series<'a>(line: &'a TimeLine, name: &str) -> &'a Series {
    line.series.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no series {name}"))
}

#[test]
fn data_is_at_its_position_and_the_rtt_at_its_time() {
    let line = of(40, 1000);
    let sent = series(&line, "sent");
    assert_eq!(sent.points[0], (Time::ZERO, 1200.0));
    assert_eq!(sent.points.len(), 36);
    let again = series(&line, "sent_again");
    let expected: Vec<_> =
        (1..=4).map(|i| (Time::from_millis(i * 100 - 10), i as f64 * 12_000.0)).collect();
    assert_eq!(again.points, expected);
    assert!(series(&line, "rtt").points.iter().all(|(_, rtt)| (*rtt - 100.0).abs() < 1e-6));
    assert_eq!(series(&line, "acked").points.last().unwrap().1, 48_000.0);
    // Of the packets that nobody acknowledged, each is at its time.
    let lost = series(&line, "lost");
    assert_eq!(
        lost.points.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [0, 100, 200, 300].map(Time::from_millis)
    );
}

#[test]
fn series_of_a_long_file_have_no_more_points_than_the_limit() {
    let line = of(20_000, 500);
    for one in &line.series {
        let most = if one.name.starts_with("time_budget.") { 512 } else { 500 };
        assert!(one.points.len() <= most, "{}: {}", one.name, one.points.len());
        assert!(one.points.is_sorted_by_key(|(at, _)| *at), "{}", one.name);
    }
    let sent = series(&line, "sent");
    assert!(sent.downsampled && sent.points.len() > 200);
    // The last of them is the end of the data.
    let last = series(&line, "sent_again").points.last().unwrap().1;
    assert_eq!(last, 20_000.0 * 1200.0);
}

#[test]
fn the_shares_of_each_moment_add_up_to_all_of_it() {
    let line = of(200, 500);
    let parts: Vec<&Series> =
        line.series.iter().filter(|one| one.name.starts_with("time_budget.")).collect();
    assert!(parts.len() > 1, "{parts:?}");
    for bin in 0..parts[0].points.len() {
        let sum: f64 = parts.iter().map(|one| one.points[bin].1).sum();
        assert!((sum - 100.0).abs() < 1e-6, "bin {bin}: {sum} %");
    }
    let used = |part: TimePart| parts.iter().any(|one| one.name == part.metric());
    assert!(used(TimePart::Serialisation));
}

#[test]
fn states_are_few_and_short() {
    let mut trace = transfer(40);
    let recorded = account(&trace, None).expect("an account");
    let name = format!("slow_start{}", "x".repeat(1000));
    let states = (0..5000).map(|_| (Time::from_millis(395), Event::State(name.clone())));
    trace.events.extend(states);
    let line = time_line(&trace, &recorded, SeriesLimit::new(100));
    assert_eq!(line.states.len(), 1000);
    assert_eq!(line.states[0].1, format!("slow start{}", "x".repeat(30)));
}

//! Known answers over the contact plan of a Mars orbiter: 91 days, 1,934 contacts
//! (`contacts/ORIGIN.md`).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_orbit::contacts::{ContactPlan, Route, dipt, wire_bytes};
use bentpipe_units::{Bytes, Span, Time};

const PACKET: Bytes = Bytes::new(1500);
const REQUEST: Bytes = Bytes::new(100);

fn mars() -> ContactPlan {
    let topology = include_str!("contacts/earth-mars-networkgraph-5nodes.json");
    dipt::parse(topology, Some(include_str!("contacts/earth-mars-events.json"))).unwrap()
}

/// The route from the ground to the rover's instrument, and back.
fn routes(plan: &ContactPlan) -> (Route<'_>, Route<'_>) {
    let (_, there) = plan.earliest_arrival("GND", "ING", Time::ZERO, PACKET).unwrap();
    assert_eq!(there, ["GND", "DSN", "MRO", "M20", "ING"]);
    let back: Vec<String> = there.iter().rev().cloned().collect();
    (Route::new(plan, &there).unwrap(), Route::new(plan, &back).unwrap())
}

#[test]
fn ten_requests_over_the_passes_of_a_mars_orbiter_take_five_days() {
    let plan = mars();
    let (there, back) = routes(&plan);
    let answer = (REQUEST, wire_bytes(Bytes::new(1000), PACKET));
    let first = there.exchange(&back, Time::ZERO, answer, PACKET, false).unwrap();
    // Seconds: what `bentpipe run` simulates with QUIC over the same passes.
    let near = |time: Time, seconds: f64| {
        assert!(
            (time.as_secs_f64() - seconds).abs() < 3.0,
            "{} s, not {seconds}",
            time.as_secs_f64()
        );
    };
    near(first.connected, 68_748.8);
    near(first.last, 111_668.0);
    let mut last = first.last;
    for _ in 1..10 {
        last = there.exchange(&back, last, answer, PACKET, true).unwrap().last;
    }
    near(last, 468_257.9);
}

#[test]
fn ten_mebibytes_follow_the_first_answer_by_their_serialisation() {
    let plan = mars();
    let (there, back) = routes(&plan);
    let size = (REQUEST, wire_bytes(Bytes::new(10 << 20), PACKET));
    let found = there.exchange(&back, Time::ZERO, size, PACKET, false).unwrap();
    let seconds = found.last.as_secs_f64();
    assert!((seconds - 111_678.8).abs() < 3.0, "{seconds}");
    assert!(there.longest_gap() > Span::from_secs(3600));
}

#[test]
fn the_moon_is_reached_through_an_orbiter() {
    let names = ["Earth1", "MoonOrbiter1", "MoonAsset1"];
    let nodes = names.map(|name| {
        let address = format!("{{\"address\": \"{name}/8\"}}");
        format!("{{\"id\": \"{name}\", \"interfaces\": [{{\"addresses\": [{address}]}}]}}")
    });
    let link = |from: &str, to: &str, delay_ms: u64| {
        format!(
            "{{\"id\": \"{from}-{to}\", \"source\": \"{from}\", \"target\": \"{to}\", \
             \"delay_ms\": {delay_ms}, \"bandwidth_bps\": 10000000}}"
        )
    };
    let hops = [(0, 1, 1500), (1, 0, 1500), (1, 2, 300), (2, 1, 300)];
    let links = hops.map(|(from, to, delay)| link(names[from], names[to], delay));
    let topology =
        format!("{{\"nodes\": [{}], \"links\": [{}]}}", nodes.join(","), links.join(","));
    let events = include_str!("contacts/earth-moon-events.json");
    let plan = dipt::parse(&topology, Some(events)).unwrap();
    let there = Route::new(&plan, &names.map(str::to_owned)).unwrap();
    let back = Route::new(&plan, &[names[2], names[1], names[0]].map(str::to_owned)).unwrap();
    // A minute before the gap, and in it.
    for (at, bytes, seconds) in [(3540, 100_000_000, 3691.0), (3700, 1_000_000, 17_902.0)] {
        let at = Time::from_secs(at);
        let sizes = (REQUEST, wire_bytes(Bytes::new(bytes), PACKET));
        let found = there.exchange(&back, at, sizes, PACKET, false).unwrap();
        let took = found.last.since(at).as_secs_f64();
        assert!((took - seconds).abs() < 2.0, "{took} s, not {seconds}");
    }
}

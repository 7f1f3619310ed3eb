//! Tests of contact plans.

use super::*;
use bentpipe_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

fn secs(seconds: u64) -> Time {
    Time::from_secs(seconds)
}

fn contact(from: &str, to: &str, (start, end): (u64, u64), bps: u64, delay: u64) -> Contact {
    Contact {
        from: from.to_owned(),
        to: to.to_owned(),
        start: secs(start),
        end: secs(end),
        rate: Rate::from_bps(bps),
        delay: Span::from_secs(delay),
    }
}

const PLAN: &str = "\
# From Earth to an orbiter and back
1 2 ''
@ +100
a contact +0 +3600 1 2 125000
a contact +0 +3600 2 1 1000 1.0
a contact +5000 +6000 1 2 125000
a range +0 +2000 1 2 600
a range +2000 +9000 1 2 601
m utcdelta 0
";

#[test]
fn a_file_of_ion_is_read_with_ranges_that_change() {
    let plan = ion::parse(PLAN).unwrap();
    assert_eq!(plan.nodes(), ["1", "2"]);
    let link = plan.link("1", "2").unwrap();
    let read: Vec<_> = link.iter().map(|one| (one.start, one.end, one.delay)).collect();
    let delay = Span::from_secs;
    assert_eq!(
        read,
        [
            (secs(100), secs(2100), delay(600)),
            (secs(2100), secs(3700), delay(601)),
            (secs(5100), secs(6100), delay(601)),
        ]
    );
    assert_eq!(link[0].rate, Rate::from_mbps(1));
    assert_eq!(plan.link("2", "1").unwrap()[0].rate, Rate::from_bps(8000));
}

#[test]
fn dates_count_from_the_first_and_references_join_them_with_relative_times() {
    let dated = "a contact 2027/02/28-23:59:50 2027/03/01-00:00:10 a b 100\n\
                 a range 2027/02/28-23:00:00 2027/03/01-01:00:00 b a 1.5\n";
    let plan = ion::parse(dated).unwrap();
    let only = &plan.contacts()[0];
    // The range is the first; February has 28 days.
    assert_eq!((only.start, only.end), (secs(3590), secs(3610)));
    assert_eq!(only.delay, Span::from_millis(1500));
    let joined = ion::parse(&format!("@ 2027/02/28-23:00:00\n{dated}a contact +10 +20 b a 9\n"));
    assert_eq!(joined.unwrap().link("b", "a").unwrap()[0].start, secs(10));
    let error = ion::parse(&format!("{dated}a contact +10 +20 b a 9\n")).unwrap_err();
    assert!(error.to_string().contains("@ yyyy"), "{error}");
}

#[test]
fn wrong_lines_are_named_with_the_remedy() {
    for (text, line, expected) in [
        ("a contact +0 +10 1 2\n", 1, "allowed: start, end, two nodes"),
        ("\na contact 0 +10 1 2 9\n", 2, "`0` is no time"),
        ("a contact +0 +1e300 1 2 9\n", 1, "292 years"),
        ("a contact 2027/13/01-00:00:00 +10 1 2 9\n", 1, "is no time"),
        ("a contact +0 +10 1 2 fast\n", 1, "`fast` bytes per second"),
        ("d contact +0 1 2\n", 1, "no part of a fixed plan"),
        ("hello\n", 1, "`hello` is no command"),
    ] {
        match ion::parse(text).unwrap_err() {
            ContactError::Line { line: found, reason } => {
                assert_eq!(found, line, "{text}");
                assert!(reason.contains(expected), "{reason}");
            }
            other => panic!("{other}"),
        }
    }
    let whole = |text: &str| ion::parse(text).unwrap_err().to_string();
    assert!(whole("").contains("no contacts"));
    assert!(whole("a contact +0 +10 1 2 9\n").contains("has no range"));
    let range = "a range +0 +99 1 2 1\n";
    assert!(whole(&format!("{range}a contact +10 +0 1 2 9\n")).contains("ends before"));
    assert!(whole(&format!("{range}a contact +0 +10 1 2 0\n")).contains("has no rate"));
    let overlap = format!("{range}a contact +0 +10 1 2 9\na contact +5 +15 1 2 9\n");
    assert!(whole(&overlap).contains("from 0 to 10 s and the contact 1 to 2 from 5 to 15 s"));
}

#[test]
fn a_plan_of_hdtn_is_read_with_either_rate() {
    let text = r#"{ "contacts": [
        { "contact": 0, "source": 10, "dest": 2, "startTime": 0, "endTime": 60,
          "rateBitsPerSec": 8000, "owlt": 1.5 },
        { "contact": 1, "source": 2, "dest": 10, "startTime": 5, "endTime": 7, "rate": 2,
          "owlt": 1 } ] }"#;
    assert!(hdtn::is_plan(text));
    let plan = hdtn::parse(text).unwrap();
    let first = &plan.link("10", "2").unwrap()[0];
    assert_eq!((first.start, first.end), (secs(0), secs(60)));
    assert_eq!((first.rate, first.delay), (Rate::from_bps(8000), Span::from_millis(1500)));
    assert_eq!(plan.link("2", "10").unwrap()[0].rate, Rate::from_mbps(2));
    let wrong =
        |old: &str, new: &str| hdtn::parse(&text.replace(old, new)).unwrap_err().to_string();
    assert!(
        wrong("\"startTime\": 5", "\"startTime\": -5").contains("a start of -5; allowed: 0 to")
    );
    assert!(wrong("\"rate\": 2", "\"rate\": 0").contains("a rate of 0; allowed: 1 bit/s"));
    assert!(wrong("\"rate\": 2,", "").contains("contact 1 has no `rateBitsPerSec`"));
    assert!(wrong("\"owlt\": 1 }", "\"owlt\": 1e300 }").contains("a light time of 1000"));
    assert!(wrong("\"dest\": 2", "\"dest\": \"b\"").contains("line 2"));
}

#[test]
fn a_packet_waits_for_a_contact_into_which_it_fits() {
    let plan = ContactPlan::new(vec![
        contact("a", "b", (0, 10), 8000, 100),
        contact("a", "b", (20, 40), 8000, 100),
        contact("b", "c", (0, 119), 8000, 1),
        contact("b", "c", (500, 600), 8000, 1),
    ])
    .unwrap();
    let arrival = |at: u64, bytes: u64| {
        plan.earliest_arrival("a", "c", secs(at), Bytes::new(bytes)).map(|(when, _)| when)
    };
    // A second on each link.
    assert_eq!(arrival(0, 1000), Ok(secs(103)));
    // It would end a second after the first contact.
    assert_eq!(arrival(1, 10_000), Ok(secs(511)));
    // The second hop is over.
    assert_eq!(arrival(18, 1000), Ok(secs(502)));
    assert!(matches!(arrival(40, 1000), Err(ContactError::Unreachable { after_s: 40, .. })));
    let (_, nodes) = plan.earliest_arrival("a", "c", secs(0), Bytes::new(1)).unwrap();
    assert_eq!(nodes, ["a", "b", "c"]);
    let error = plan.earliest_arrival("a", "d", secs(0), Bytes::new(1)).unwrap_err();
    assert!(error.to_string().contains("its nodes are a, b, c"), "{error}");
}

#[test]
fn packets_of_an_answer_follow_each_other() {
    let plan = ContactPlan::new(vec![
        contact("a", "b", (0, 3), 8000, 5),
        contact("a", "b", (10, 100), 8000, 5),
        contact("b", "a", (0, 100), 8000, 5),
    ])
    .unwrap();
    let nodes = |names: [&str; 2]| names.map(str::to_owned);
    let there = Route::new(&plan, &nodes(["a", "b"])).unwrap();
    let back = Route::new(&plan, &nodes(["b", "a"])).unwrap();
    assert_eq!(there.longest_gap(), Span::from_secs(7));
    // Three packets leave in the first contact, two in the second.
    let packet = Bytes::new(1000);
    let arrivals = there.last_arrival(secs(0), Bytes::new(4500), packet);
    assert_eq!(arrivals, Ok((secs(6), Time::from_millis(16_500))));
    let sizes = (Bytes::new(1000), Bytes::new(2000));
    let exchange = there.exchange(&back, secs(0), sizes, packet, true).unwrap();
    let expected = (secs(0), secs(6), secs(12), secs(13));
    let Exchange { connected, requested, first, last } = exchange;
    assert_eq!((connected, requested, first, last), expected);
    // One packet there, one back, and the request after the gap.
    let whole = there.exchange(&back, secs(0), sizes, packet, false).unwrap();
    assert_eq!((whole.connected, whole.requested), (secs(12), secs(18)));
    let endless = there.last_arrival(secs(0), Bytes::MAX, packet).unwrap_err();
    assert!(endless.to_string().contains("allowed: 10000000"), "{endless}");
}

const TOPOLOGY: &str = r#"{"type": "NetworkGraph", "nodes": [
    {"id": "E", "interfaces": [{"addresses": [{"address": "10.0.0.1/24"}]}]},
    {"id": "M", "interfaces": [{"addresses": [{"address": "10.0.0.2/24"}]}]}],
  "links": [
    {"id": "up", "source": "10.0.0.1", "target": "10.0.0.2", "delay_ms": 900000,
     "bandwidth_bps": 8000},
    {"id": "down", "source": "10.0.0.2", "target": "10.0.0.1", "delay_ms": 900000,
     "bandwidth_bps": 8000000}]}"#;

#[test]
fn a_topology_of_the_workbench_is_read_with_its_events() {
    let events = r#"{"type": "Events", "events": [
        {"relative_time_ms": 5000, "link": {"id": "down", "status": "up"}},
        {"relative_time_ms": 9000, "link": {"status": "down", "id": "down"}},
        {"relative_time_ms": 2000, "link": {"id": "up", "status": "down"}}]}"#;
    let plan = dipt::parse(TOPOLOGY, Some(events)).unwrap();
    let times = |from: &str, to: &str| {
        let link = plan.link(from, to).unwrap();
        link.iter().map(|one| (one.start, one.end)).collect::<Vec<_>>()
    };
    assert_eq!(times("M", "E"), [(secs(5), secs(9))]);
    assert_eq!(times("E", "M"), [(secs(0), secs(2))]);
    let always = dipt::parse(TOPOLOGY, None).unwrap();
    assert_eq!(always.contacts().len(), 2);
    let other = events.replace("\"up\", \"status\": \"down\"", "\"side\", \"status\": \"down\"");
    let error = dipt::parse(TOPOLOGY, Some(&other)).unwrap_err();
    assert!(error.to_string().contains("link `side`"), "{error}");
    let node = r#"{"events": [{"relative_time_ms": 1, "node": {"id": "E"}}]}"#;
    let error = dipt::parse(TOPOLOGY, Some(node)).unwrap_err();
    assert!(error.to_string().contains("not of a link"), "{error}");
}

/// The earliest arrival of all sequences of contacts without a node twice.
fn brute_force(plan: &ContactPlan, at: (Time, &str), to: &str, seen: &[&str]) -> Option<Time> {
    if at.1 == to {
        return Some(at.0);
    }
    let leaving = plan.contacts().iter().filter(|one| one.from == at.1);
    let onward = leaving.filter(|one| !seen.contains(&one.to.as_str())).filter_map(|one| {
        let (_, arrival) = one.send(at.0, SIZE)?;
        let seen: Vec<&str> = seen.iter().copied().chain([one.to.as_str()]).collect();
        brute_force(plan, (arrival, &one.to), to, &seen)
    });
    onward.min()
}

const SIZE: Bytes = Bytes::new(1000);

fn plans() -> impl Strategy<Value = ContactPlan> {
    let one = (0..5_usize, 0..5_usize, 0..300_u64, 1..60_u64, 1..9_u64, 0..80_u64);
    proptest::collection::vec(one, 1..24).prop_filter_map("a plan", |drawn| {
        let name = |node: usize| ["a", "b", "c", "d", "e"][node];
        let mut contacts: Vec<Contact> = Vec::new();
        for (from, to, start, length, rate, delay) in drawn {
            let new = contact(name(from), name(to), (start, start + length), rate * 1000, delay);
            let overlaps = contacts.iter().any(|old| {
                (&old.from, &old.to) == (&new.from, &new.to)
                    && old.start < new.end
                    && new.start < old.end
            });
            if from != to && !overlaps {
                contacts.push(new);
            }
        }
        ContactPlan::new(contacts).ok()
    })
}

proptest! {
    #[test]
    fn no_sequence_of_contacts_is_earlier_than_the_earliest_arrival(
        plan in plans(),
        at in 0..200_u64,
        ends in (0..5_usize, 0..5_usize),
    ) {
        let nodes = plan.nodes();
        let (from, to) = (&nodes[ends.0 % nodes.len()], &nodes[ends.1 % nodes.len()]);
        let found = plan.earliest_arrival(from, to, secs(at), SIZE);
        let best = brute_force(&plan, (secs(at), from), to, &[from]);
        prop_assert_eq!(found.as_ref().map(|(when, _)| *when).ok(), best);
        if let Ok((when, route)) = found && route.len() > 1 {
            // The route that it names takes as long, packet by packet, except where a later
            // contact has a shorter delay: a transmitter does not know that, and what it sends
            // too early may miss all that follows.
            let steady = route.windows(2).all(|ends| {
                let link = plan.link(&ends[0], &ends[1]).unwrap_or_default();
                link.iter().all(|one| one.delay == link[0].delay)
            });
            match Route::new(&plan, &route)?.last_arrival(secs(at), SIZE, SIZE) {
                Ok((first, last)) => {
                    prop_assert_eq!(first, last);
                    prop_assert!(last == when || !steady && last > when, "{last} for {when}");
                }
                Err(error) => prop_assert!(!steady, "{error}"),
            }
        }
    }

    #[test]
    fn any_text_is_a_plan_or_an_error(text in "[ac@d +0-9/:.a-z\n#-]{0,200}") {
        let _ = ion::parse(&text);
    }
}

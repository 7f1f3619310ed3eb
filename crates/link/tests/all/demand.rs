//! A rate that grows on demand, as measured on Starlink (specs/starlink-as-measured.md, checks S6
//! to S8).

use crate::common;

use bentpipe_link::{Ecn, Enqueue, Event, Link, Packet, Service};
use bentpipe_units::{Rate, Span, Time};
use common::{check_refused, direction, link, model, run, steady};

const DOWN: &str = "demand = { base = \"100 Mbps\", ceiling = \"340 Mbps\" }";
const UP: &str = "demand = { base = \"30 Mbps\", ceiling = \"60 Mbps\" }";

fn with_rate(rate: &str) -> Link<usize> {
    let text =
        format!("rate = {{ {rate} }}\ndelay = \"0 s\"\nqueue = {{ limit = \"200 packets\" }}");
    link(&direction(&text), 1, 1)
}

/// Keeps the queue of `link` full until `end`. Returns the time and the bytes of each delivery.
fn greedy(link: &mut Link<usize>, from: Time, end: Time) -> Vec<(Time, u32)> {
    let mut delivered = Vec::new();
    let fill = |link: &mut Link<usize>, now: Time| {
        while link.queue_packets() < 150 {
            let offered = link.enqueue(now, 0, Packet::new(1500, Ecn::NotEct, 0));
            assert_eq!(offered, Enqueue::Queued);
        }
    };
    fill(link, from);
    while let Some(now) = link.next_deadline().filter(|now| *now <= end) {
        while let Some(event) = link.poll(now) {
            if let Event::Delivered { packet, .. } = event {
                delivered.push((now, packet.bytes));
            }
        }
        fill(link, now);
    }
    delivered
}

fn bytes_until(delivered: &[(Time, u32)], end: Span) -> f64 {
    let until = delivered.iter().take_while(|(at, _)| *at <= Time::ZERO + end);
    until.map(|(_, bytes)| f64::from(*bytes)).sum()
}

fn millis_of(delivered: &[(Time, u32)], bytes: f64) -> f64 {
    let mut sum = 0.0;
    let reached = |(_, own): &&(Time, u32)| {
        sum += f64::from(*own);
        sum >= bytes
    };
    delivered.iter().find(reached).map_or(f64::NAN, |(at, _)| at.as_secs_f64() * 1e3)
}

/// S6: 11.0 MB in 400 ms and 36.5 MB in 1 s, 10 MB at 376 ms; 2.25 MB, 1 MB at 211 ms and 10 MB at
/// 1.433 s.
#[test]
fn a_greedy_sender_gets_the_integral_of_a_linear_growth() {
    let end = Time::from_secs(2);
    let down = greedy(&mut with_rate(DOWN), Time::ZERO, end);
    let up = greedy(&mut with_rate(UP), Time::ZERO, end);
    let ms = Span::from_millis;
    for (delivered, span, megabytes) in [(&down, 400, 11.0), (&down, 1000, 36.5), (&up, 400, 2.25)]
    {
        let found = bytes_until(delivered, ms(span)) / 1e6;
        assert!((found - megabytes).abs() < 0.005 * megabytes, "{found} MB in {span} ms");
    }
    for (delivered, bytes, millis) in [(&down, 10e6, 376.0), (&up, 1e6, 211.0), (&up, 10e6, 1433.0)]
    {
        let found = millis_of(delivered, bytes);
        assert!((found - millis).abs() < 1.0, "{bytes} bytes at {found} ms, expected {millis}");
    }
}

/// S7: a sender below the base sees a link of the base's rate, to the nanosecond.
#[test]
fn a_sender_below_the_base_leaves_the_rate_alone() {
    // 90 Mbps.
    let arrivals = steady(20_000, Span::from_nanos(133_333), Ecn::NotEct);
    let mut grows = with_rate(DOWN);
    let plain = "rate = \"100 Mbps\"\ndelay = \"0 s\"\nqueue = \"200 packets\"";
    let mut plain = link(&direction(plain), 1, 1);
    let seen = run(&mut grows, &arrivals, |link| assert_eq!(link.queue_packets(), 0));
    assert_eq!(seen, run(&mut plain, &arrivals, |_| ()));
    assert_eq!(grows.counters(), plain.counters());
}

/// S8: with a reset every 15 s and an outage of 82.5 ms, 334.9 and 59.3 Mbps on average.
#[test]
fn resets_and_outages_cost_their_part_of_each_period() {
    for (rate, mbps) in [(DOWN, 334.9), (UP, 59.3)] {
        let resets = ", resets = [{ at = \"0 s\", outage = \"82.5 ms\" }], repeat = \"15 s\" }";
        let mut link = with_rate(&rate.replace(" }", resets));
        let delivered = greedy(&mut link, Time::ZERO, Time::from_secs(30));
        let bytes: f64 = delivered.iter().map(|(_, bytes)| f64::from(*bytes)).sum();
        let found = bytes * 8.0 / 30e6;
        assert!((found - mbps).abs() < 0.1, "{found}, expected {mbps}");
    }
}

/// A packet that crosses millions of periods ends where their sum says, and at once.
#[test]
fn a_slow_packet_over_many_short_periods_ends_in_closed_form() {
    // Open for 3 of 4 parts of each microsecond: 12,000 bits at 1 bps take 16,000 s, less the part
    // without a reset before the first one, 500 ns, and the outage after the last bit, 250 ns.
    let resets = "resets = [{ at = \"500 ns\", outage = \"250 ns\" }], repeat = \"1 us\"";
    let rate =
        |base: &str| format!("demand = {{ base = \"{base}\", ceiling = \"1 Mbps\", {resets} }}");
    let end = |base: &str| {
        let mut link = with_rate(&rate(base));
        assert_eq!(link.enqueue(Time::ZERO, 0, Packet::new(1500, Ecn::NotEct, 0)), Enqueue::Queued);
        let at = link.next_deadline().unwrap();
        assert!(matches!(link.poll(at), Some(Event::Delivered { .. })));
        at
    };
    assert_eq!(end("1 bps"), Time::from_secs(16_000));
    // The same pattern, few enough to be gone through: 12,000 bits at 1 Mbps, 12 ms open.
    assert_eq!(end("1 Mbps"), Time::from_millis(16));
}

#[test]
fn the_rate_falls_after_the_hold_and_grows_again_from_where_it_is() {
    let ms = Time::from_millis;
    let rate = "demand = { base = \"100 Mbps\", ceiling = \"340 Mbps\", hold = \"100 ms\" }";
    let mut link = with_rate(rate);
    greedy(&mut link, Time::ZERO, ms(1000));
    // Without packets: the rest of the queue takes 5 ms, and the last of it is no pressure.
    while let Some(now) = link.next_deadline() {
        while link.poll(now).is_some() {}
    }
    let mbps = |link: &Link<usize>, at| link.rate_at(ms(at)).as_mbps_f64();
    assert!((mbps(&link, 1090) - 340.0).abs() < 1e-6, "{}", mbps(&link, 1090));
    // Half of the fall of 400 ms, which began about 100 ms after 1 s.
    assert!((mbps(&link, 1300) - 220.0).abs() < 3.0, "{}", mbps(&link, 1300));
    assert!((mbps(&link, 1600) - 100.0).abs() < 1e-6);
    greedy(&mut link, ms(1300), ms(1500));
    assert!((mbps(&link, 1500) - 340.0).abs() < 3.0, "{}", mbps(&link, 1500));
}

#[test]
fn the_rate_is_recorded_at_its_corners_and_every_10_ms_between() {
    let ms = Time::from_millis;
    let resets = ", resets = [{ at = \"500 ms\", outage = \"80 ms\" }] }";
    let mut link = with_rate(&DOWN.replace(" }", resets));
    assert!(link.record_rates());
    greedy(&mut link, Time::ZERO, ms(700));
    let points = link.take_rates(ms(700));
    let at = |time: Time| {
        let before = points.iter().rev().find(|(at, _)| *at <= time);
        before.map_or(f64::NAN, |(_, rate)| rate.as_mbps_f64())
    };
    for (time, mbps) in [(0, 100.0), (200, 220.0), (450, 340.0), (540, 0.0), (580, 100.0)] {
        // 10 ms of growth are 6 Mbps.
        assert!((at(ms(time)) - mbps).abs() <= 6.1, "{} at {time} ms", at(ms(time)));
    }
    assert!(points.contains(&(ms(500), Rate::ZERO)), "{points:?}");
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0), "{points:?}");
    assert_eq!(link.take_rates(ms(700)), []);
}

#[test]
fn packets_say_how_long_they_waited_for_growth_and_for_an_outage() {
    // 12 and 24 Mbps: 1500 bytes take 1 ms, and 0.5 ms at the ceiling; growth takes seconds.
    let rate = "demand = { base = \"12 Mbps\", ceiling = \"24 Mbps\", rise = \"60 s\", \
        pressure = \"1 ms\", resets = [{ at = \"100 ms\", outage = \"20 ms\" }] }";
    let services = |at: Time| {
        let mut link = with_rate(rate);
        for number in 0..3 {
            let _ = link.enqueue(at, 0, Packet::new(1500, Ecn::NotEct, number));
        }
        let mut services: Vec<Service> = Vec::new();
        while let Some(now) = link.next_deadline() {
            while let Some(event) = link.poll(now) {
                if let Event::Delivered { service, .. } = event {
                    services.push(service);
                }
            }
        }
        services
    };
    let micros = |service: &Service| {
        [service.queued, service.blocked, service.growing, service.serialised()]
            .map(|span| (span.as_secs_f64() * 1e6).round())
    };
    // The first does not wait for growth, as there is no pressure yet; the second has 1 ms of data
    // behind it, and the third has none.
    let found = services(Time::ZERO);
    let found: Vec<_> = found.iter().map(micros).collect();
    assert_eq!(found[0], [0.0, 0.0, 0.0, 1000.0]);
    assert_eq!(found[1], [1500.0, 500.0, 500.0, 500.0]);
    assert_eq!(found[2], [2000.0, 500.0, 500.0, 1000.0]);
    let found = services(Time::from_millis(110));
    // It waits for the end of the outage, and is then sent under pressure.
    assert_eq!(micros(&found[0]), [10_500.0, 10_500.0, 500.0, 500.0]);
}

#[test]
fn bounds_of_a_rate_on_demand_are_its_ceiling_and_its_base() {
    let resets = ", resets = [{ at = \"5 s\", outage = \"1 s\" }], repeat = \"10 s\" }";
    let rate = DOWN.replace(" }", resets);
    let config = direction(&format!("rate = {{ {rate} }}\ndelay = \"1 ms\""));
    let model = model(&config);
    let mbps = Rate::from_mbps;
    assert_eq!((model.nominal_rate(), model.least_rate()), (mbps(340), mbps(100)));
    assert_eq!(model.longest_gap(), Span::from_secs(1));
    let (from, to) = (Time::from_secs(4), Time::from_secs(7));
    assert_eq!(model.capacity(from, to).get(), 2 * 340_000_000 / 8);
    let text = toml::to_string(&config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(direction(&text), config);
}

#[test]
fn mistakes_are_refused_with_the_remedy() {
    check_refused(&[
        (
            "rate = { demand = { base = \"0 Mbps\", ceiling = \"1 Mbps\" } }",
            &["base", "above zero"],
        ),
        ("rate = { demand = { base = \"2 Mbps\", ceiling = \"1 Mbps\" } }", &["ceiling", "2 Mbps"]),
        (
            "rate = { demand = { base = \"1 Mbps\", ceiling = \"2 Mbps\", rise = \"0 s\" } }",
            &["rise = 0 ns", "above 0 s"],
        ),
        (
            "rate = { demand = { base = \"1 Mbps\", ceiling = \"2 Mbps\", repeat = \"1 s\" } }",
            &["repeat = 1 s", "resets"],
        ),
        (
            "rate = { demand = { base = \"1 Mbps\", ceiling = \"2 Mbps\", resets = \
             [{ at = \"2 s\", outage = \"1 s\" }, { at = \"2.5 s\" }] } }",
            &["at = 2.5 s", "from 3 s"],
        ),
        (
            "rate = { demand = { base = \"1 Mbps\", ceiling = \"2 Mbps\" }, scale = 2 }",
            &["other keys"],
        ),
    ]);
}

//! Tests of windows and timeouts on paths that change.

use crate::plan::Task;
use crate::testing;
use bentpipe_quic::{LossDetection, PacketThreshold, QuicSettings};
use bentpipe_units::{Bytes, Span, Time};

/// Returns the QUIC settings of a download over `path`, with `keys` in `[defaults]`.
fn settings(path: &str, keys: &str) -> QuicSettings {
    let workload = if path.contains("orbit") { "from = \"a\"\nto = \"b\"\n" } else { "" };
    let text = format!(
        "name = \"one\"\n{path}\n[workload]\n{workload}download = \"2 MB\"\n[defaults]\n{keys}"
    );
    let spec = testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap();
    spec.flows[0].clone().stack.quic_mut().unwrap().clone()
}

/// Returns a path of one hop with this forward delay and rate.
fn hop(delay: &str, rate: &str) -> String {
    format!(
        "[path]\nforward = {{ delay = {delay}, rate = {rate}, queue = \"100 kB\" }}\n\
         return = {{ delay = \"20 ms\", rate = \"10 Mbps\" }}"
    )
}

const LEO_AND_GEO: &str = r#"
[path.orbit]
isl = "none"
links.all = { rate = "20 Mbps", queue = "200 ms" }
[[path.orbit.shell]]
name = "leo"
planes = 6
per_plane = 11
inclination_deg = 86.4
altitude = "1200 km"
raan_spread_deg = 180
min_elevation_deg = 30
[[path.orbit.shell]]
name = "geo"
planes = 1
per_plane = 8
inclination_deg = 0
altitude = "35786 km"
min_elevation_deg = 10
[[path.orbit.station]]
name = "b"
city = "Paris"
forwards = true
[[path.orbit.station]]
name = "a"
city = "Madrid"
"#;

#[test]
fn auto_windows_are_those_of_the_longest_rtt_and_the_highest_rate() {
    let buffer = |delay: &str, rate: &str| settings(&hop(delay, rate), "").send_buffer.get();
    // Twice 800 Mbps over 40 ms, and 100 kB.
    assert_eq!(buffer("\"20 ms\"", "\"800 Mbps\""), 2 * 4_100_000);
    let delay = "{ schedule = [{ at = \"0 s\", delay = \"20 ms\" }, { at = \"9 s\", delay = \
                 \"220 ms\" }] }";
    assert_eq!(buffer(delay, "\"800 Mbps\""), 2 * 24_100_000);
    let rate = "{ schedule = [{ at = \"0 s\", rate = \"100 Mbps\" }, { at = \"9 s\", rate = \
                \"800 Mbps\" }] }";
    assert_eq!(buffer("\"20 ms\"", rate), 2 * 4_100_000);
}

#[test]
fn auto_windows_have_room_for_the_queue_of_each_link_that_is_the_slowest_at_times() {
    let path = |later: &str| {
        let rate = format!(
            "{{ schedule = [{{ at = \"0 s\", rate = \"1 Gbps\" }}, {{ at = \"9 s\", rate = \
             \"{later}\" }}] }}"
        );
        let hop = |name: &str, rate: &str, queue: &str| {
            format!(
                "[[path.hop]]\nname = \"{name}\"\nforward = {{ delay = \"50 ms\", rate = {rate}, \
                 queue = \"{queue}\" }}\nreturn = {{ delay = \"50 ms\", rate = \"1 Gbps\" }}\n"
            )
        };
        hop("varies", &rate, "60 MB") + &hop("steady", "\"100 Mbps\"", "1 MB")
    };
    let buffer = |later: &str| settings(&path(later), "").send_buffer.get();
    // 100 Mbps over 200 ms, and the queue of the hop that is slower later, or never.
    assert_eq!(buffer("20 Mbps"), 2 * (2_500_000 + 60_000_000));
    assert_eq!(buffer("900 Mbps"), 2 * (2_500_000 + 1_000_000));
}

#[test]
fn auto_windows_over_satellites_are_those_of_the_longest_route() {
    // 20 Mbps over a geostationary satellite are 1.2 MB, and 200 ms of queue 0.5 MB; the route of
    // the start has a BDP of 0.05 MB.
    let settings = settings(LEO_AND_GEO, "");
    assert!(settings.send_buffer.get() > 3_000_000, "{}", settings.send_buffer);
}

#[test]
fn an_idle_timeout_outlives_gaps_and_long_rtts_unless_it_is_given() {
    let idle = |path: &str, keys: &str| settings(path, keys).idle_timeout;
    let rate = "\"800 Mbps\"";
    assert_eq!(idle(&hop("\"20 ms\"", rate), ""), Span::from_secs(60));
    assert_eq!(
        idle(&hop("\"10 min\"", rate), ""),
        Span::from_secs(3 * 600) + Span::from_millis(60)
    );
    let contacts = "{ schedule = [{ at = \"0 s\", rate = \"8 Mbps\" }, { at = \"10 min\", rate = \
                    \"0 bps\" }], repeat = \"2 h\" }";
    let gap = Span::from_secs(6_600);
    assert_eq!(idle(&hop("\"20 ms\"", contacts), ""), (gap + Span::from_millis(40)) * 3);
    let given = idle(&hop("\"20 ms\"", contacts), "quic.idle_timeout = \"30 s\"");
    assert_eq!(given, Span::from_secs(30));
    assert_eq!(idle(&hop("\"20 ms\"", rate), "quic.idle_timeout = \"none\""), Span::MAX);
}

#[test]
fn thresholds_are_those_of_the_rfc_unless_they_are_given() {
    let loss = |keys: &str| settings(&hop("\"20 ms\"", "\"8 Mbps\""), keys).loss_detection;
    assert_eq!(loss(""), LossDetection::RFC);
    let given = loss(
        "quic = { packet_threshold = \"auto\", time_threshold = 1.5, \
         persistent_congestion = false }",
    );
    let expected = LossDetection {
        packet_threshold: PacketThreshold::Auto,
        time_threshold: 1.5,
        persistent_congestion: false,
    };
    assert_eq!(given, expected);
}

#[test]
fn a_deep_space_endpoint_knows_the_rate_and_the_rtt_of_its_path() {
    let path = hop("\"20 min\"", "\"8 Mbps\"");
    let given = |keys: &str| {
        let settings = settings(&path, &format!("preset = \"deep-space\"\n{keys}"));
        (settings.congestion.parameters["fixed-rate"]["mbps"], settings.initial_rtt)
    };
    let parameters = |path: &str| {
        settings(path, "preset = \"deep-space\"").congestion.parameters["fixed-rate"].clone()
    };
    let contacts = "{ schedule = [{ at = \"0 s\", rate = \"8 Mbps\" }, { at = \"10 min\", rate = \
                    \"0 bps\" }], repeat = \"2 h\" }";
    assert_eq!(parameters(&hop("\"20 ms\"", contacts))["rtt_ms"], 6_600_040.0);
    // 1472 of 1500 bytes are QUIC's, and the probe timeout is three times the initial RTT.
    let rtt = Span::from_secs(1200) + Span::from_millis(20);
    assert_eq!(given(""), (8.0 * 1472.0 / 1500.0, rtt / 3));
    let keys = "parameters.fixed-rate.mbps = 2\nquic.initial_rtt = \"1 s\"";
    assert_eq!(given(keys), (2.0, Span::from_secs(1)));
}

#[test]
fn a_path_to_mars_has_the_light_time_of_each_date() {
    let path = "[path]\nprofile = \"mars\"\n\
                light_time = { bodies = [\"earth\", \"mars\"], at = \"2027-02-20T00:00:00Z\", \
                extra = \"1 s\" }\n";
    let text = format!(
        "name = \"mars\"\ntime_limit = \"2424 h\"\n{path}[workload]\ndownload = \"1 kB\"\n"
    );
    let spec = testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap();
    let delay = |day: u64| {
        let at = Time::from_secs(day * 86_400);
        [&spec.hops[0].forward, &spec.hops[0].reverse]
            .map(|link| link.delay_at(at).as_secs_f64() - 1.0)
    };
    // 2027-06-01 is 101 days later: vectors of bentpipe-orbit.
    for (day, expected) in [(0, 338.284), (101, 664.463)] {
        for one in delay(day) {
            assert!((one - expected).abs() < 0.17, "{day}: {one} s, not {expected}");
        }
    }
    // Between two computed times it is linear.
    let link = &spec.hops[0].reverse;
    let ms = |at: u64| link.delay_at(Time::from_secs(at)).as_millis_f64();
    assert!((ms(1800) - (ms(0) + ms(3600)) / 2.0).abs() < 0.001);
    assert!(ms(3600) > ms(0), "Mars is past its opposition");
}

#[test]
fn the_implied_first_visit_is_bounded_and_short_for_a_sender_that_is_told_its_rate() {
    let first = |rate: &str, delay: &str, keys: &str| {
        let path = format!(
            "[path]\nforward = {{ rate = \"{rate}\", delay = \"{delay}\", queue = \"1 MB\" }}\n\
             return = {{ rate = \"{rate}\", delay = \"{delay}\", queue = \"1 MB\" }}"
        );
        let text = format!(
            "name = \"one\"\n{path}\n[workload]\ndownload = \"2 MB\"\n[defaults]\n\
             visit = \"repeat\"\n{keys}"
        );
        let spec = testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap();
        spec.flows[0].visits[0].objects[0].bytes
    };
    assert_eq!(first("20 Mbps", "300 ms", ""), Bytes::from_mb(15), "10 BDP");
    assert_eq!(first("1 Mbps", "1 ms", ""), Bytes::from_mb(1));
    assert_eq!(first("1 Mbps", "900 s", ""), Bytes::from_mb(1000));
    assert_eq!(first("1 Mbps", "900 s", "preset = \"deep-space\""), Bytes::from_mb(1));
}

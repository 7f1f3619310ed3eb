//! Files as the programs of other systems, versions and languages write them, and files that ended
//! early. The lines are invented after what these programs print.
#![allow(clippy::unwrap_used, reason = "tests")]

use bentpipe_recordings::{
    Content, Direction, Format, Import, Input, Measured, Options, Probe, Times, read,
};
use bentpipe_units::{Rate, Span};

const UTC: i64 = 1_700_000_000_000_000_000;

fn measured(bytes: impl Into<Vec<u8>>) -> Measured {
    read("f", bytes.into(), None).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(bytes: impl Into<Vec<u8>>) -> String {
    match read("f", bytes.into(), None) {
        Err(error) => error.to_string(),
        Ok(measured) => panic!("it was read: {measured:?}"),
    }
}

fn probes(measured: &Measured) -> &[Probe] {
    match &measured.content {
        Content::Probes(probes) => probes,
        other => panic!("no probes: {other:?}"),
    }
}

/// RTTs in ms; −1 for a loss.
fn rtts(measured: &Measured) -> Vec<f64> {
    probes(measured).iter().map(|probe| probe.rtt.map_or(-1.0, |ns| ns as f64 / 1e6)).collect()
}

#[test]
fn pings_of_other_systems_have_numbers_and_no_times() {
    let macos = "PING example.com (192.0.2.1): 56 data bytes\n\
        64 bytes from 192.0.2.1: icmp_seq=0 ttl=56 time=41.5 ms\n\
        Request timeout for icmp_seq 1\n\
        64 bytes from 192.0.2.1: icmp_seq=2 ttl=56 time=42.5 ms\n\
        \n--- example.com ping statistics ---\n\
        3 packets transmitted, 2 packets received, 33.3% packet loss\n\
        round-trip min/avg/max/stddev = 41.500/42.000/42.500/0.500 ms\n";
    let busybox = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n\
        64 bytes from 192.0.2.1: seq=0 ttl=64 time=41.5 ms\n\
        64 bytes from 192.0.2.1: seq=2 ttl=64 time=42.5 ms\n";
    let fping = "192.0.2.1 : [0], 64 bytes, 41.5 ms (41.5 avg, 0% loss)\n\
        192.0.2.1 : [1], timed out (41.5 avg, 50% loss)\n\
        192.0.2.1 : [2], 64 bytes, 42.5 ms (42.0 avg, 33% loss)\n\n\
        192.0.2.1 : xmt/rcv/%loss = 3/2/33%, min/avg/max = 41.5/42.0/42.5\n";
    let german = "PING 192.0.2.1 (192.0.2.1) 56(84) Bytes an Daten.\n\
        64 Bytes von 192.0.2.1: icmp_seq=1 ttl=52 Zeit=41,5 ms\n\
        64 Bytes von 192.0.2.1: icmp_seq=3 ttl=52 Zeit=42,5 ms\n\n\
        --- 192.0.2.1 Ping-Statistiken ---\n\
        3 Pakete übertragen, 2 empfangen, 33% packet loss, time 2003ms\n\
        rtt min/avg/max/mdev = 41.5/42.0/42.5/0.5 ms\n";
    for text in [macos, busybox, fping, german] {
        let ping = measured(text);
        assert_eq!((ping.format, ping.times), (Format::Ping, Times::Numbered), "{text}");
        assert_eq!(rtts(&ping), [41.5, -1.0, 42.5], "{text}");
        let sent: Vec<i64> = probes(&ping).iter().map(|probe| probe.sent).collect();
        assert_eq!(sent, [0, 1_000_000_000, 2_000_000_000], "{text}");
    }
}

#[test]
fn ping_of_windows_is_read_in_any_language_and_encoding() {
    let english = "\r\nPinging 192.0.2.1 with 32 bytes of data:\r\n\
        Request timed out.\r\n\
        Reply from 192.0.2.1: bytes=32 time=41ms TTL=52\r\n\
        Reply from 192.0.2.254: Destination host unreachable.\r\n\
        Reply from 192.0.2.1: bytes=32 time<1ms TTL=52\r\n\r\n\
        Ping statistics for 192.0.2.1:\r\n\
        \x20   Packets: Sent = 4, Received = 2, Lost = 2 (50% loss),\r\n\
        Approximate round trip times in milli-seconds:\r\n\
        \x20   Minimum = 1ms, Maximum = 41ms, Average = 21ms\r\nControl-C\r\n^C\r\n";
    let expected = [-1.0, 41.0, -1.0, 1.0];
    assert_eq!(rtts(&measured(english)), expected);
    // What PowerShell makes of it: UTF-16 with a byte order mark.
    let wide: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(english.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(rtts(&measured(wide)), expected);
    assert_eq!(rtts(&measured(format!("\u{feff}{english}"))), expected);
    // The code page of a German console.
    let german = b"\r\nPing wird ausgef\x81hrt f\x81r 192.0.2.1 mit 32 Bytes Daten:\r\n\
        Antwort von 192.0.2.1: Bytes=32 Zeit=41ms TTL=52\r\n\
        Zeit\x81berschreitung der Anforderung.\r\n\r\n\
        Ping-Statistik f\x81r 192.0.2.1:\r\n\
        \x20   Pakete: Gesendet = 2, Empfangen = 1, Verloren = 1\r\n";
    assert_eq!(rtts(&measured(&german[..])), [41.0, -1.0]);
}

#[test]
fn times_stand_before_lines_in_three_forms() {
    let line = |stamp: &str, number: u32| {
        format!("{stamp}64 bytes from 192.0.2.1: icmp_seq={number} ttl=56 time=500 ms\n")
    };
    let day = measured(line("23:59:59.5 ", 7) + &line("00:00:00.5 ", 8));
    assert_eq!((day.times, probes(&day)[1].sent), (Times::Relative, 1_000_000_000));
    for stamp in ["[1700000000.5] ", "1700000000.500000000 "] {
        let utc = measured(line(stamp, 7));
        assert_eq!((utc.times, probes(&utc)[0].sent), (Times::Utc, UTC), "{stamp}");
    }
    let mixed = refusal(line("[1700000000.5] ", 7) + &line("", 8));
    assert!(mixed.starts_with("f, line 2: only some answers have a time stamp"), "{mixed}");
}

/// A log to which ping was appended again: its numbers begin at 1 once more.
#[test]
fn calls_of_ping_in_one_file_are_one_after_another() {
    let call = |begin: i64| {
        let line = |n: i64| {
            format!("[{}.041] 64 bytes from x: icmp_seq={n} ttl=1 time=41 ms\n", begin + n)
        };
        format!("PING x (192.0.2.1) 56(84) bytes of data.\n{}{}", line(1), line(3))
    };
    let log = measured(call(1_700_000_000) + &call(1_700_000_100));
    assert_eq!(rtts(&log), [41.0, -1.0, 41.0, 41.0, -1.0, 41.0]);
    assert_eq!(probes(&log)[3].sent - UTC, 101_000_000_000);
    assert!(log.notes[0].starts_with("6 sent, 2 lost, 0 duplicates"), "{:?}", log.notes);
    let plain = "PING x: 56 data bytes\n64 bytes from x: seq=0 ttl=1 time=1 ms\n";
    let twice = refusal(plain.repeat(2));
    assert!(twice.contains("line 3: another call of ping begins"), "{twice}");
    let hosts = "192.0.2.1 : [0], 64 bytes, 41.5 ms (41.5 avg, 0% loss)\n\
        192.0.2.2 : [0], 64 bytes, 41.5 ms (41.5 avg, 0% loss)\n";
    assert!(refusal(hosts).contains("line 2: the ping goes to another host"));
}

#[test]
fn a_last_line_without_an_end_is_left_out() {
    for (text, values) in [
        (
            "[1.5] 64 bytes from x: icmp_seq=1 ttl=1 time=1 ms\n\
             [2.5] 64 bytes from x: icmp_seq=2 tt",
            1,
        ),
        ("[1.5] 64 bytes from x: icmp_seq=1 ttl=1 time=1 ms\n[2.", 1),
        ("1700000000.5\t1\t41\n1700000001.5\t2\t41\n17000", 2),
    ] {
        let cut = measured(text);
        assert_eq!(probes(&cut).len(), values, "{text}");
        assert!(cut.notes.last().unwrap().ends_with("has no end: not used"), "{:?}", cut.notes);
        assert!(refusal(format!("{text}\n")).starts_with("f, line "), "{text}");
    }
    let json = refusal("{\"round_trips\": [\n{");
    assert!(json.contains("line 2: the document has no end; allowed: the JSON of `irtt"), "{json}");
}

/// An iperf3 document of 30 s whose streams have these fields beside time and bytes.
fn iperf3(start: &str, streams: &[&str], rest: &str) -> String {
    let interval = |n: u32| {
        let stream = |own: &&str| {
            format!("{{\"start\": {n}, \"end\": {}, \"bytes\": 1000000, {own}}}", n + 1)
        };
        let streams: Vec<String> = streams.iter().map(stream).collect();
        format!("{{\"streams\": [{}]}}", streams.join(", "))
    };
    let intervals: Vec<String> = (0..30).map(interval).collect();
    format!(
        "{{\"start\": {{\"timestamp\": {{\"timesecs\": 1700000000}}, {start}}}, \
         \"intervals\": [{}]{rest}}}",
        intervals.join(", ")
    )
}

const TCP: &str = "\"tcp_mss_default\": 1448, \
    \"test_start\": {\"protocol\": \"TCP\", \"reverse\": 0, \"blksize\": 131072}";
const UDP: &str = "\"test_start\": {\"protocol\": \"UDP\", \"reverse\": 0, \"blksize\": 1400}";
const SENDS: &str = "\"sender\": true";
const RECEIVES: &str = "\"sender\": false";

#[test]
fn both_directions_of_an_iperf3_test_are_apart() {
    let both = measured(iperf3(TCP, &[SENDS, RECEIVES, RECEIVES], ""));
    let Content::BothRates([up, down]) = &both.content else { panic!("{both:?}") };
    let payload = |bps: f64| bps / (1.0 + 52.0 / 1448.0);
    assert_eq!((up.len(), down.len()), (30, 30));
    assert!((payload(up[0].bps) - 8e6).abs() < 1.0 && (payload(down[0].bps) - 16e6).abs() < 1.0);
    // The same, as the server has seen it: what it sends goes down.
    let server = format!("\"accepted_connection\": {{}}, {TCP}");
    let server = measured(iperf3(&server, &[RECEIVES], ""));
    assert!(matches!(&server.content, Content::Rates { direction: Some(Direction::Up), .. }));
    // A line for each event.
    let text = iperf3(TCP, &[RECEIVES], "");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let event = |name: &str, data: &serde_json::Value| {
        serde_json::json!({"event": name, "data": data}).to_string() + "\n"
    };
    let intervals = value["intervals"].as_array().unwrap().iter();
    let stream = event("start", &value["start"])
        + &intervals.map(|interval| event("interval", interval)).collect::<String>();
    for stream in [stream.clone(), stream.clone() + "{\"event\":\"inter"] {
        let stream = measured(stream);
        let Content::Rates { bins, direction, .. } = &stream.content else { panic!("{stream:?}") };
        assert_eq!((bins.len(), *direction), (30, Some(Direction::Down)));
    }
}

/// The client of an upload by UDP knows what it sent, which is no rate of the path.
#[test]
fn an_upload_by_udp_that_lost_packets_is_no_rate() {
    let end = |lost: u32| {
        format!(", \"end\": {{\"sum\": {{\"packets\": 1000, \"lost_packets\": {lost}}}}}")
    };
    let lossy = refusal(iperf3(UDP, &[SENDS], &end(650)));
    assert!(lossy.contains("65.0 % of an upload by UDP was lost"), "{lossy}");
    assert!(lossy.contains("allowed: a download (`-R`), or the JSON of the server"), "{lossy}");
    assert!(refusal(iperf3(UDP, &[SENDS], "")).contains("how much of an upload by UDP arrived"));
    assert!(matches!(measured(iperf3(UDP, &[SENDS], &end(9))).content, Content::Rates { .. }));
    let nested = format!(", \"server_output_json\": {}", iperf3(UDP, &[RECEIVES], ""));
    let nested = nested.replace("\"timestamp\"", "\"accepted_connection\": {}, \"timestamp\"");
    let far = measured(iperf3(UDP, &[SENDS], &(end(650) + &nested)));
    assert!(matches!(&far.content, Content::Rates { direction: Some(Direction::Up), .. }));
}

#[test]
fn what_ended_early_or_never_began_says_so() {
    let never = "{\"start\": {\"connected\": []}, \"intervals\": [], \"end\": {}, \
        \"error\": \"unable to connect to server: Connection refused\"}";
    let never = refusal(never);
    assert!(
        never.contains("unable to connect to server") && never.contains("allowed: "),
        "{never}"
    );
    let early = ", \"error\": \"interrupt - the client has terminated\"";
    let early = measured(iperf3(TCP, &[SENDS], early));
    assert!(early.notes.last().unwrap().contains("ended early: interrupt"), "{:?}", early.notes);
}

#[test]
fn results_of_atlas_are_of_one_path() {
    let result = |probe: u32, target: &str| {
        format!(
            "{{\"type\": \"ping\", \"prb_id\": {probe}, \"dst_addr\": \"{target}\", \"sent\": 1, \
             \"result\": [{{\"rtt\": 40.0, \"srcaddr\": \"192.0.2.9\"}}]}}"
        )
    };
    let list = |results: &[String]| format!("[{}]", results.join(",\n"));
    let one = [result(7, "192.0.2.1"), result(7, "192.0.2.1")];
    for text in [list(&one), one.join("\n")] {
        let Content::Quantiles { rtts_ms, .. } = measured(text).content else { panic!() };
        assert_eq!(rtts_ms, [40.0, 40.0]);
    }
    let probes = refusal(list(&[result(7, "192.0.2.1"), result(8, "192.0.2.1")]));
    assert!(probes.contains("of 2 probes") && probes.contains("select(.prb_id == 7)"), "{probes}");
    let targets = refusal(list(&[result(7, "192.0.2.1"), result(7, "192.0.2.2")]));
    assert!(targets.contains("of 2 addresses"), "{targets}");
    let damaged = refusal(format!("{}\n{{\"type\": \"ping\"", one[0]));
    assert!(damaged.contains("line 2: the document has no end; allowed: "), "{damaged}");
}

#[test]
fn outputs_without_the_option_that_makes_them_readable_say_which() {
    for (text, words) in [
        ("Connecting to host 192.0.2.1, port 5201\n[  5] local", "`iperf3 -J`"),
        (
            "-----------------------------------------------------------\nServer listening on 5201",
            "`iperf3 -J`",
        ),
        ("[Connecting] connecting to 192.0.2.1\nseq=0 rtt=40ms", "irtt client -o"),
        ("traceroute to 192.0.2.1, 30 hops max", "`ping -D HOST`"),
        ("SQLite format 3\0\u{10}", "sqlite3 -csv -header FILE"),
        ("PK\u{3}\u{4}", "an archive"),
        ("2023-11-14T22:13:20,0.0,31.0,1,1,,,\n", "dish_grpc_text.py -H bulk_history"),
        ("timestamp;rtt\n1700000000,5;41,0\n", "allowed: commas"),
        (" \r\n", "empty"),
        ("16 bytes from 192.0.2.1: icmp_seq=1 ttl=64\n", "pings of 16 B and more"),
    ] {
        let found = refusal(text);
        assert!(found.contains(words) && found.contains("allowed: "), "{text}: {found}");
    }
    // What that query of the history writes is read.
    let table = "datetimestamp_utc,pop_ping_drop_rate,pop_ping_latency_ms\n\
        2023-11-14T22:13:20,0.0,31.0\n2023-11-14T22:13:21,1.0,\n";
    assert_eq!(rtts(&measured(table)), [31.0, -1.0]);
}

fn input(name: &str, text: impl Into<Vec<u8>>) -> Input {
    Input { name: name.to_owned(), bytes: text.into(), format: None, direction: None }
}

fn plain_pings() -> String {
    (0..60).map(|n| format!("64 bytes from x: seq={n} ttl=1 time={} ms\n", 40 + n % 2)).collect()
}

#[test]
fn pings_without_times_are_an_interval_apart() {
    let rate = Some(Rate::from_mbps(10));
    let interval = Some(Span::from_millis(200));
    for (interval, second) in [(None, "1,"), (interval, "0.2,")] {
        let options = Options { interval, rate, ..Options::default() };
        let import = Import::new(vec![input("ping.txt", plain_pings())], &options).unwrap();
        let up = &import.files.iter().find(|(name, _)| name == "up.csv").unwrap().1;
        let rows: Vec<&str> = up.lines().filter(|line| line.contains("20.5")).collect();
        assert!(rows[0].starts_with(second), "{rows:?}");
        let inferred = import.summary.inferred.join("\n");
        assert!(inferred.contains("as its lines have no times (`--interval`"), "{inferred}");
    }
}

/// Delays without UTC beside rates with it do not begin with them because nobody says so.
#[test]
fn files_without_a_common_clock_need_an_offset() {
    let files = || {
        vec![input("ping.txt", plain_pings()), input("i.json", iperf3(TCP, &[SENDS, RECEIVES], ""))]
    };
    let error = Import::new(files(), &Options::default()).unwrap_err().to_string();
    assert!(
        error.contains("i.json has times in UTC and ping.txt has none; allowed: `--offset"),
        "{error}"
    );
    let options = Options { offset: Some(Span::from_secs(5)), ..Options::default() };
    let import = Import::new(files(), &options).unwrap();
    let file = |name: &str| &import.files.iter().find(|(own, _)| own == name).unwrap().1;
    assert!(
        file("up-rate.csv").contains("# start: 2023-11-14T22:13:25Z"),
        "{}",
        file("up-rate.csv")
    );
    assert!(file("down-rate.csv").contains("time_s,rate_bps\n0,"));
}

/// `--direction` is for what says none; `--up` must not contradict a file.
#[test]
fn a_file_that_says_its_direction_keeps_it() {
    let ping: String = (0..30)
        .map(|n| {
            format!("[{}.5] 64 bytes from x: icmp_seq={n} ttl=1 time=40 ms\n", 1_700_000_000 + n)
        })
        .collect();
    let options = Options {
        direction: Some(Direction::Down),
        rate: Some(Rate::from_mbps(10)),
        ..Options::default()
    };
    let files = vec![input("ping.txt", ping.clone()), input("i.json", iperf3(TCP, &[SENDS], ""))];
    let import = Import::new(files, &options).unwrap();
    assert!(import.files.iter().any(|(name, _)| name == "up-rate.csv"), "{:?}", import.summary);
    let down =
        Input { direction: Some(Direction::Down), ..input("i.json", iperf3(TCP, &[SENDS], "")) };
    let error = Import::new(vec![input("ping.txt", ping), down], &options).unwrap_err().to_string();
    assert!(
        error.contains("it says that it is of the direction up; allowed: `--up i.json`"),
        "{error}"
    );
}

/// Links refuse recordings of more than a week, so that an import must not write one.
#[test]
fn times_of_more_than_a_week_are_refused() {
    let ping = |apart: i64| -> String {
        let at = |n: i64| 1_700_000_000 + n * apart;
        (0..30).map(|n| format!("{}.5\t{n}\t41\n", at(n))).collect()
    };
    let options = Options { rate: Some(Rate::from_mbps(10)), ..Options::default() };
    let import = |apart: i64| Import::new(vec![input("p.tsv", ping(apart))], &options);
    assert!(import(20_000).is_ok());
    let error = import(30_000).unwrap_err().to_string();
    assert_eq!(error, "p.tsv: its times span 10.1 days; allowed: a part of at most 7 days");
}

#[test]
fn lost_pings_between_numbers_are_bounded_as_rows_are() {
    // A hundredth is answered: 25,000 lines are 2.5 million pings.
    let line = |number: u64, stamp: bool| {
        let at = if stamp { format!("[{}.5] ", 1_700_000_000 + number) } else { String::new() };
        let sequence = number * 100 % 65_536;
        format!("{at}64 bytes from 192.0.2.1: icmp_seq={sequence} ttl=52 time=41.5 ms\n")
    };
    for stamp in [true, false] {
        let pings = |count: u64| (0..count).map(|number| line(number, stamp)).collect::<String>();
        assert_eq!(probes(&measured(pings(15_000))).len(), 1_499_901);
        let refused = refusal(pings(25_000));
        let expected = "f: its sequence numbers are those of 2499901 pings, answered or lost; \
            allowed: up to 2000000, a part of it";
        assert_eq!(refused, expected);
    }
    // Several calls in one file count together.
    let call: String = (0..15_000).map(|number| line(number, true)).collect();
    let refused = refusal(format!("PING a\n{call}PING a\n{call}"));
    assert!(refused.contains("2999802 pings"), "{refused}");
}

#[test]
fn records_of_two_packets_are_no_days_of_bins() {
    let head = "seq,ts_sent,ts_rcvd,owd_ms,size,lost\n";
    let row = |day: u64| {
        let at = format!("2026-11-{day:02}T00:00:00Z");
        format!("{day},{at},{at},20,1200,false\n")
    };
    let refused = refusal(format!("{head}{}{}", row(1), row(5)));
    let expected = "f: its times span 96.0 h, 3456001 bins of 100 ms; allowed: up to 2000000, a \
        part of it";
    assert_eq!(refused, expected);
}

/// Times between which no number of 64 bits can be multiplied.
#[test]
fn times_far_apart_do_not_overflow() {
    let answer = |at: &str, number: u32| {
        format!("{at} 64 bytes from 192.0.2.1: icmp_seq={number} ttl=52 time=41.5 ms\n")
    };
    let (early, late) = ("[0.5]", "[7258118400.0]");
    let gap = format!("{}{}", answer(early, 1), answer(late, 3000));
    assert_eq!(probes(&measured(gap)).len(), 3000);
    let lost_first = format!("Request timeout for icmp_seq 1\n{}", answer(late, 30_000));
    assert_eq!(probes(&measured(format!("{lost_first}{}", answer(early, 30_001)))).len(), 30_001);
    // Each line is a day after the one before.
    let days: String = (0..220_000)
        .map(|n| answer(if n % 2 == 0 { "23:59:59" } else { "00:00:00" }, n % 65_536))
        .collect();
    assert_eq!(probes(&measured(days)).len(), 220_000);
}

/// Links refuse higher ones, and quantiles of endless ones are no number.
#[test]
fn rates_that_no_recording_may_have_are_refused() {
    let test = |bytes: &str| {
        iperf3(TCP, &[SENDS], "").replace("\"bytes\": 1000000", &format!("\"bytes\": {bytes}"))
    };
    let options =
        Options { rate: Some(Rate::from_mbps(10)), offset: Some(Span::ZERO), ..Options::default() };
    let import = |bytes: &str| {
        let files = vec![input("i.json", test(bytes)), input("ping.txt", plain_pings())];
        Import::new(files, &options)
    };
    assert!(import("1.2e14").is_ok());
    for bytes in ["1.3e14", "1e308"] {
        let error = import(bytes).unwrap_err().to_string();
        let allowed = " bit/s for 1.000 s; allowed: 0 to 1e15 bit/s";
        assert!(error.starts_with("i.json: ") && error.ends_with(allowed), "{error}");
    }
}

#[test]
fn a_packet_at_the_end_of_a_flow_makes_no_rate_of_its_own() {
    let row = |n: u32, at: &str| format!("{n},{at},{at},20,1222,false\n");
    let times = ["20.0Z", "20.05Z", "20.1Z", "20.15Z", "20.2Z"]
        .map(|end| format!("2023-11-14T22:13:{end}"));
    let rows: String = times.iter().zip(0..).map(|(at, n)| row(n, at)).collect();
    let udp = measured(format!("seq,ts_sent,ts_rcvd,owd_ms,size,lost\n{rows}"));
    let Content::Rates { bins, .. } = udp.content else { panic!() };
    assert_eq!(bins.iter().map(|bin| bin.bps).collect::<Vec<_>>(), [200_000.0, 200_000.0]);
}

#[test]
fn values_that_a_recording_has_no_rows_for_are_refused() {
    let delays = "20\n".repeat(2_000_001);
    let options = Options { rate: Some(Rate::from_mbps(10)), ..Options::default() };
    let refused = Import::new(vec![input("delays.txt", delays)], &options).unwrap_err();
    let expected = "delays.txt: it has 2000001 values; allowed: up to 2000000, a part of it";
    assert_eq!(refused.to_string(), expected);
}

/// Beside a trace there is a row for each second, so that a far offset would be all memory.
#[test]
fn an_offset_is_within_what_a_recording_may_be_long() {
    use bentpipe_recordings::options::offset;
    assert_eq!(offset("168h"), Ok(Span::from_secs(604_800)));
    for text in ["168.1h", "100000h"] {
        assert_eq!(offset(text), Err("allowed: 0 s to 7 days".to_owned()), "{text}");
    }
    let import = |offset: Span| {
        let trace = input("cell.up", (1..=3000).map(|at| format!("{at}\n")).collect::<String>());
        let rate = Some(Rate::from_mbps(10));
        let options = Options { offset: Some(offset), rate, ..Options::default() };
        Import::new(vec![trace, input("ping.txt", plain_pings())], &options)
    };
    assert!(import(Span::from_secs(600)).is_ok());
    let error = import(Span::from_secs(604_800)).unwrap_err().to_string();
    let expected = "ping.txt ends 7.0 days after cell.up begins; allowed: 7 days, with a lower \
        `--offset`";
    assert_eq!(error, expected);
    assert!(import(Span::MAX).is_err());
}

fn irtt(stamp: &str, from: i64, one_way: (i64, i64)) -> String {
    let (send, receive) = one_way;
    let trip = |n: i64| {
        let at = from + n * 10_000_000;
        // The clock of the far end is set after the first half.
        let (send, receive) = if n < 15 { (0, 0) } else { (send, receive) };
        format!(
            "{{\"seqno\": {n}, \"lost\": \"false\", \"timestamps\": {{\"client\": {{\"send\": \
             {{\"{stamp}\": {at}}}}}}}, \"delay\": {{\"rtt\": 40000000, \"send\": {send}, \
             \"receive\": {receive}}}}}"
        )
    };
    let trips: Vec<String> = (0..30).map(trip).collect();
    format!(
        "{{\"config\": {{\"params\": {{\"interval\": 10000000}}}}, \"round_trips\": [{}]}}",
        trips.join(",\n")
    )
}

/// A monotonic clock counts from anywhere; a recording begins at zero.
#[test]
fn irtt_without_a_wall_clock_begins_at_zero() {
    let options = Options { rate: Some(Rate::from_mbps(10)), ..Options::default() };
    for from in [0, 1_000_000_000_000_000, 1_000_000_000_000_000_000, -5_000_000_000, i64::MIN] {
        let text = irtt("monotonic", from, (20_000_000, 20_000_000));
        let import = Import::new(vec![input("irtt.json", text)], &options).unwrap();
        let up = &import.files.iter().find(|(name, _)| name == "up.csv").unwrap().1;
        let times: Vec<&str> = up.lines().filter_map(|line| line.split(',').next()).collect();
        assert!(times.contains(&"0") && times.contains(&"0.29"), "{from}: {up}");
    }
    let refused = refusal(irtt("wall", -5_000_000_000, (0, 0)));
    assert!(refused.starts_with("f: a `wall` of -5000000000; allowed: "), "{refused}");
    assert!(refusal(irtt("wall", 8_000_000_000_000_000_000, (0, 0))).contains("up to 2200"));
}

#[test]
fn a_clock_that_is_set_is_no_delay() {
    let options = Options { rate: Some(Rate::from_mbps(10)), ..Options::default() };
    for far in [1_000_000_000_000_000_000, i64::MAX] {
        let text = irtt("wall", UTC, (far, -far));
        let import = Import::new(vec![input("irtt.json", text)], &options).unwrap();
        let up = &import.files.iter().find(|(name, _)| name == "up.csv").unwrap().1;
        let delays: Vec<f64> = up
            .lines()
            .filter(|line| line.starts_with("0"))
            .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
            .collect();
        assert_eq!(delays.len(), 30);
        assert!(delays.iter().all(|ms| (0.0..=40.0).contains(ms)), "{delays:?}");
    }
}

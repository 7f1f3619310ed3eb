//! The readers, with the small files of `formats/`, whose README has the answers, and with each of
//! them damaged by one line.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests read files")]

use bentpipe_recordings::{Content, Direction, Format, ImportError, Measured, Probe, read};

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("tests/formats/{name}")).unwrap()
}

fn measured(name: &str) -> Measured {
    read(name, text(name).into(), None).unwrap_or_else(|error| panic!("{error}"))
}

fn probes(measured: &Measured) -> &[Probe] {
    match &measured.content {
        Content::Probes(probes) => probes,
        other => panic!("no probes: {other:?}"),
    }
}

fn rtts(measured: &Measured) -> Vec<f64> {
    let rtts = probes(measured).iter().filter_map(|probe| probe.rtt);
    let mut rtts: Vec<f64> = rtts.map(|ns| ns as f64 / 1e6).collect();
    rtts.sort_by(f64::total_cmp);
    rtts
}

fn lost(measured: &Measured) -> usize {
    probes(measured).iter().filter(|probe| probe.loss >= 1.0).count()
}

#[test]
fn ping_stamps_are_of_answers_and_missing_numbers_are_losses() {
    let ping = measured("ping-D.txt");
    assert_eq!((ping.format, probes(&ping).len(), lost(&ping)), (Format::Ping, 20, 2));
    assert_eq!(ping.notes, ["20 sent, 2 lost, 1 duplicates, 1 out of order"]);
    for (index, probe) in probes(&ping).iter().enumerate() {
        assert_eq!(probe.sent, 1_700_000_000_000_000_000 + index as i64 * 200_000_000, "{index}");
    }
    let rtts = rtts(&ping);
    assert_eq!((rtts[rtts.len() / 2], rtts.last()), (42.0, Some(&290.0)));
    // Sequence numbers of 16 bits wrap.
    let wrapped = "[1.1] 64 bytes from x: icmp_seq=65535 ttl=1 time=1 ms\n\
                   [2.1] 64 bytes from x: icmp_seq=1 ttl=1 time=1 ms\n";
    let wrapped = read("wrapped", wrapped.into(), None).unwrap();
    assert_eq!((probes(&wrapped).len(), lost(&wrapped)), (3, 1));
}

#[test]
fn minus_one_is_a_loss_and_no_delay() {
    let table = measured("ping-times.tsv");
    assert_eq!((table.format, probes(&table).len(), lost(&table)), (Format::PingTable, 20, 2));
    let rtts = rtts(&table);
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    assert!((mean - 41.944).abs() < 0.001, "{mean}");
}

#[test]
fn irtt_says_where_packets_were_lost_and_how_delays_change() {
    let irtt = measured("irtt.json");
    assert_eq!(irtt.format, Format::Irtt);
    assert_eq!(irtt.notes, ["5 sent, 2 answered, lost up 1, down 1, unknown 1"]);
    assert_eq!(rtts(&irtt), [36.0, 40.0]);
    let one_way: Vec<(i64, i64)> = probes(&irtt).iter().filter_map(|probe| probe.one_way).collect();
    assert_eq!(one_way, [(10_502_000_000, -10_466_000_000), (10_506_000_000, -10_466_000_000)]);
}

#[test]
fn an_error_of_atlas_is_no_loss() {
    let atlas = measured("atlas-ping.json");
    let Content::Quantiles { rtts_ms, sent, lost } = &atlas.content else { panic!("{atlas:?}") };
    assert_eq!((rtts_ms.as_slice(), sent, lost), (&[38.2, 40.0, 36.0, 37.0, 38.0][..], &8, &3));
    assert!(atlas.notes[0].contains("9 sent, 5 answered, 3 lost, 1 not sent"), "{:?}", atlas.notes);
}

#[test]
fn telemetry_is_a_table_or_a_ring() {
    let table = measured("grpc-bulk-history.csv");
    let mean = probes(&table).iter().map(|probe| probe.loss).sum::<f64>() / 10.0;
    assert_eq!((table.format, probes(&table).len(), lost(&table)), (Format::Dish, 10, 1));
    assert!((mean - 0.115).abs() < 1e-9, "{mean}");
    assert_eq!(probes(&table).iter().filter(|probe| probe.loss > 0.0).count(), 3);
    let ring = measured("grpc-history.json");
    let order: Vec<Option<f64>> =
        probes(&ring).iter().map(|probe| probe.rtt.map(|ns| ns as f64 / 1e6)).collect();
    let expected = [Some(32.0), Some(33.0), None, Some(35.0), Some(36.0), Some(37.0)];
    assert_eq!(order, expected, "the latency beside complete loss is an old one");
}

#[test]
fn packets_have_a_rate_and_a_delay() {
    let udp = measured("udp-owd.csv");
    assert_eq!(udp.format, Format::UdpRecords);
    assert!(udp.notes[0].contains("10 sent in 0.001 s, 1 lost, one-way delay 20.00 to 20.09 ms"));
    let Content::Rates { bins, delays_ms, direction } = &udp.content else { panic!("{udp:?}") };
    assert_eq!((bins.len(), delays_ms.as_slice(), *direction), (1, &[Some(20.0)][..], None));
}

#[test]
fn mahimahi_has_opportunities_and_leoreplayer_delays() {
    let trace = measured("rate.trace");
    let Content::Opportunities(millis) = &trace.content else { panic!("{trace:?}") };
    assert_eq!((millis.len(), millis.last()), (30, Some(&40)));
    assert!(trace.notes[0].contains("9.000 Mbps"), "{:?}", trace.notes);
    let delay = measured("delay-10ms.txt");
    let Content::Delays { step_ms: 10, delays_ms } = &delay.content else { panic!("{delay:?}") };
    assert_eq!(delays_ms.iter().copied().fold(0.0, f64::max), 45.0);
}

#[test]
fn iperf3_counts_payload_and_a_direction() {
    let tcp = measured("iperf3-tcp.json");
    let Content::Rates { bins, direction, .. } = &tcp.content else { panic!("{tcp:?}") };
    assert_eq!(*direction, Some(Direction::Up));
    let expected = [8e6, 1e7, 6e6].map(|bps: f64| (bps * (1.0 + 52.0 / 1388.0)).round());
    let found: Vec<f64> = bins.iter().map(|bin| bin.bps.round()).collect();
    assert_eq!(found, expected);
    assert!(tcp.notes[0].starts_with("8.000 Mbps of payload, up"), "{:?}", tcp.notes);
    assert!(tcp.notes[1].starts_with("3 retransmissions; a rate of TCP is a lower bound"));
    let udp = measured("iperf3-udp.json");
    let Content::Rates { bins, direction, .. } = &udp.content else { panic!("{udp:?}") };
    assert_eq!(*direction, Some(Direction::Down));
    assert_eq!(bins.iter().map(|bin| bin.bps.round()).collect::<Vec<_>>(), [7.14e6, 5.712e6, 0.0]);
    assert!(udp.notes[1].contains("1875 packets sent, 750 lost"), "{:?}", udp.notes);
}

#[test]
fn each_format_damaged_by_a_line_is_refused_with_its_line() {
    for (name, at, damage) in [
        ("ping-D.txt", 3, "[1700000000.2x2000] 64 bytes from x: icmp_seq=2 ttl=5 time=42.0 ms"),
        ("ping-D.txt", 3, "64 bytes from 192.0.2.1: icmp_seq=2 ttl=52 time=42.0 ms"),
        ("ping-D.txt", 4, "[1700000000.443000] 64 bytes from x: icmp_seq=3 ttl=52 time=-3 ms"),
        ("ping-D.txt", 5, "drwxr-xr-x 2 root root"),
        ("ping-D.txt", 5, "[1700000000.643000 64 bytes from x: icmp_seq=4 ttl=52 time=42.0 ms"),
        ("ping-times.tsv", 7, "1700000001.1\t8"),
        ("ping-times.tsv", 7, "1700000001.1\t8\tNaN"),
        ("ping-times.tsv", 7, "1700000001.1\t8.5\t41"),
        ("irtt.json", 29, "   \"lost\": \"maybe\","),
        ("irtt.json", 22, "  \"packets_received\" 2"),
        ("atlas-ping.json", 20, "    \"rtt\": \"38.2\""),
        ("atlas-ping.json", 9, "  \"sent\": -3,"),
        ("grpc-bulk-history.csv", 4, "2023-11-14T22:13:22+00:00,0,31.0"),
        ("grpc-bulk-history.csv", 4, "2023-11-14T22:13:22+00:00,1.5,31.0,1,1,,,"),
        ("grpc-bulk-history.csv", 4, "2023-11-14T22:13:21+00:00,0,31.0,1,1,,,"),
        ("grpc-bulk-history.csv", 4, "22:13:22,0,31.0,1,1,,,"),
        ("grpc-history.json", 7, "   -,"),
        ("udp-owd.csv", 5, "3,2023-11-14T22:13:20.0Z,2023-11-14T22:13:20.1Z,20.0,1400,no"),
        ("udp-owd.csv", 5, "3,2023-11-14T22:13:20.0Z,yesterday,20.0,1400,false"),
        ("udp-owd.csv", 5, "3,,,"),
        ("rate.trace", 9, "3"),
        ("rate.trace", 9, "x"),
        ("delay-10ms.txt", 2, "-20"),
        ("iperf3-tcp.json", 9, "   \"timesecs\": \"now\""),
        ("iperf3-udp.json", 27, "     \"start\" 0,"),
    ] {
        let mut lines: Vec<String> = text(name).lines().map(str::to_owned).collect();
        damage.clone_into(&mut lines[at - 1]);
        let format = measured(name).format;
        let error = read(name, lines.join("\n").into(), Some(format));
        match error {
            Err(ImportError::Line { file, line, problem }) => {
                // A parser of JSON stops at the first character that it does not expect.
                let near = if name.ends_with("json") { at..=at + 1 } else { at..=at };
                assert!(near.contains(&line), "{name}, {damage}: line {line}: {problem}");
                assert_eq!(file, name);
                assert!(problem.contains("allowed: "), "{name}, {damage}: {problem}");
            }
            other => panic!("{name}, {damage}: {other:?}"),
        }
    }
}

#[test]
fn other_files_are_refused_with_what_would_help() {
    for (bytes, words) in [
        (&b"\xd4\xc3\xb2\xa1\x02\0"[..], "bentpipe explain FILE --scenario"),
        (b"{\"qlog_version\": \"0.3\"}", "bentpipe explain FILE --scenario"),
        (b"PAR1\0\0", "as CSV with the header of starlink-grpc-tools"),
        (b"", "empty"),
        (b"time_s,delay_ms\n0,1\n", "a recording already"),
        (b"root:$y$secret:1\n", "allowed: ping, ping-table, irtt"),
        (b"PING x\n\xff\xfe\n", "line 2: this is no line of ping"),
        (b"timestamp,rtt\n\xff\xfe\n", "line 2: it is no text"),
        (b"{\"a\": 1}", "its format is none that is known"),
    ] {
        let error = read("f", bytes.to_vec(), None).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("secret"), "{error}");
    }
}

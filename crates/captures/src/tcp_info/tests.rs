use super::*;
use bentpipe_units::{Bytes, Rate};
use proptest::prelude::*;

/// Returns two lines of a socket that a receive window of 64 kB holds back.
fn socket_lines(acked: u64, busy: u64, limited: u64) -> String {
    format!(
        "ESTAB 0      2760192     192.0.2.1:36210    192.0.2.2:443  timer:(persist,164ms,0)\n\
         \t ts sack cubic wscale:10,10 rto:804 rtt:600.5/0.6 mss:1448 pmtu:1500 rcvmss:536 \
         advmss:1448 cwnd:40 ssthresh:20 bytes_sent:{sent} bytes_retrans:14480 bytes_acked:{acked} \
         segs_out:12 send 771619bps lastsnd:40 pacing_rate 2011142bps delivery_rate 873000bps \
         delivered:11 busy:{busy}ms rwnd_limited:{limited}ms(95.0%) retrans:1/10 dsack_dups:2 \
         rcv_space:14480 notsent:2760192 minrtt:599.75 snd_wnd:65535\n",
        sent = acked + 14_480,
    )
}

const HEADER: &str = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n";

/// Returns a log of two samples, 2.5 s apart, with times in a form.
fn log(first: &str, second: &str) -> String {
    let [one, other] = [socket_lines(1000, 900, 800), socket_lines(301_000, 3_300, 3_100)];
    format!("{first}{HEADER}{one}{second}{HEADER}{other}")
}

fn parse(text: &str) -> TcpInfoLog {
    assert!(TcpInfoLog::is_log(text.as_bytes()), "{text}");
    TcpInfoLog::parse(text.as_bytes()).unwrap()
}

#[test]
fn a_log_says_what_held_the_sender_back() {
    let log = parse(&log("1795892400.250000000\n", "1795892402.750000000\n"));
    let [socket] = &log.sockets[..] else { panic!("{log:?}") };
    assert_eq!((socket.local.as_str(), socket.peer.as_str()), ("192.0.2.1:36210", "192.0.2.2:443"));
    let ms = Span::from_millis;
    let expected = TcpInfoSummary {
        duration: Some(ms(2500)),
        acked: Bytes::new(300_000),
        busy: Some(ms(2400)),
        rwnd_limited: ms(2300),
        min_rtt: Some(Span::from_micros(599_750)),
        largest_rtt: Some(Span::from_micros(600_500)),
        largest_window: Some(Bytes::new(40 * 1448)),
        largest_peer_window: Some(Bytes::new(65_535)),
        delivery_rate: Some(Rate::from_bps(873_000)),
        samples: 2,
        ..TcpInfoSummary::default()
    };
    let summary = socket.summary();
    assert_eq!(summary, expected);
    assert_eq!((summary.window_limited(), summary.idle()), (Some(ms(100)), Some(ms(100))));
    assert!(log.notes.is_empty(), "{:?}", log.notes);
    let sample = &socket.samples[0];
    assert_eq!((sample.congestion.as_deref(), sample.retransmissions), (Some("cubic"), Some(10)));
    let queue = Bytes::new(2_760_192);
    assert_eq!((sample.send_queue, sample.not_sent), (queue, Some(queue)));
}

#[test]
fn times_are_read_as_date_and_ts_write_them() {
    for (first, second) in [
        ("2026-11-28T19:00:00.250+00:00\n", "2026-11-28T19:00:02,750000000+00:00\n"),
        ("2026-11-28 23:59:59.5\n", "2026-11-29 00:00:02\n"),
        ("=== 23:59:59.500 ===\n", "=== 00:00:02.000 ===\n"),
        ("Sat Nov 28 19:00:00.0 UTC 2026\n", "Sat Nov 28 19:00:02.5 UTC 2026\n"),
        ("Sat Nov 28 12:59:59 PM UTC 2026\n", "Sat Nov 28 01:00:01.5 PM UTC 2026\n"),
        ("11:59:58 AM\n", "12:00:00.5 PM\n"),
        ("Sat 28 Nov 19:00:00.0 CET 2026\n", "Sat 28 Nov 19:00:02.5 CET 2026\n"),
        ("# 1795892400.25\r\n", "# 1795892402.75\r\n"),
    ] {
        let log = parse(&log(first, second));
        let summary = log.sockets[0].summary();
        assert_eq!(summary.duration, Some(Span::from_millis(2500)), "{first}");
    }
    let prefix = |time: &str, text: String| {
        text.lines().map(|line| format!("{time} {line}\n")).collect::<String>()
    };
    for (first, second) in [
        ("Nov 28 19:00:00.5", "Nov 28 19:00:03"),
        ("1795892400.5", "1795892403.0"),
        ("19:00:00.5", "19:00:03"),
    ] {
        let one = prefix(first, socket_lines(1000, 900, 800));
        let other = prefix(second, socket_lines(301_000, 3300, 3100));
        let log = parse(&format!("{one}{other}"));
        let summary = log.sockets[0].summary();
        assert_eq!(summary.duration, Some(Span::from_millis(2500)), "{first}");
        assert_eq!(summary.acked, Bytes::new(300_000), "{first}");
    }
}

#[test]
fn a_log_without_times_says_what_is_missing() {
    let log = parse(&log("", ""));
    assert_eq!(log.sockets[0].summary().duration, None);
    assert_eq!(log.sockets[0].summary().acked, Bytes::new(300_000));
    assert!(log.notes[0].contains("date +%s.%N"), "{:?}", log.notes);
}

#[test]
fn one_sample_counts_since_the_socket_was_opened() {
    // With `-O`, a socket has one line; with `state established`, no state.
    let text = socket_lines(5000, 700, 0).replace('\n', " ").replace("ESTAB ", "");
    let log = parse(&text);
    let summary = log.sockets[0].summary();
    assert_eq!((summary.acked, summary.retransmissions), (Bytes::new(5000), 10));
    assert_eq!((summary.repeated, summary.spurious), (Bytes::new(14_480), 2));
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let text = [socket_lines(9000, 900, 0), socket_lines(10, 1, 0), socket_lines(510, 51, 0)];
    let summary = parse(&text.concat()).sockets[0].summary();
    assert_eq!((summary.acked, summary.samples), (Bytes::new(500), 2));
}

#[test]
fn rates_of_old_versions_and_of_the_application_are_told_apart() {
    let text = "ESTAB 0 0 192.0.2.1:1 192.0.2.2:2\n\t cubic rto:204 rtt:1/0.5 mss:1000 cwnd:10 \
                delivery_rate 28.8Mbps app_limited\nESTAB 0 0 192.0.2.1:1 192.0.2.2:2\n\t cubic \
                rto:204 rtt:1/0.5 mss:1000 cwnd:10 delivery_rate 1.5Mbps\n";
    let log = parse(text);
    let summary = log.sockets[0].summary();
    assert_eq!(summary.delivery_rate, Some(Rate::from_bps(1_500_000)));
    assert_eq!((summary.app_limited_samples, summary.samples), (1, 2));
    assert!(log.notes[1].contains("busy"), "{:?}", log.notes);
}

#[test]
fn other_files_are_refused_and_the_number_of_samples_is_bounded() {
    let error = TcpInfoLog::parse(HEADER.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("`cwnd`") && error.contains("allowed: output of `ss"), "{error}");
    assert!(!TcpInfoLog::is_log(b"root:x:0:0"));
    let log = parse(&socket_lines(1, 1, 1).repeat(MAX_SAMPLES + 1));
    assert_eq!(log.sockets[0].samples.len(), MAX_SAMPLES);
    assert!(log.notes[1].contains("was not read"), "{:?}", log.notes);
}

proptest! {
    #[test]
    fn hostile_logs_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
    ) {
        let mut bytes = log("Sat Nov 28 19:00:00 UTC 2026\n", "19:00:02\n").into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(log) = TcpInfoLog::parse(&bytes) {
            for socket in &log.sockets {
                let summary = socket.summary();
                prop_assert!(summary.samples > 0);
                let _ = (summary.window_limited(), summary.idle());
            }
        }
    }

    #[test]
    fn any_line_may_begin_with_a_time(line in "[ -~é]{0,40}") {
        let (_, rest) = split_time(&line);
        prop_assert!(rest.len() <= line.len());
    }
}

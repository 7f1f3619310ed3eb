//! Invalid keys of transports: HTTP, TCP, QUIC and resumption.

use crate::scenarios::{Case, HEAD, WORK, after, case, variant};

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    vec![
        case(
            "HTTP/3 over TCP",
            variant("transport = \"tcp\"\nhttp = \"h3\""),
            9,
            &["`h1`, `h2`, `raw`", "tcp"],
        ),
        case(
            "HTTP/2 over QUIC",
            variant("transport = \"quic\"\nhttp = \"h2\""),
            9,
            &["`h3`, `raw`", "quic"],
        ),
        case(
            "zero connections",
            variant("http = \"h1\"\ntcp.connections = 0"),
            9,
            &["`connections` of 0", "1 to 64"],
        ),
        case(
            "unknown receive windows",
            variant("http = \"h2\"\nflow_control.preset = \"lynx\""),
            9,
            &["`lynx`", "chrome, firefox"],
        ),
        case(
            "a packet threshold below that of the RFC",
            variant("quic.packet_threshold = 2"),
            8,
            &["a packet threshold of 2", "at least 3"],
        ),
        case(
            "a time threshold within an RTT",
            variant("quic.time_threshold = 0.5"),
            8,
            &["`time_threshold` of 0.5", "1 to 1000"],
        ),
        case(
            "a key of QUIC over TCP",
            variant("transport = \"tcp\"\nquic.initial_rtt = \"100 ms\""),
            9,
            &[
                "`quic.initial_rtt` has no effect over TCP with http = \"h2\"",
                "transport = \"quic\"",
            ],
        ),
        case(
            "a key of TCP over QUIC",
            after("[defaults]\ntcp.ecn = true\n"),
            11,
            &["`tcp.ecn` has no effect over QUIC", "transport = \"tcp\""],
        ),
        case(
            "HTTP/2 with several connections",
            variant("http = \"h2\"\ntcp.connections = 2"),
            9,
            &["`tcp.connections` has no effect over TCP with http = \"h2\"", "http = \"h1\""],
        ),
        case(
            "a nested key without its table",
            variant("pacing = false"),
            8,
            &["unknown key `pacing`", "did you mean `quic.pacing`"],
        ),
        case(
            "a transport key in the workload",
            format!("{HEAD}profile = \"geo-50-10\"\n{WORK}congestion = \"cubic\"\n"),
            6,
            &["unknown key `congestion`", "`download`"],
        ),
        case(
            "0-RTT on a first visit",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\n\
                 visits = [{{ download = \"1 MB\", handshake = \"0rtt\" }}]\n"
            ),
            5,
            &["no ticket", "allowed: `1rtt`"],
        ),
        case(
            "an unknown resume state",
            after("[defaults]\nquic.resume_state = \"cookie\"\n"),
            11,
            &["cookie", "server", "token"],
        ),
        case(
            "an unknown controller",
            after("[defaults]\ncongestion = \"bbr9\"\n"),
            11,
            &["unknown congestion controller `bbr9`", "allowed: newreno, cubic"],
        ),
        case(
            "an unknown handshake",
            after("[defaults]\nhandshake = \"2rtt\"\n"),
            11,
            &["`2rtt`", "`1rtt` or `0rtt`"],
        ),
        case(
            "an invalid ACK ratio",
            after("[defaults]\nack = \"1:0\"\n"),
            11,
            &["`1:0`", "allowed: \"stack\", \"1:N\""],
        ),
        case(
            "an empty window",
            after("[defaults]\nflow_control.stream_window = \"0 BDP\"\n"),
            11,
            &["`0 BDP`", "allowed: `auto`", "2 BDP"],
        ),
    ]
}

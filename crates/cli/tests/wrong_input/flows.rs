//! Invalid flows and workloads.

use crate::scenarios::{Case, HEAD, case, flows, variant};

const PROBE: &str = "probe = { interval = \"1 s\", duration = \"1 s\"";
/// A probe on the connection of flow `a`.
const ON_A: &str = "[[flow]]\nname = \"b\"\nprobe = { interval = \"1 s\", duration = \"1 s\", \
                    on = \"a\" }\n";

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    vec![
        case(
            "an object after a later one",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\nobjects = [\n\
                 {{ name = \"a\", size = \"1 kB\", after = [\"b\"] }},\n\
                 {{ name = \"b\", size = \"1 kB\" }},\n]\n"
            ),
            6,
            &["`b`", "object above this one"],
        ),
        case(
            "an empty page",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\nweb_page = 0\n"),
            5,
            &["`web_page` of 0", "1 to 1000"],
        ),
        case(
            "a page as a text",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\nweb_page = \"60\"\n"),
            5,
            &["a number of objects from 1 to 1000", "{ har = \"page.har\" }"],
        ),
        case(
            "a page with names over TLS",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\n\
                 web_page = {{ har = \"page.har\", dns = \"dot\" }}\n"
            ),
            5,
            &["`dot`", "`udp`", "`doh`"],
        ),
        case(
            "a resolver for known names",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\n\
                 web_page = {{ har = \"page.har\", dns = \"none\", resolver_rtt = \"9 ms\" }}\n"
            ),
            5,
            &["`resolver_rtt` has no effect", "dns = \"udp\" or \"doh\""],
        ),
        case(
            "a page without a file",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\nweb_page = {{ har = \"none.har\" }}\n"
            ),
            4,
            &["none.har"],
        ),
        case(
            "priorities of HTTP/1.1",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\nweb_page = 5\n\
                 [defaults]\nhttp = \"h1\"\nhttp_priorities = \"rfc9218\"\n"
            ),
            8,
            &["`http_priorities` has no effect over TCP with http = \"h1\"", "http = \"h2\""],
        ),
        case(
            "a duration of zero",
            flows("a", "bulk.duration = \"0 s\""),
            6,
            &["`duration` is 0 ns", "above 0 s"],
        ),
        case(
            "a duration beyond the time limit",
            flows("a", "bulk.duration = \"2 h\""),
            6,
            &["2 h", "time_limit", "up to"],
        ),
        case(
            "two workloads",
            flows("a", "bulk.duration = \"1 s\"\ndownload = \"1 MB\""),
            4,
            &["`download`, `bulk` exclude each other", "allowed: one of"],
        ),
        case(
            "a workload and visits",
            flows("a", "download = \"1 MB\"\nvisits = [{ download = \"1 MB\" }]"),
            4,
            &["`download` and `visits` exclude each other"],
        ),
        case(
            "datagrams in a visit",
            flows("a", "visits = [{ ping = { interval = \"1 s\", duration = \"1 s\" } }]"),
            6,
            &["`ping` has no visits", "`download`"],
        ),
        case(
            "calls of two kinds in visits",
            flows(
                "a",
                "visits = [{ call = { duration = \"1 s\", framing = \"datagrams\" } }, \
                 { call = { duration = \"1 s\", framing = \"datagrams\", audio = \"8 kbps\" } }]",
            ),
            6,
            &["not the same call", "differ in `duration` alone"],
        ),
        case(
            "a call beside a download in visits",
            flows(
                "a",
                "visits = [{ download = \"1 MB\" }, \
                 { call = { duration = \"1 s\", framing = \"datagrams\" } }]",
            ),
            6,
            &["not the same call", "a flow of its own"],
        ),
        case(
            "a probe on no flow",
            flows("a", &format!("{PROBE}, on = \"b\" }}")),
            6,
            &["no other flow is named `b`", "none"],
        ),
        case(
            "a probe on itself",
            flows("a", &format!("{PROBE}, on = \"a\" }}")),
            6,
            &["no other flow is named `a`"],
        ),
        case(
            "a probe on datagrams",
            format!("{}{ON_A}", flows("a", "ping = { interval = \"1 s\", duration = \"1 s\" }")),
            9,
            &["`a` takes no requests", "over QUIC", "HTTP/2"],
        ),
        case(
            "a probe on a call over QUIC",
            format!(
                "{}{ON_A}",
                flows("a", "call = { duration = \"1 s\", framing = \"datagrams\" }")
            ),
            9,
            &["`a` takes no requests", "other than `call`"],
        ),
        case(
            "a probe on an upload over TCP",
            format!("{}{ON_A}", flows("a", "upload = \"1 MB\"\ntransport = \"tcp\"")),
            10,
            &["`a` takes no requests", "downloads over HTTP/2"],
        ),
        case(
            "keystrokes over QUIC",
            format!("{}transport = \"quic\"\n", flows("a", &format!("{PROBE}, echo = true }}"))),
            7,
            &["keystrokes and echoes go over TCP", "`transport = \"tcp\"`"],
        ),
        case(
            "keystrokes over HTTP",
            format!("{}http = \"h2\"\n", flows("a", &format!("{PROBE}, echo = true }}"))),
            7,
            &["do not use HTTP", "`http = \"raw\"`"],
        ),
        case(
            "keystrokes on another connection",
            format!(
                "{}{}",
                flows("b", "download = \"1 MB\""),
                format_args!("[[flow]]\nname = \"a\"\n{PROBE}, on = \"b\", echo = true }}\n")
            ),
            9,
            &["a connection of their own", "one of `on` and `echo = true`"],
        ),
        case(
            "keystrokes beside a download in visits",
            flows(
                "a",
                &format!("visits = [{{ download = \"1 MB\" }}, {{ {PROBE}, echo = true }} }}]"),
            ),
            6,
            &["a visit has keystrokes", "a flow of its own"],
        ),
        case(
            "a probe with a start of its own",
            format!("{}{ON_A}start_time = \"1 s\"\n", flows("a", "download = \"1 MB\"")),
            9,
            &["`start_time` has no effect", "`start_time` of `a`"],
        ),
        case(
            "a direction without objects",
            flows("a", "download = \"1 MB\"\ndirection = \"upload\""),
            7,
            &["`direction` belongs to `objects`"],
        ),
        case(
            "datagrams without a rate",
            flows("a", "cbr = { duration = \"1 s\" }"),
            6,
            &["missing key `rate`"],
        ),
        case(
            "datagrams without an end",
            flows("a", "cbr = { rate = \"1 Mbps\" }"),
            6,
            &["missing key `duration`"],
        ),
        case(
            "datagrams and a download",
            flows("a", "cbr = { rate = \"1 Mbps\", duration = \"1 s\" }\ndownload = \"1 MB\""),
            4,
            &["`download`, `cbr` exclude each other"],
        ),
        case(
            "datagrams with a controller",
            flows("a", "cbr = { rate = \"1 Mbps\", duration = \"1 s\" }\ncongestion = \"cubic\""),
            7,
            &["`congestion` has no effect over cbr", "transport = \"quic\" or transport = \"tcp\""],
        ),
        case(
            "datagrams with keys of a transport",
            flows("a", "quic.pacing = false\nping = { interval = \"1 s\", duration = \"1 s\" }"),
            6,
            &["`quic.pacing` has no effect over ping", "transport = \"quic\""],
        ),
        case(
            "bursts without pauses",
            flows("a", "cbr = { rate = \"1 Mbps\", duration = \"1 s\", on = \"1 s\" }"),
            6,
            &["`on` needs `off`", "allowed: both"],
        ),
        case(
            "bursts too short to draw",
            flows(
                "a",
                "cbr = { rate = \"1 Mbps\", duration = \"1 s\", on = \"1 s\", off = \"1 us\" }",
            ),
            6,
            &["`off` of 1 us", "1 ms or longer"],
        ),
        case(
            "empty packets",
            flows("a", "cbr = { rate = \"1 Mbps\", duration = \"1 s\", packet = \"28 B\" }"),
            6,
            &["28 B", "29 B to 65535 B"],
        ),
        case(
            "a call with a controller",
            flows("a", "call = { duration = \"1 s\" }\ncongestion = \"cubic\""),
            7,
            &["`congestion` has no effect over call"],
        ),
        case(
            "video that is sent for longer than a frame",
            flows(
                "a",
                "call = { duration = \"1 s\", video = { rate = \"1 Mbps\", pacing = \"1 s\" } }",
            ),
            6,
            &["`pacing` of 1 s", "to 33.333333 ms"],
        ),
        case(
            "adaptive video with bitrates in no order",
            flows("a", "abr = { duration = \"8 s\", ladder = [\"2 Mbps\", \"1 Mbps\"] }"),
            6,
            &["2 Mbps before 1 Mbps", "ascending"],
        ),
        case(
            "a ping without an interval",
            flows("a", "ping = { duration = \"1 s\" }"),
            6,
            &["missing key `interval`"],
        ),
        case(
            "a ping in one direction",
            flows("a", "ping = { interval = \"1 s\", duration = \"1 s\", direction = \"upload\" }"),
            6,
            &["unknown key `direction`"],
        ),
        case(
            "programs without a command",
            flows("a", "external = { size = \"1 MB\", server = \"true\" }"),
            6,
            &["`external` needs `client`"],
        ),
        case(
            "commands without a program",
            variant("external.server = \"true\""),
            8,
            &["`external` has no effect here", "`external.size`"],
        ),
        case(
            "a reserved flow name",
            flows("all", "download = \"1 MB\""),
            5,
            &["all flows together"],
        ),
        case(
            "a flow at an unknown hop",
            flows("a", "download = \"1 MB\"\nfrom_hop = \"x\""),
            7,
            &["`x` here", "allowed: a path of [[path.hop]] tables"],
        ),
        case(
            "a flow at a hop of a contact plan",
            format!(
                "{HEAD}contacts = {{ file = \"plan\", from = \"a\", to = \"b\" }}\n[[flow]]\n\
                 name = \"a\"\ndownload = \"1 MB\"\nfrom_hop = \"1-a-b\"\n"
            ),
            7,
            &["`1-a-b` here", "`bentpipe contacts --path` prints"],
        ),
        case(
            "no transfer",
            format!("{HEAD}profile = \"geo-50-10\"\n"),
            1,
            &["transfers nothing", "allowed: a [workload]"],
        ),
        case(
            "an empty transfer",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"0 MB\"\n"),
            5,
            &["0 B", "allowed: a size above 0 B"],
        ),
        case(
            "two transfers in one flow",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n\
                 upload = \"1 MB\"\n"
            ),
            4,
            &["`download`, `upload` exclude each other", "allowed: one of"],
        ),
    ]
}

//! Invalid paths: profiles, hops, links, and proxies on them.

use crate::scenarios::{Case, HEAD, WORK, case, path, variant};

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    vec![
        case(
            "a gateway without a hop behind it",
            variant("http = \"h2\"\ntcp.pep = \"gateway\""),
            9,
            &["between the hop `access` and the server", "allowed: a [[path.hop]] after it"],
        ),
        case(
            "an empty filter",
            variant("http = \"h2\"\ntcp.pep = \"filter\""),
            9,
            &["`ack_filter` in [path.pep]"],
        ),
        case(
            "a light time to an unknown body",
            path("light_time = { bodies = [\"earth\", \"marz\"], at = \"2027-02-20T00:00:00Z\" }"),
            3,
            &["no body is named `marz`", "did you mean `mars`"],
        ),
        case(
            "a light time between the Moon and Mars",
            path("light_time = { bodies = [\"moon\", \"mars\"], at = \"2027-02-20T00:00:00Z\" }"),
            3,
            &["Moon and Mars", "allowed: Earth and the Moon, or Earth and Mars"],
        ),
        case(
            "a light time that runs beyond the ephemeris",
            path("light_time = { bodies = [\"earth\", \"mars\"], at = \"2049-12-31T23:30:00Z\" }"),
            3,
            &["2050-01-01", "allowed: 1970 to 2049"],
        ),
        case(
            "a light time beside an RTT",
            path(
                "rtt = \"1 s\"\n\
                 light_time = { bodies = [\"earth\", \"mars\"], at = \"2027-02-20T00:00:00Z\" }",
            ),
            3,
            &["`light_time` sets the delay", "allowed: one of them"],
        ),
        case(
            "a proxy at an unknown hop",
            path("pep = { hop = \"sea\" }"),
            3,
            &["`sea`", "`access`"],
        ),
        case(
            "more constant capacity than available",
            path("terminals = 4\nreturn = { capacity_allocation = { cra = \"3 Mbps\" } }"),
            4,
            &[
                "cra = 3 Mbps for each of 4 terminals",
                "the 10 Mbps that they share",
                "up to 2.5 Mbps",
            ],
        ),
        case(
            "an unknown allocation",
            path("return = { capacity_allocation = \"ondemand\" }"),
            3,
            &["`ondemand`", "none, dama, dama-free, cra"],
        ),
        case(
            "frames together with an allocation",
            path("return = { capacity_allocation = \"dama\", frame = \"20 ms\" }"),
            3,
            &["frame = 20 ms", "its own frames"],
        ),
        case(
            "an initial fade that no MODCOD supports",
            path(
                "forward = { rate = { acm = { symbol_rate = \"10 MBd\", modcods = \"dvb-s2\", \
                 clear_sky_esn0 = \"-3 dB\", fade = [{ at = \"0 s\", attenuation_db = 0 }] } } }",
            ),
            3,
            &["clear_sky_esn0 = -3 dB", "QPSK 1/4", "-1.85 dB or more"],
        ),
        case(
            "a wrong unit",
            path("forward = { rate = \"50 ms\" }"),
            3,
            &["`50 ms`", "wrong unit `ms`", "Gbps, Mbps, kbps, bps"],
        ),
        case("a number without a unit", path("rtt = 600"), 3, &["600", "a span of time such as"]),
        case(
            "a rate of zero",
            path("forward = { rate = \"0 Mbps\" }"),
            3,
            &["`0 Mbps`", "allowed: a rate above zero"],
        ),
        case(
            "a negative rate",
            path("forward = { rate = \"-5 Mbps\" }"),
            3,
            &["`-5 Mbps`", "allowed: 0 to 9000 Tbps"],
        ),
        case(
            "a loss above one",
            path("forward = { loss = 1.5 }"),
            3,
            &["`1.5`", "allowed: 0 to 1"],
        ),
        case(
            "an unknown loss preset",
            path("forward = { loss = \"wird\" }"),
            3,
            &["`wird`", "allowed:", "wired"],
        ),
        case(
            "an empty queue",
            path("return = { queue = \"0 packets\" }"),
            3,
            &["`0 packets`", "allowed: \"1 BDP\", \"500 kB\""],
        ),
        case(
            "a missing trace",
            path("forward = { rate = { trace = \"nowhere.trace\" } }"),
            3,
            &["nowhere.trace", "No such file"],
        ),
        case(
            "an unknown profile",
            format!("{HEAD}profile = \"geo-50-11\"\n{WORK}"),
            3,
            &["`geo-50-11`", "allowed: `geo-10-2`", "did you mean `geo-50-10`"],
        ),
        case(
            "no rate and no profile",
            format!("{HEAD}forward = {{ delay = \"1 ms\" }}\n{WORK}"),
            3,
            &["no `rate`", "allowed: rate = \"50 Mbps\", or a `profile`"],
        ),
        case(
            "rtt together with a delay",
            path("rtt = \"600 ms\"\nforward = { delay = \"1 ms\" }"),
            3,
            &["forward.delay", "allowed: one of the two"],
        ),
        case(
            "an mtu below QUIC's",
            path("mtu = \"600 B\""),
            3,
            &["600 B", "allowed: 1228 B to 65535 B"],
        ),
    ]
}

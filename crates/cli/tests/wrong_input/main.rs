//! Wrong input: exit status 2, the place, what is allowed, nothing on standard output, and no
//! directory left behind.

mod orbits;

use orbits::{elements, of_orbits};
use std::path::Path;
use std::process::{Command, Output};

const HEAD: &str = "name = \"wrong\"\n[path]\n";
const WORK: &str = "[workload]\ndownload = \"1 MB\"\n";

/// A scenario that is wrong in one way.
struct Case {
    what: &'static str,
    text: String,
    /// The line of the file that the message names.
    line: usize,
    /// Parts of the message: the value given, and what is allowed.
    says: &'static [&'static str],
}

fn case(
    what: &'static str,
    text: impl Into<String>,
    line: usize,
    says: &'static [&'static str],
) -> Case {
    Case { what, text: text.into(), line, says }
}

/// A path with `line` in it, as line 3 of the file.
fn path(line: &str) -> String {
    format!("{HEAD}{line}\nprofile = \"geo-50-10\"\n{WORK}")
}

/// A good scenario (9 lines) with `more` after it, from line 10 on.
fn after(more: &str) -> String {
    format!(
        "{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n[[variant]]\nname \
            = \"a\"\n[sweep]\n\"workload.download\" = [\"1 MB\", \"2 MB\"]\n{more}"
    )
}

/// A good scenario over one hop (5 lines), with a variant of `keys` from line 6 on.
fn variant(keys: &str) -> String {
    format!("{HEAD}profile = \"geo-50-10\"\n{WORK}[[variant]]\nname = \"a\"\n{keys}\n")
}

/// A good path with an orbit and `line` in it, as line 6 of the file.
fn orbit(line: &str) -> String {
    format!(
        "{HEAD}[path.orbit]\nconstellation = \"iridium\"\nlinks.all = {{ rate = \"1 Mbps\" \
            }}\n{line}\n[workload]\nfrom = \"Tokyo\"\nto = \"Osaka\"\ndownload = \"1 MB\"\n"
    )
}

/// The same with a station of `keys`, from line 7 on.
fn station(keys: &str) -> String {
    orbit(&format!("[[path.orbit.station]]\nname = \"here\"\n{keys}"))
}

/// A path and a flow with `keys`, from line 6 on.
fn flows(name: &str, keys: &str) -> String {
    format!("{HEAD}profile = \"geo-50-10\"\n[[flow]]\nname = \"{name}\"\n{keys}\n")
}

fn cases() -> Vec<Case> {
    let mut cases = of_orbits();
    cases.extend(of_hops());
    cases
}

/// A line of two-line elements with its checksum: the sum of its digits, a minus counting one.
fn checked(line: &str) -> String {
    let value = |c: char| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) };
    format!("{line}{}\n", line.chars().map(value).sum::<u32>() % 10)
}

fn of_hops() -> Vec<Case> {
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
            "no connections",
            variant("http = \"h1\"\ntcp.connections = 0"),
            9,
            &["`connections` of 0", "1 to 64"],
        ),
        case(
            "unknown windows",
            variant("http = \"h2\"\nflow_control.preset = \"lynx\""),
            9,
            &["`lynx`", "chrome, firefox"],
        ),
        case(
            "a gateway without a hop behind it",
            variant("http = \"h2\"\ntcp.pep = \"gateway\""),
            9,
            &["between the hop `access` and the server", "allowed: a [[path.hop]] after it"],
        ),
        case(
            "a filter that holds nothing",
            variant("http = \"h2\"\ntcp.pep = \"filter\""),
            9,
            &["`ack_filter` in [path.pep]"],
        ),
        case("a proxy at no hop", path("pep = { hop = \"sea\" }"), 3, &["`sea`", "`access`"]),
        case(
            "more constant capacity than there is",
            path("terminals = 4\nreturn = { capacity_allocation = { cra = \"3 Mbps\" } }"),
            4,
            &[
                "cra = 3 Mbps for each of 4 terminals",
                "the 10 Mbps that they share",
                "up to 2.5 Mbps",
            ],
        ),
        case(
            "an allocation of no name",
            path("return = { capacity_allocation = \"ondemand\" }"),
            3,
            &["`ondemand`", "none, dama, dama-free, cra"],
        ),
        case(
            "frames beside an allocation",
            path("return = { capacity_allocation = \"dama\", frame = \"20 ms\" }"),
            3,
            &["frame = 20 ms", "frames of its own"],
        ),
        case(
            "a fade beyond what any MODCOD bears from the start",
            path(
                "forward = { rate = { acm = { symbol_rate = \"10 MBd\", modcods = \"dvb-s2\", clear_sky_esn0 = \"-3 dB\", fade = [{ at = \"0 s\", attenuation_db = 0 }] } } }",
            ),
            3,
            &["clear_sky_esn0 = -3 dB", "QPSK 1/4", "-1.85 dB or more"],
        ),
        case(
            "an object after one that comes later",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\nobjects = [\n{{ name = \"a\", size \
                    = \"1 kB\", after = [\"b\"] }},\n{{ name = \"b\", size = \"1 kB\" }},\n]\n"
            ),
            6,
            &["`b`", "object above this one"],
        ),
        case(
            "a page of nothing",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\nweb_page = 0\n"),
            5,
            &["`web_page` of 0", "1 to 1000"],
        ),
        case(
            "a duration of zero",
            flows("a", "bulk.duration = \"0 s\""),
            6,
            &["`duration` of 0 ns", "above 0 s"],
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
            "datagrams with keys of every kind of transport",
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
            "packets that hold nothing",
            flows("a", "cbr = { rate = \"1 Mbps\", duration = \"1 s\", packet = \"28 B\" }"),
            6,
            &["28 B", "29 B to 65535 B"],
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
            "commands of no program",
            variant("external.server = \"true\""),
            8,
            &["`external` has no effect here", "`external.size`"],
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
            "connections of HTTP/2",
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
            "a flow named as all of them",
            flows("all", "download = \"1 MB\""),
            5,
            &["all flows together"],
        ),
        case(
            "hops that are none",
            flows("a", "download = \"1 MB\"\nfrom_hop = \"x\""),
            7,
            &["`x`", "hop"],
        ),
        case(
            "fairness of one flow",
            after("[[expect]]\nmetric = \"jain\"\nflow = \"main\"\nabove = 0.5\n"),
            12,
            &["`main`", "allowed: `all`"],
        ),
        case(
            "completion of all flows",
            after("[[expect]]\nmetric = \"completion_s\"\nflow = \"all\"\nabove = 0.5\n"),
            11,
            &["metric of all flows together", "`jain`"],
        ),
        case("text that is no TOML", "name = \"wrong\"\npath = [\n", 2, &["array"]),
        case(
            "an unknown key",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\ndownlod = \"1 MB\"\n"),
            5,
            &["unknown key `downlod`", "allowed:", "`download`", "did you mean `download`"],
        ),
        case(
            "an unknown table",
            after("[worklod]\nx = 1\n"),
            10,
            &["unknown key `worklod`", "`workload`"],
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
            "a queue of nothing",
            path("return = { queue = \"0 packets\" }"),
            3,
            &["`0 packets`", "allowed: \"1 BDP\", \"500 kB\""],
        ),
        case(
            "a trace that is missing",
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
            "rtt beside a delay",
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
        case("a name that is no name", "name = \"My Scenario\"\n", 1, &["missing key `path`"]),
        case(
            "a name with a slash",
            format!("name = \"../up\"\n[path]\nprofile = \"geo-50-10\"\n{WORK}"),
            1,
            &["`../up`", "allowed: 1 to 64 lower-case letters"],
        ),
        case(
            "no run at all",
            format!("name = \"wrong\"\nrepeat = 0\n[path]\nprofile = \"geo-50-10\"\n{WORK}"),
            2,
            &["`repeat` of 0", "allowed: 1 to 100000"],
        ),
        case(
            "a time limit of nothing",
            format!(
                "name = \"wrong\"\ntime_limit = \"0 s\"\n[path]\nprofile = \"geo-50-10\"\n{WORK}"
            ),
            2,
            &["`time_limit`", "allowed: above 0 s"],
        ),
        case(
            "nothing to transfer",
            format!("{HEAD}profile = \"geo-50-10\"\n"),
            1,
            &["transfers nothing", "allowed: a [workload]"],
        ),
        case(
            "a transfer of nothing",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"0 MB\"\n"),
            5,
            &["0 B", "allowed: a size above 0 B"],
        ),
        case(
            "two transfers in one",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\nupload = \"1 \
                    MB\"\n"
            ),
            4,
            &["`download`, `upload` exclude each other", "allowed: one of"],
        ),
        case(
            "0-RTT on a first visit",
            format!(
                "{HEAD}profile = \"geo-50-10\"\n[workload]\nvisits = [{{ download = \"1 MB\", \
                    handshake = \"0rtt\" }}]\n"
            ),
            5,
            &["no ticket", "allowed: `1rtt`"],
        ),
        case(
            "an unknown place to remember paths",
            after("[defaults]\nquic.resume_state = \"cookie\"\n"),
            11,
            &["cookie", "server", "token"],
        ),
        case(
            "an unknown controller",
            after("[defaults]\ncongestion = \"bbr9\"\n"),
            11,
            &["`bbr9` is no congestion controller", "allowed: newreno, cubic"],
        ),
        case(
            "an unknown handshake",
            after("[defaults]\nhandshake = \"2rtt\"\n"),
            11,
            &["`2rtt`", "`1rtt` or `0rtt`"],
        ),
        case(
            "an ACK ratio of none",
            after("[defaults]\nack = \"1:0\"\n"),
            11,
            &["`1:0`", "allowed: \"stack\", \"1:N\""],
        ),
        case(
            "a window of nothing",
            after("[defaults]\nflow_control.stream_window = \"0 BDP\"\n"),
            11,
            &["`0 BDP`", "allowed: `auto`", "2 BDP"],
        ),
        case(
            "a duplicate variant",
            after("[[variant]]\nname = \"a\"\n"),
            11,
            &["a variant named `a` already exists", "allowed: each name once"],
        ),
        case(
            "a sweep of an unknown key",
            after("\"workload.downlod\" = [\"1 MB\"]\n"),
            10,
            &["unknown key `downlod`", "did you mean `download`"],
        ),
        case(
            "a sweep of an unknown variant",
            after("\"variant.b.congestion\" = [\"cubic\"]\n"),
            10,
            &["no variant is named `b`", "allowed: `a`"],
        ),
        case(
            "a sweep of what cannot be swept",
            after("\"seed\" = [1, 2]\n"),
            10,
            &["`seed` cannot be swept", "allowed are paths that begin with `path`"],
        ),
        case(
            "a sweep over nothing",
            after("\"time_limit\" = []\n"),
            10,
            &["`time_limit` must be swept over a list of one or more values"],
        ),
        case(
            "a sweep with a wrong value",
            after("\"path.forward.rate\" = [\"10 Mbps\",\n  \"10 MBps\"]\n"),
            11,
            &["`10 MBps`", "Gbps, Mbps, kbps, bps"],
        ),
        case(
            "an expectation of no variant",
            after("[[expect]]\nmetric = \"completion_s\"\nvariant = \"b\"\nbelow = 1\n"),
            12,
            &["no variant is named `b`", "allowed: `a`"],
        ),
        case(
            "an expectation of no metric",
            after("[[expect]]\nmetric = \"completion\"\nbelow = 1\n"),
            11,
            &["no metric is named `completion`", "allowed: `completion_s`"],
        ),
        case(
            "an expectation of no layer",
            after("[[expect]]\nmetric = \"reverse_bytes.syn\"\nbelow = 1\n"),
            11,
            &["no metric is named `reverse_bytes.syn`", "`reverse_bytes.ip`"],
        ),
        case(
            "an expectation without a condition",
            after("[[expect]]\nmetric = \"completion_s\"\n"),
            10,
            &["nothing is expected", "allowed: `below`, `above` or both"],
        ),
        case(
            "an expectation at no point",
            after(
                "[[expect]]\nmetric = \"completion_s\"\nbelow = 1\npoint = \
                    { \"workload.download\" = \"3 MB\" }\n",
            ),
            13,
            &["never `3 MB`", "allowed: `1 MB`, `2 MB`"],
        ),
        case(
            "a published figure at an unknown key",
            after(
                "[[published]]\nlabel = \"x\"\nkind = \"measured\"\nmetric \
                    = \"completion_s\"\npoint = { \"path.profile\" = \"x\" }\nvalue = 1\nsource \
                    = \"x\"\n",
            ),
            14,
            &["no swept key is named `path.profile`", "allowed: `workload.download`"],
        ),
        case(
            "a capture of no hop",
            after("[output]\ncapture = \"nowhere\"\n"),
            11,
            &["no hop is named `nowhere`", "allowed: `access`"],
        ),
    ]
}

fn bentpipe(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .args(args)
        .output()
        .expect("the command runs")
}

/// What is wrong with how the input was refused: status 2, every part of the message, nothing on
/// standard output, no panic, and no directory.
fn complaints(what: &str, directory: &Path, output: &Output, says: &[&str]) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut found = Vec::new();
    if output.status.code() != Some(2) {
        found.push(format!("status {:?}", output.status.code()));
    }
    if stderr.contains("panicked") {
        found.push("a panic".to_owned());
    }
    found.extend(
        says.iter()
            .filter(|part| !stderr.contains(**part))
            .map(|part| format!("the message lacks `{part}`")),
    );
    if !output.stdout.is_empty() {
        found.push("something on standard output".to_owned());
    }
    if directory.join("out").exists() {
        found.push("a directory left behind".to_owned());
    }
    found.into_iter().map(|complaint| format!("{what}: {complaint}\n{stderr}")).collect()
}

/// Command lines that are wrong, with parts of their messages. There is no line to name.
const COMMAND_LINES: [(&str, &[&str], &[&str]); 19] = [
    ("ways of no scenario", &["orbit", "kuiper-631"], &["cannot read kuiper-631", "No such file"]),
    ("a constellation without ends", &["orbit", "iridium"], &["allowed: --from PLACE --to PLACE"]),
    (
        "ways to no city",
        &["orbit", "iridium", "--from", "Tokio", "--to", "Osaka"],
        &["`Tokio`", "Tokyo"],
    ),
    (
        "ways over hops",
        &["orbit", "good.toml"],
        &["has no orbit", "allowed: one with [path.orbit]"],
    ),
    (
        "a report of no run",
        &["report", "."],
        &["manifest.json", "allowed: a directory that `bentpipe run` wrote"],
    ),
    (
        "an unknown controller to tell of",
        &["controllers", "bbr9"],
        &[
            "`bbr9` is no controller, slow-start algorithm or resumption",
            "allowed: newreno, cubic",
            "long-path",
            "careful",
        ],
    ),
    (
        "a scenario that is missing",
        &["run", "none.toml"],
        &["cannot read none.toml", "No such file"],
    ),
    (
        "an output below a file",
        &["run", "good.toml", "--out", "good.toml/below"],
        &["cannot write good.toml/below", "allowed: a directory that is new"],
    ),
    (
        "an output that is a file",
        &["run", "good.toml", "--out", "good.toml"],
        &["it exists and is not a directory", "allowed: a directory that is new"],
    ),
    (
        "an output in /proc",
        &["run", "good.toml", "--out", "/proc/bentpipe"],
        &["cannot write /proc/bentpipe", "allowed: a directory that is new"],
    ),
    (
        "an output that holds something else",
        &["run", "good.toml", "--out", "."],
        &["cannot write", "allowed:"],
    ),
    (
        "--set of an unknown key",
        &["run", "good.toml", "--set", "workload.downlod=1 MB"],
        &["--set workload.downlod=1 MB", "unknown key `downlod`", "did you mean `download`"],
    ),
    (
        "--set of an unknown variant",
        &["run", "good.toml", "--set", "variant.b.congestion=cubic"],
        &["no variant is named `b`", "allowed: `a`"],
    ),
    (
        "--set with a wrong unit",
        &["run", "good.toml", "--set", "path.rtt=600 Mbps"],
        &["`600 Mbps`", "h, min, s, ms, us, ns"],
    ),
    (
        "--set without a value",
        &["run", "good.toml", "--set", "seed"],
        &["key=value", "workload.download"],
    ),
    (
        "--set into a value",
        &["run", "good.toml", "--set", "name.x=1"],
        &["`name` is a string", "set `name` itself"],
    ),
    (
        "--repeat of none",
        &["run", "good.toml", "--repeat", "0"],
        &["--repeat", "allowed: 1 to 100000"],
    ),
    ("--jobs of none", &["run", "good.toml", "--jobs", "0"], &["--jobs", "0"]),
    (
        "the same scenario twice",
        &["run", "good.toml", "good.toml"],
        &["two scenarios are named `wrong`", "allowed: each name once"],
    ),
];

#[test]
fn wrong_input_is_refused_with_its_line_and_what_is_allowed() {
    let place = tempfile::tempdir().expect("a directory");
    let mut found = Vec::new();
    for (name, text) in elements() {
        std::fs::write(place.path().join(name), text).expect("the elements");
    }
    for case in cases() {
        std::fs::write(place.path().join("wrong.toml"), &case.text).expect("the scenario");
        let output = bentpipe(place.path(), &["run", "wrong.toml"]);
        let line = format!("wrong.toml:{}:", case.line);
        let says: Vec<&str> = case.says.iter().copied().chain([line.as_str()]).collect();
        found.extend(complaints(case.what, place.path(), &output, &says));
    }
    std::fs::write(place.path().join("good.toml"), after("")).expect("the scenario");
    for (what, args, says) in COMMAND_LINES {
        found.extend(complaints(what, place.path(), &bentpipe(place.path(), args), says));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let mut names: Vec<_> = std::fs::read_dir(place.path())
        .expect("the directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["down.tle", "good.toml", "short.tle", "wrong.tle", "wrong.toml"],
        "nothing else was left"
    );
}

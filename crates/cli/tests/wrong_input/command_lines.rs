//! Invalid command lines.

/// Invalid command lines: title, arguments, and parts of the message.
pub const COMMAND_LINES: [(&str, &[&str], &[&str]); 24] = [
    (
        "orbit of a missing scenario",
        &["orbit", "kuiper-631"],
        &["cannot read kuiper-631", "No such file", "`bentpipe constellations`"],
    ),
    (
        "orbit of a constellation without ends",
        &["orbit", "iridium"],
        &["allowed: --from PLACE --to PLACE"],
    ),
    (
        "orbit from an unknown city",
        &["orbit", "iridium", "--from", "Tokio", "--to", "Osaka"],
        &["`Tokio`", "Tokyo"],
    ),
    (
        "orbit of a path of hops",
        &["orbit", "good.toml"],
        &["has no orbit", "allowed: a scenario with [path.orbit]"],
    ),
    (
        "a report of a directory without a run",
        &["report", "."],
        &["manifest.json", "allowed: a directory that `bentpipe run` wrote"],
    ),
    (
        "details of an unknown controller",
        &["controllers", "bbr9"],
        &[
            "`bbr9` is not a controller, slow-start algorithm, loss filter or",
            "allowed: newreno, cubic",
            "long-path",
            "careful",
        ],
    ),
    (
        "an explanation of nothing",
        &["explain", "none"],
        &["cannot read none: No such file", "allowed: a directory", "qlog file", "capture"],
    ),
    (
        "a studio of nothing",
        &["studio", "none", "--no-open"],
        &["none: it is not a directory", "allowed: one with scenarios"],
    ),
    (
        "no parallel runs",
        &["run", "good.toml", "--jobs", "0"],
        &["'0' for '--jobs <N>': allowed: at least 1"],
    ),
    (
        "a port without an address",
        &["serve", ".", "--listen", "4433"],
        &["'4433' for '--listen <ADDR:PORT>': allowed:", "such as 127.0.0.1:4433"],
    ),
    (
        "a URL without a scheme",
        &["get", "localhost/file"],
        &["`localhost/file` is not a URL", "allowed: https://HOST[:PORT]/PATH"],
    ),
    ("a missing scenario", &["run", "none.toml"], &["cannot read none.toml", "No such file"]),
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
        "an output directory with other files",
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
        "--repeat of zero",
        &["run", "good.toml", "--repeat", "0"],
        &["--repeat", "allowed: 1 to 100000"],
    ),
    ("--jobs of zero", &["run", "good.toml", "--jobs", "0"], &["--jobs", "0"]),
    (
        "the same scenario twice",
        &["run", "good.toml", "good.toml"],
        &["two scenarios are named `wrong`", "allowed: each name once"],
    ),
];

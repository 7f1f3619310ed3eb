//! Files of other kinds, with the way in which they can be used.

use crate::error::Fault;

const PCAP: [&[u8]; 5] = [
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x0a, 0x0d, 0x0d, 0x0a],
];

const CAPTURE: &str = "it is a capture; allowed: `bentpipe explain FILE --scenario NEW.toml`, \
    which makes a scenario of one";
const PARQUET: &str = "it is a Parquet file; allowed: its columns @timestamp, pop_ping_drop_rate, \
    pop_ping_latency_ms, downlink_throughput_bps and uplink_throughput_bps as CSV with the header \
    of starlink-grpc-tools";
const DATABASE: &str = "it is a database of SQLite; allowed: its history as CSV: sqlite3 -csv \
    -header FILE \"select strftime('%Y-%m-%dT%H:%M:%S', time, 'unixepoch') as \
    datetimestamp_utc, pop_ping_drop_rate, pop_ping_latency_ms from history\"";
const ARCHIVE: &str = "it is an archive; allowed: the files in it";

/// Refuses files that are no text, and empty ones.
pub fn bytes(bytes: &[u8]) -> Result<(), Fault> {
    let begins = |magic: &[u8]| bytes.starts_with(magic);
    let problem = if PCAP.iter().any(|magic| begins(magic)) {
        CAPTURE
    } else if begins(b"PAR1") {
        PARQUET
    } else if begins(b"SQLite format 3\0") {
        DATABASE
    } else if begins(b"PK\x03\x04") || bytes.get(257..262) == Some(b"ustar") {
        ARCHIVE
    } else if bytes.iter().all(u8::is_ascii_whitespace) {
        "it is empty; allowed: a measurement"
    } else {
        return Ok(());
    };
    Err(Fault::whole(problem))
}

/// Beginnings of texts that other programs, or the same ones without an option, write.
const TEXTS: [(&str, &str); 8] = [
    ("Connecting to host", "it is the text of iperf3; allowed: its JSON (`iperf3 -J`)"),
    ("Server listening on", "it is the text of iperf3; allowed: its JSON (`iperf3 -J`)"),
    ("Client connecting to", "it is the text of iperf 2; allowed: JSON of iperf3 (`iperf3 -J`)"),
    ("[Connecting]", "it is the text of irtt; allowed: its JSON (`irtt client -o FILE.json HOST`)"),
    ("traceroute to", "it is a traceroute; allowed: pings (`ping -D HOST`)"),
    ("Tracing route to", "it is a traceroute; allowed: pings (`ping HOST`)"),
    ("Start: ", "it is a report of mtr; allowed: pings (`ping -D HOST`)"),
    ("iperf3: error", "iperf3 has failed; allowed: the JSON of a test that ran (`iperf3 -J`)"),
];

/// Refuses texts of other kinds.
pub fn text(look: &str) -> Result<(), Fault> {
    for (start, problem) in TEXTS {
        let dashes = look.trim_start_matches(['-', '\r', '\n', ' ']);
        if look.starts_with(start) || dashes.starts_with(start) {
            return Err(Fault::at(1, problem));
        }
    }
    let first = look.lines().next().unwrap_or_default();
    let header = |name: &str| first.contains(name);
    if first.contains(';') && (header("timestamp;") || header("datetimestamp_utc;")) {
        let problem = "its fields are between semicolons; allowed: commas, and points in numbers";
        return Err(Fault::at(1, problem));
    }
    // Rows of starlink-grpc-tools, whose program writes the header only if it is asked to.
    let fields: Vec<&str> = first.trim().split(',').collect();
    let number = |text: &&str| text.is_empty() || text.parse::<f64>().is_ok();
    if fields.len() >= 3
        && bentpipe_captures::seconds_of_iso(fields[0]).is_some()
        && fields[1..3].iter().all(number)
    {
        let problem = "its columns have no names; allowed: the header above them, which \
            `dish_grpc_text.py -H bulk_history` writes";
        return Err(Fault::at(1, problem));
    }
    Ok(())
}

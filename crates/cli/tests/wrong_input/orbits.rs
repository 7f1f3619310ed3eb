//! Invalid input about orbits: constellations, stations, elements, and flows between them.

use crate::scenarios::{Case, case, orbit, path, station};

/// Elements with a wrong checksum, truncated ones, and those of a satellite with so much drag that
/// it has decayed by 2030.
pub fn elements() -> [(&'static str, String); 3] {
    let line = |drag: &str| {
        with_checksum(&format!(
            "1 25544U 98067A   08264.51782528 -.00002182  00000-0 {drag} 0  292"
        ))
    };
    let second =
        with_checksum("2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.7212539156353");
    let first = line("-11606-4");
    let wrong = first.replace("98067A", "98068A");
    [
        ("wrong.tle", format!("ISS (ZARYA)\n{wrong}{second}")),
        ("short.tle", format!("ISS (ZARYA)\n{first}")),
        ("down.tle", format!("DOWN\n{}{second}", line(" 50000-1"))),
    ]
}

/// Appends the checksum to a line of two-line elements: the sum of its digits, with 1 for a minus.
fn with_checksum(line: &str) -> String {
    let value = |c: char| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) };
    format!("{line}{}\n", line.chars().map(value).sum::<u32>() % 10)
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    let stations = |text: &str| orbit("").replace("\"Tokyo\"", text);
    vec![
        case("an unknown city", stations("\"Tokio\""), 8, &["`Tokio`", "Tokyo"]),
        case(
            "a flow without ends",
            orbit("").replace("from = \"Tokyo\"\n", ""),
            7,
            &["allowed: `from`", "and `to`"],
        ),
        case("a flow to itself", stations("\"Osaka\""), 9, &["`Osaka` to itself", "two places"]),
        case(
            "a city without an orbit",
            path("").replace("download", "from = \"Tokyo\"\ndownload"),
            6,
            &["`Tokyo` has no effect", "with [path.orbit]"],
        ),
        case(
            "an unknown constellation",
            orbit("").replace("iridium", "iridum"),
            4,
            &["`iridum`", "iridium"],
        ),
        case(
            "an orbit together with a profile",
            path("orbit = { constellation = \"iridium\" }"),
            4,
            &["`path.profile`", "either hops or an orbit"],
        ),
        case(
            "no satellites",
            orbit("").replace("constellation = \"iridium\"", ""),
            3,
            &["no satellite", "`constellation`, or a [[path.orbit.shell]]"],
        ),
        case(
            "links without a rate",
            orbit("").replace("links.all", "links.isl"),
            3,
            &["`up` have no rate", "path.orbit.links.up"],
        ),
        case(
            "links of an unknown shell",
            orbit("links.shell.iridum.up.rate = \"1 Mbps\""),
            6,
            &["no shell `iridum`", "allowed: `iridium`"],
        ),
        case(
            "a delay of a shell's links",
            orbit("links.shell.iridium.up = { delay = \"1 ms\" }"),
            6,
            &["positions of their ends determine"],
        ),
        case(
            "a link with a delay",
            orbit("links.up = { delay = \"1 ms\" }"),
            6,
            &["positions of their ends determine", "allowed: `rate`, `queue`"],
        ),
        case(
            "allocation in a satellite network",
            orbit("links.up = { capacity_allocation = \"dama\" }"),
            6,
            &["cannot be allocated", "no terminals", "allowed: `rate`, `queue`"],
        ),
        case(
            "an unknown pattern",
            orbit("isl = \"mesh\""),
            6,
            &["`mesh`", "`+grid`, `intra-plane`, `none`"],
        ),
        case(
            "a link of an unknown satellite",
            orbit("isl = [[\"iridium-0-0\", \"iridium-0-99\"]]"),
            6,
            &["`iridium-0-99`"],
        ),
        case(
            "a zero range",
            orbit("max_isl_length = \"0 km\""),
            6,
            &["`max_isl_length` of 0 mm", "allowed: 1 km to"],
        ),
        case(
            "a range in miles",
            orbit("max_isl_length = \"3000 mi\""),
            6,
            &["`3000 mi`", "km, m, mm"],
        ),
        case("a zero step", orbit("step = \"0 s\""), 6, &["`step` is 0 ns", "above 0 s"]),
        case(
            "an invalid date",
            orbit("epoch = \"2024-02-30T00:00:00Z\""),
            6,
            &["`2024-02-30T00:00:00Z`", "RFC 3339"],
        ),
        case(
            "start_window without a random start",
            orbit("start_window = \"1 h\""),
            6,
            &["at = \"random\"", "allowed only beside it"],
        ),
        case(
            "an elevation below the horizon",
            orbit("min_elevation_deg = -5"),
            6,
            &["`min_elevation_deg` of -5", "0 to 90"],
        ),
        case(
            "an outage without handovers",
            orbit("handover_outage = \"80 ms\""),
            6,
            &["has no handovers", "`satellite_selection` `highest`"],
        ),
        case(
            "an unknown selection",
            orbit("satellite_selection = \"best\""),
            6,
            &["`best`", "`all`", "`slots`"],
        ),
        case(
            "an unknown satellite to avoid",
            orbit("avoid = [\"iridium-0-0\", \"nobody\"]"),
            6,
            &["`nobody`"],
        ),
        case(
            "an unknown response to path changes",
            orbit("").replace(
                "download = \"1 MB\"",
                "download = \"1 MB\"\n[[variant]]\nname = \"a\"\npath_change_response = \"some\"",
            ),
            13,
            &["`some`", "`drain`"],
        ),
        case(
            "latitude beyond the pole",
            station("latitude_deg = 91\nlongitude_deg = 0"),
            8,
            &["`latitude_deg` of 91", "-90 to 90"],
        ),
        case(
            "half a position",
            station("latitude_deg = 9"),
            6,
            &["the position of this station is missing", "`latitude_deg` and `longitude_deg`"],
        ),
        case(
            "two places",
            station("city = \"Paris\"\nlatitude_deg = 9"),
            8,
            &["exclude each other"],
        ),
        case(
            "a shell without a height",
            orbit("").replace(
                "constellation = \"iridium\"",
                "shell = [{ name = \"s\", planes = 1, per_plane = 1, inclination_deg = 53 }]",
            ),
            4,
            &["no height", "one of `altitude`, `mean_motion_rev_per_day`"],
        ),
        case(
            "an empty shell",
            orbit("").replace(
                "constellation = \"iridium\"",
                "shell = [{ name = \"s\", planes = 0, per_plane = 1, inclination_deg = 53, \
                 altitude = \"550 km\" }]",
            ),
            4,
            &["0", "allowed"],
        ),
        case(
            "missing elements",
            orbit("").replace("\"iridium\"", "{ tle = \"nowhere.tle\" }"),
            4,
            &["nowhere.tle", "No such file"],
        ),
        case(
            "elements with a wrong checksum",
            orbit("").replace("\"iridium\"", "{ tle = \"wrong.tle\" }"),
            4,
            &["wrong.tle: line 2", "checksum"],
        ),
        case(
            "truncated elements",
            orbit("").replace("\"iridium\"", "{ tle = \"short.tle\" }"),
            4,
            &["short.tle: line 2"],
        ),
        case(
            "decayed satellites",
            orbit("epoch = \"2030-01-01T00:00:00Z\"")
                .replace("\"iridium\"", "{ tle = \"down.tle\" }"),
            4,
            &["DOWN"],
        ),
        case(
            "a proxy over an orbit",
            orbit("").replace(
                "download",
                "download = \"1 MB\"\n[[variant]]\nname = \"a\"\nhttp = \"h2\"\n\
                 tcp.pep = \"gateway\"\n#",
            ),
            14,
            &["no hop for a proxy", "allowed: tcp.pep = \"none\""],
        ),
        case(
            "a capture over an orbit",
            orbit("").replace("download", "download = \"1 MB\"\n[output]\ncapture = \"access\"\n#"),
            12,
            &["a path with an orbit has none"],
        ),
    ]
}

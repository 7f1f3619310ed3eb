use super::*;
use proptest::prelude::*;

/// The International Space Station, CelesTrak, July 2020 (the example in the propagator's
/// documentation).
const ISS: &str = "ISS (ZARYA)
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
";
const OMM: &str = r#"{
    "OBJECT_NAME": "VANGUARD 1", "OBJECT_ID": "1958-002B", "EPOCH": "2025-02-14T14:36:48.662784", "MEAN_MOTION": 10.85873516,
    "ECCENTRICITY": 0.1841322, "INCLINATION": 34.2493, "RA_OF_ASC_NODE": 19.2327, "ARG_OF_PERICENTER": 100.1057,
    "MEAN_ANOMALY": 281.1229, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U", "NORAD_CAT_ID": 5, "ELEMENT_SET_NO": 999,
    "REV_AT_EPOCH": 39027, "BSTAR": 0.00035436, "MEAN_MOTION_DOT": 2.64e-6, "MEAN_MOTION_DDOT": 0
}"#;

fn parse(text: &str) -> Result<Vec<Elements>, OrbitError> {
    read(text, ElementsFormat::detect(text))
}

/// Returns line and text of the error for `text`.
fn error(text: &str) -> (usize, String) {
    match parse(text) {
        Err(OrbitError::Elements { line, reason }) => (line, reason),
        other => panic!("{other:?}"),
    }
}

/// Returns a line with the correct checksum.
fn with_checksum(line: &str) -> String {
    let body = &line[..68];
    format!("{body}{}", tle::checksum(body))
}

#[test]
fn two_and_three_lines_comments_blank_lines_and_all_line_ends_are_read() {
    let bare: String = ISS.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let texts = [
        (ISS.to_owned(), "ISS (ZARYA)"),
        (bare.clone(), "NORAD 25544"),
        (format!("0 {ISS}"), "ISS (ZARYA)"),
        (format!("# a comment\r\n\r\n{}", ISS.replace('\n', "   \r\n")), "ISS (ZARYA)"),
        (format!("\u{feff}{}", ISS.trim_end()), "ISS (ZARYA)"),
    ];
    for (text, name) in texts {
        let found = parse(&text).unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, name), "{text:?}");
        assert_eq!(found[0].elements.norad_id, 25544);
        assert!((found[0].elements.inclination - 51.6461).abs() < 1e-12);
    }
}

#[test]
fn a_wrong_checksum_is_reported_with_the_computed_one() {
    let (line, reason) = error(&ISS.replace("236008", "236003"));
    assert_eq!(line, 3);
    assert!(reason.contains("instead of 8") && reason.contains("`3`"), "{reason}");
    let (line, reason) = error(&ISS.replace("236008", "23600X"));
    assert!(line == 3 && reason.contains("`X`"), "{reason}");
}

#[test]
fn fields_without_effect_on_the_orbit_may_be_blank() {
    let full = parse(ISS).unwrap().remove(0).elements;
    let lines: Vec<&str> = ISS.lines().collect();
    for (which, columns) in
        [(1, 8..=8), (1, 34..=43), (1, 45..=52), (1, 63..=63), (1, 65..=68), (2, 64..=68)]
    {
        let mut text = lines.clone();
        let mut blank = text[which].to_owned();
        blank.replace_range(
            columns.start() - 1..*columns.end(),
            &" ".repeat(columns.clone().count()),
        );
        let blank = with_checksum(&blank);
        text[which] = &blank;
        let read = parse(&text.join("\n"))
            .unwrap_or_else(|error| panic!("{columns:?}: {error}"))
            .remove(0);
        assert_eq!(read.elements.datetime, full.datetime);
        assert_eq!(read.elements.mean_anomaly, full.mean_anomaly);
        assert_eq!(read.elements.drag_term, full.drag_term);
    }
    // The mean motion has an effect.
    let blank = with_checksum(&lines[2].replacen("15.49507896", "           ", 1));
    let (line, reason) = error(&format!("{}\n{blank}\n", lines[1]));
    assert!(line == 2 && reason.contains("columns 53 to 63"), "{line}: {reason}");
}

#[test]
fn truncated_lines_and_tabs_are_reported() {
    let (line, reason) = error(&ISS.replace("0  9992", "0  999"));
    assert!(line == 2 && reason.contains("68 characters instead of 69"), "{reason}");
    let (line, reason) = error(&ISS.replace("98067A   20", "98067A\t 20"));
    assert!(line == 2 && reason.contains("'\\t'"), "{reason}");
    let (line, reason) = error(&ISS.replace("15.49507896236008", "15.495078962360é8"));
    assert!(line == 3 && reason.contains("'é'"), "{reason}");
}

#[test]
fn misplaced_lines_are_named() {
    let lines: Vec<&str> = ISS.lines().collect();
    for (text, at, word) in [
        (format!("{}\n", lines[2]), 1, "without its first"),
        (format!("{}\n{}\n", lines[0], lines[1]), 2, "without its second"),
        (format!("{}\n{}\n", lines[1], lines[1]), 1, "without its second"),
        ("some text\nand more\n".into(), 1, "neither"),
        (format!("{ISS}\nleft over"), 5, "neither"),
        (String::new(), 1, "no satellite"),
        ("# only this\n".into(), 1, "no satellite"),
    ] {
        let (line, reason) = error(&text);
        assert!(line == at && reason.contains(word), "{line}: {reason}");
    }
}

#[test]
fn lines_of_different_satellites_and_invalid_numbers_are_rejected() {
    let lines: Vec<&str> = ISS.lines().collect();
    let other = with_checksum(&lines[2].replacen("25544", "25545", 1));
    let (line, reason) = error(&format!("{}\n{other}\n", lines[1]));
    assert!(
        line == 1 && reason.contains("different satellites") && reason.contains("`25545`"),
        "{reason}"
    );
    let odd = with_checksum(&lines[2].replacen("221.2784", "22l.2784", 1));
    let (line, reason) = error(&format!("{}\n{odd}\n", lines[1]));
    assert!(
        line == 2 && reason.contains("`22l.2784`") && reason.contains("columns 18 to 25"),
        "{reason}"
    );
    let impossible = with_checksum(&lines[2].replacen(" 51.6461", "251.6461", 1));
    let (_, reason) = error(&format!("{}\n{impossible}\n", lines[1]));
    assert!(reason.contains("inclination") && reason.contains("251.6461"), "{reason}");
    let standing = with_checksum(&lines[2].replacen("15.49507896", " 0.00000000", 1));
    let (_, reason) = error(&format!("{}\n{standing}\n", lines[1]));
    assert!(reason.contains("mean motion"), "{reason}");
}

#[test]
fn catalogue_numbers_beyond_99999_are_read_as_alpha_5() {
    let text: String = ISS
        .lines()
        .skip(1)
        .map(|line| with_checksum(&line.replacen("25544", "T5544", 1)) + "\n")
        .collect();
    assert_eq!(parse(&text).unwrap()[0].elements.norad_id, 275_544);
}

#[test]
fn satellites_of_one_name_are_distinguished_by_number_and_repeated_ones_rejected() {
    let other: String = ISS
        .lines()
        .skip(1)
        .map(|line| with_checksum(&line.replacen("25544", "25545", 1)) + "\n")
        .collect();
    let names: Vec<String> =
        parse(&format!("{ISS}ISS (ZARYA)\n{other}")).unwrap().into_iter().map(|e| e.name).collect();
    assert_eq!(names, ["ISS (ZARYA) (25544)", "ISS (ZARYA) (25545)"]);
    let (line, reason) = error(&format!("{ISS}{ISS}"));
    assert!(line == 5 && reason.contains("line 2"), "{line}: {reason}");
}

#[test]
fn messages_are_read_alone_and_in_lists() {
    let second = OMM.replace("VANGUARD 1", "OTHER").replace("662784\"", "662784Z\"");
    for (text, count) in
        [(OMM.to_owned(), 1), (format!(" [{OMM}]"), 1), (format!("[{OMM},\n{second}]"), 2)]
    {
        let found = parse(&text).unwrap();
        assert_eq!(found.len(), count);
        assert_eq!(found[0].name, "VANGUARD 1");
        assert!((found[count - 1].elements.mean_motion - 10.85873516).abs() < 1e-12);
    }
}

#[test]
fn a_message_needs_only_the_orbital_elements() {
    let least = r#"{"OBJECT_NAME":"A","EPOCH":"2025-02-14T14:36:48","MEAN_MOTION":15,"ECCENTRICITY":0,"INCLINATION":53,
        "RA_OF_ASC_NODE":1,"ARG_OF_PERICENTER":2,"MEAN_ANOMALY":"3","BSTAR":0}"#;
    let found = parse(least).unwrap();
    assert!((found[0].elements.mean_anomaly - 3.0).abs() < 1e-12);
}

#[test]
fn errors_in_messages_are_reported_with_line_and_reason() {
    let second = OMM.replace("\"INCLINATION\": 34.2493,", "");
    let (line, reason) = error(&format!("[\n{OMM},\n{second}\n]"));
    assert!(line == 8 && reason.contains("INCLINATION"), "{line}: {reason}");
    let (_, reason) =
        error(&OMM.replace("\"EPHEMERIS_TYPE\"", "\"REF_FRAME\": \"GCRF\", \"EPHEMERIS_TYPE\""));
    assert!(
        reason.contains("REF_FRAME") && reason.contains("GCRF") && reason.contains("TEME"),
        "{reason}"
    );
    let (_, reason) = error(&OMM.replace("0.1841322", "1.5"));
    assert!(reason.contains("eccentricity") && reason.contains("1.5"), "{reason}");
    let (_, reason) = error("[1, 2]");
    assert!(reason.contains("JSON object"), "{reason}");
    let (line, reason) = error("[\n{\n");
    assert!(line == 3 && reason.contains("no JSON"), "{line}: {reason}");
    let (_, reason) = error("[]");
    assert!(reason.contains("no satellite"), "{reason}");
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,400}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_damaged_set_panics(
        at in 0..150usize,
        put in any::<char>(),
        cut in 0..150usize,
        mend in any::<bool>(),
    ) {
        let mut text: Vec<char> = ISS.chars().collect();
        let last = text.len() - 1;
        text[at.min(last)] = put;
        text.remove(cut.min(last));
        let text: String = text.into_iter().collect();
        let mended: String = text
            .lines()
            .map(|line| {
                let mended = mend && line.len() == 69 && line.is_ascii();
                let line = if mended { with_checksum(line) } else { line.to_owned() };
                line + "\n"
            })
            .collect();
        if let Ok(constellation) = crate::Constellation::from_elements(&mended) {
            let at = bentpipe_units::Time::from_secs(100);
            if let Ok(begins) = constellation.epoch() {
                let _ = constellation.positions(begins, at, &mut Vec::new());
            }
        }
    }

    #[test]
    fn no_damaged_message_panics(at in 0..500usize, put in any::<char>()) {
        let mut text: Vec<char> = OMM.chars().collect();
        let last = text.len() - 1;
        text[at.min(last)] = put;
        let text: String = text.into_iter().collect();
        let _ = crate::Constellation::from_elements(&text);
    }
}

//! Coordinates of large cities.
//!
//! Names are English. The first hundred are the ground stations of the Hypatia study: the largest
//! agglomerations by population in 2025, in its order. Coordinates are our own: the centre of each
//! city to 0.01 degree (about 1 km), at the height of the ellipsoid.

use crate::{Geodetic, OrbitError};
use std::sync::LazyLock;

static TABLE: LazyLock<Vec<(&'static str, Geodetic)>> =
    LazyLock::new(|| include_str!("places.csv").lines().filter_map(place).collect());

/// Alternative names of cities in the table, folded.
const ALSO: [(&str, &str); 17] = [
    ("bengaluru", "Bangalore"),
    ("bombay", "Mumbai"),
    ("calcutta", "Kolkata"),
    ("chattogram", "Chittagong"),
    ("kiev", "Kyiv"),
    ("leningrad", "Saint Petersburg"),
    ("longyearbyen", "Svalbard"),
    ("madras", "Chennai"),
    ("new delhi", "Delhi"),
    ("new york city", "New York"),
    ("peking", "Beijing"),
    ("petersburg", "Saint Petersburg"),
    ("rangoon", "Yangon"),
    ("saigon", "Ho Chi Minh City"),
    ("sankt petersburg", "Saint Petersburg"),
    ("st petersburg", "Saint Petersburg"),
    ("washington dc", "Washington"),
];

/// Parses a line of the table; `None` for comments.
fn place(line: &'static str) -> Option<(&'static str, Geodetic)> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = line.split(',');
    let name = fields.next()?;
    let latitude_deg = fields.next()?.parse().ok()?;
    let longitude_deg = fields.next()?.parse().ok()?;
    Some((name, Geodetic { latitude_deg, longitude_deg, altitude_m: 0.0 }))
}

/// Returns all cities: name and position. The hundred largest agglomerations first, then cities
/// that studies use.
pub fn all() -> &'static [(&'static str, Geodetic)] {
    &TABLE
}

/// Returns the position called `name`: a city, ignoring case, accents and hyphens, or
/// `LATITUDE,LONGITUDE` in degrees north and east.
///
/// # Errors
///
/// If the name is not in the table (the error lists the most similar ones), or coordinates are out
/// of range.
pub fn find(name: &str) -> Result<Geodetic, OrbitError> {
    if let Some(place) = coordinates(name) {
        return place;
    }
    let wanted = fold(name);
    let wanted =
        ALSO.iter().find(|(also, _)| *also == wanted).map_or(wanted, |(_, known)| fold(known));
    all().iter().find(|(known, _)| fold(known) == wanted).map(|(_, place)| *place).ok_or_else(
        || OrbitError::Unknown {
            what: "place",
            name: name.to_owned(),
            help: format!(
                "{}; or coordinates such as 51.5,-0.1",
                crate::suggestions::help(name, all().iter().map(|(known, _)| *known))
            ),
        },
    )
}

/// Returns the position at `LATITUDE,LONGITUDE`; `None` if `text` is not of this form.
fn coordinates(text: &str) -> Option<Result<Geodetic, OrbitError>> {
    let (latitude, longitude) = text.split_once(',')?;
    let (latitude_deg, longitude_deg) =
        (latitude.trim().parse().ok()?, longitude.trim().parse().ok()?);
    let in_range = |degrees: f64, largest: f64| (-largest..=largest).contains(&degrees);
    if in_range(latitude_deg, 90.0) && in_range(longitude_deg, 180.0) {
        return Some(Ok(Geodetic { latitude_deg, longitude_deg, altitude_m: 0.0 }));
    }
    Some(Err(OrbitError::Value {
        what: "coordinates".to_owned(),
        value: format!("`{text}`"),
        allowed: "latitude -90 to 90, longitude -180 to 180".to_owned(),
    }))
}

/// Normalises a name for comparison: lower case, no accents, spaces for hyphens, no dots.
fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars().flat_map(char::to_lowercase) {
        match plain(c) {
            ' ' | '-' | '_' | ',' => {
                if !folded.is_empty() && !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            // A combining accent (U+0300 to U+036F) follows its letter.
            '.' | '\'' | '’' | '\u{300}'..='\u{36f}' => {}
            other => folded.push(other),
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// Returns a letter of a European Latin alphabet without its accent.
fn plain(c: char) -> char {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì'..='ï' | 'ī' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'ş' | 'š' | 'ș' => 's',
        'ť' | 'ţ' | 'ț' => 't',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_place_can_be_coordinates_in_range() {
        let place = find("51.5,-0.1").unwrap();
        assert_eq!((place.latitude_deg, place.longitude_deg), (51.5, -0.1));
        assert_eq!(find(" -33.9 , 151.2 ").unwrap().longitude_deg, 151.2);
        for wrong in ["91,0", "0,181", "NaN,0"] {
            let error = find(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("-90 to 90"), "{error}");
        }
        assert!(find("51.5").is_err() && find("a,b").is_err());
    }

    #[test]
    fn every_line_of_the_table_is_a_city_that_its_name_finds() {
        let lines =
            include_str!("places.csv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(all().len(), lines);
        for (name, place) in all() {
            assert!(
                place.latitude_deg.abs() <= 90.0 && place.longitude_deg.abs() <= 180.0,
                "{name}"
            );
            assert_eq!(find(name).unwrap(), *place, "{name}");
        }
        let names: BTreeSet<String> = all().iter().map(|(name, _)| fold(name)).collect();
        assert_eq!(names.len(), lines, "names must be unique");
        for (also, known) in ALSO {
            assert!(!names.contains(also) && names.contains(&fold(known)), "{also}");
        }
    }

    #[test]
    fn the_first_hundred_are_in_order_of_size() {
        assert_eq!((all()[0].0, all()[99].0), ("Tokyo", "Kunming"));
    }

    #[test]
    fn cities_of_studies_are_in_the_table() {
        for name in [
            "Washington",
            "Toronto",
            "Wuhan",
            "Istanbul",
            "Nairobi",
            "Manila",
            "Dalian",
            "Rio de Janeiro",
            "Saint Petersburg",
            "Paris",
            "Moscow",
            "London",
            "New York",
            "Sydney",
            "Tokyo",
            "Seattle",
            "Brussels",
        ] {
            find(name).unwrap();
        }
    }

    #[test]
    fn case_accents_and_hyphens_do_not_count() {
        for (a, b) in [
            ("sao paulo", "São Paulo"),
            ("SÃO-PAULO", "São Paulo"),
            ("Sa\u{303}o Paulo", "São Paulo"),
            ("rio-de-janeiro", "Rio de Janeiro"),
            ("  new   york ", "New York"),
            ("İstanbul", "Istanbul"),
            ("St. Petersburg", "Saint Petersburg"),
            ("Xian", "Xi'an"),
            ("Washington, D.C.", "Washington"),
        ] {
            assert_eq!(find(a).unwrap(), find(b).unwrap(), "{a}");
        }
    }

    #[test]
    fn an_unknown_name_is_rejected_with_similar_ones() {
        let error = find("Torronto").unwrap_err().to_string();
        assert!(
            error.contains("`Torronto`")
                && error.contains("`Toronto`")
                && error.contains("51.5,-0.1"),
            "{error}"
        );
        assert!(find("").is_err());
    }

    /// Distances in atlases, to 1.5 %. Swapped or mistyped coordinates would be far beyond.
    #[test]
    fn cities_are_as_far_apart_as_maps_say() {
        for (a, b, km) in [
            ("London", "New York", 5_570.0),
            ("Tokyo", "Sydney", 7_820.0),
            ("Rio de Janeiro", "Saint Petersburg", 11_280.0),
            ("Manila", "Dalian", 2_710.0),
            ("Istanbul", "Nairobi", 4_750.0),
            ("Paris", "Moscow", 2_490.0),
            ("Toronto", "Washington", 560.0),
            ("Wuhan", "Washington", 12_110.0),
        ] {
            let measured = find(a).unwrap().distance_m(find(b).unwrap()) / 1000.0;
            assert!((measured / km - 1.0).abs() < 0.015, "{a} to {b}: {measured:.0} km");
        }
    }
}

//! Content codings of files that were compressed beforehand (RFC 9110 §8.4.1 and §12.5.3).

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// A content coding, with the extension of files that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coding {
    /// Its name in Content-Encoding.
    pub name: &'static str,
    /// What it appends to the name of the file.
    pub extension: &'static str,
}

/// The codings that are served, in our order of preference: the smallest files first (RFC 7932,
/// RFC 8878, RFC 1952).
const CODINGS: [Coding; 3] = [
    Coding { name: "br", extension: ".br" },
    Coding { name: "zstd", extension: ".zst" },
    Coding { name: "gzip", extension: ".gz" },
];

/// Returns the codings that a client accepts, best first: by its own weights, then by our order.
/// Those that it likes less than uncompressed content are left out.
pub fn accepted(headers: &HeaderMap) -> Vec<Coding> {
    let identity = weight(headers, "identity").unwrap_or(0);
    let mut codings: Vec<_> = CODINGS
        .into_iter()
        .filter_map(|coding| {
            let weight = weight(headers, coding.name).or_else(|| weight(headers, "*"))?;
            (weight > 0 && weight >= identity).then_some((weight, coding))
        })
        .collect();
    // The sort is stable.
    codings.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    codings.into_iter().map(|(_, coding)| coding).collect()
}

/// Returns the weight of a coding in thousandths (RFC 9110 §12.4.2). `None` if it is not named.
fn weight(headers: &HeaderMap, coding: &str) -> Option<u16> {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next()?;
            // `x-gzip` is an old name (RFC 9110 §8.4.1.3).
            let name = if name.eq_ignore_ascii_case("x-gzip") { "gzip" } else { name };
            name.eq_ignore_ascii_case(coding).then(|| parts.next().map_or(1000, thousandths))
        })
}

/// Returns the value of `q=0.5` in thousandths. A coding with an invalid weight is not used.
fn thousandths(parameter: &str) -> u16 {
    let Some((name, value)) = parameter.split_once('=') else { return 0 };
    let (name, value) = (name.trim(), value.trim());
    match value.parse::<f32>() {
        Ok(weight) if name.eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&weight) => {
            (weight * 1000.0) as u16
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_chosen_by_weight_and_then_by_size() {
        for (header, names) in [
            ("gzip, deflate, br, zstd", &["br", "zstd", "gzip"][..]),
            ("gzip", &["gzip"]),
            ("X-GZip", &["gzip"]),
            ("br;q=0.5, gzip;q=0.8", &["gzip", "br"]),
            ("br;q=0, *", &["zstd", "gzip"]),
            ("*;q=0", &[]),
            ("gzip;q=0.3, identity;q=0.5", &[]),
            ("br;q=2, zstd;q=x, gzip;level=1", &[]),
            ("identity", &[]),
            ("", &[]),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, header.parse().unwrap())]);
            let found: Vec<_> = accepted(&headers).iter().map(|coding| coding.name).collect();
            assert_eq!(found, names, "{header}");
        }
        assert!(accepted(&HeaderMap::new()).is_empty());
    }
}

//! Suggestions for unknown names.

/// Returns the three names most similar to `name`, as a sentence for an error.
pub(crate) fn help<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let lower = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> =
        names.map(|known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match &scored[..] {
        [] => "there are none".into(),
        _ => {
            let nearest: Vec<String> =
                scored.iter().take(3).map(|(_, known)| format!("`{known}`")).collect();
            format!("nearest: {}", nearest.join(", "))
        }
    }
}

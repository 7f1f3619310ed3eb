//! Selects one case by the names of its variant and of its sweep point.

use bentpipe_results::Point;

/// Returns the variant and the whole sweep point that `variant` and `point` select from `variants`
/// and the swept keys with their values. What has one value only may be left out.
///
/// # Errors
/// Returns the option that is wrong, and the reason with what is allowed.
pub fn select_case<'a>(
    variants: &[String],
    axes: impl Iterator<Item = (&'a str, &'a [String])>,
    variant: Option<&str>,
    point: &Point,
) -> Result<(String, Point), (&'static str, String)> {
    let variant = match variant {
        Some(name) if variants.iter().any(|variant| variant == name) => name.to_owned(),
        None if variants.len() == 1 => variants[0].clone(),
        _ => {
            let given = variant.map_or("variant is not given".to_owned(), |name| {
                format!("no variant is named `{name}`")
            });
            return Err(("--variant", format!("{given}; allowed: {}", variants.join(", "))));
        }
    };
    let mut whole = Point::new();
    for (key, values) in axes {
        let value = match point.get(key) {
            Some(value) if values.contains(value) => value,
            None if values.len() == 1 => &values[0],
            given => {
                let given = given.map_or("is not given".to_owned(), |value| {
                    format!("does not have the value `{value}`")
                });
                let reason = format!("`{key}` {given}; allowed: {}", values.join(", "));
                return Err(("--point", reason));
            }
        };
        whole.insert(key.to_owned(), value.clone());
    }
    if let Some(key) = point.keys().find(|key| !whole.contains_key(*key)) {
        let keys: Vec<&str> = whole.keys().map(String::as_str).collect();
        let allowed = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
        return Err(("--point", format!("`{key}` is not swept; allowed: {allowed}")));
    }
    Ok((variant, whole))
}

//! `bentpipe cities`: lists the built-in cities.

use crate::output;
use crate::tables::{Align, Table};
use bentpipe_lab::LabError;
use bentpipe_orbit::{Geodetic, cities};

/// Lists the built-in cities, or those whose name contains `part`.
pub fn print(part: Option<&str>, as_json: bool) -> Result<u8, LabError> {
    let part = part.unwrap_or_default();
    if as_json {
        return output::document(&output::pretty(&json(part)));
    }
    let mut table = Table::new(&[
        ("city", Align::Left),
        ("latitude", Align::Right),
        ("longitude", Align::Right),
    ]);
    for (name, location) in cities_with(part) {
        table.row([
            (*name).to_owned(),
            format!("{:.3}°", location.latitude_deg),
            format!("{:.3}°", location.longitude_deg),
        ]);
    }
    output::print(&table.fitted(output::Look::stdout()))
}

/// Returns the built-in cities whose name contains `part` as JSON.
pub fn json(part: &str) -> serde_json::Value {
    let list = cities_with(part).map(|(name, location)| {
        serde_json::json!({
            "name": name,
            "latitude_deg": location.latitude_deg,
            "longitude_deg": location.longitude_deg,
        })
    });
    list.collect()
}

fn cities_with(part: &str) -> impl Iterator<Item = &'static (&'static str, Geodetic)> {
    let part = part.to_lowercase();
    cities::all().iter().filter(move |(name, _)| name.to_lowercase().contains(&part))
}

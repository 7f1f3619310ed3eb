//! `bentpipe constellations`: lists the built-in constellations.

use crate::output;
use crate::tables::{Align, Table};
use bentpipe_lab::LabError;
use bentpipe_orbit::presets;

/// Lists the built-in constellations.
pub fn print(as_json: bool) -> Result<u8, LabError> {
    if as_json {
        return output::document(&output::pretty(&json()));
    }
    let mut table = Table::new(&[
        ("constellation", Align::Left),
        ("satellites", Align::Right),
        ("min. elevation", Align::Right),
        ("max. ground link", Align::Right),
        ("description", Align::Left),
    ]);
    for (name, note) in presets::names() {
        let shells = presets::shells(name).unwrap_or_default();
        let satellites: usize = shells.iter().map(|shell| shell.satellites()).sum();
        let elevation =
            shells.iter().map(|shell| shell.min_elevation_deg).fold(f64::INFINITY, f64::min);
        let length =
            shells.iter().filter_map(|shell| shell.max_ground_link_length_m).reduce(f64::max);
        table.row([
            (*name).to_owned(),
            satellites.to_string(),
            format!("{elevation}°"),
            length.map_or_else(|| "–".to_owned(), |metres| format!("{:.1} km", metres / 1e3)),
            (*note).to_owned(),
        ]);
    }
    output::print(&table.fitted(output::Look::stdout()))
}

/// Returns the built-in constellations as JSON.
pub fn json() -> serde_json::Value {
    let list = presets::names().iter().map(|(name, note)| {
        let shells: Vec<_> = presets::shells(name)
            .unwrap_or_default()
            .iter()
            .map(|shell| {
                serde_json::json!({
                    "name": shell.name,
                    "planes": shell.planes,
                    "per_plane": shell.per_plane,
                    "inclination_deg": shell.inclination_deg,
                    "revolutions_per_day": shell.mean_motion_rev_per_day,
                    "spread_deg": shell.raan_spread_deg,
                    "min_elevation_deg": shell.min_elevation_deg,
                    "max_ground_link_length_m": shell.max_ground_link_length_m,
                })
            })
            .collect();
        serde_json::json!({ "name": name, "note": note, "shells": shells })
    });
    list.collect()
}

//! Ground stations: those that a scenario lists, and the cities that its flows and fibres name.

use bentpipe_orbit::{Geodetic, OrbitError, SatelliteSelection, Station, cities};
use bentpipe_scenario::Problem;
use bentpipe_scenario::{OrbitSection, StationSection};
use bentpipe_units::Span;
use serde_spanned::Spanned;

/// Minimum elevation, in degrees, of a station that uses no satellites.
const ZENITH_DEG: f64 = 90.0;

/// Properties of stations that set none of their own.
#[derive(Debug, Clone)]
pub(super) struct StationDefaults {
    selection: SatelliteSelection,
    min_elevation_deg: Option<f64>,
    handover_outage: Span,
}

impl StationDefaults {
    pub fn new(section: &OrbitSection) -> Self {
        Self {
            selection: section.satellite_selection.unwrap_or_default(),
            min_elevation_deg: section.min_elevation_deg.as_ref().map(|degrees| *degrees.get_ref()),
            handover_outage: section
                .handover_outage
                .as_ref()
                .map(|span| *span.get_ref())
                .unwrap_or_default(),
        }
    }

    fn station(&self, name: String, place: Geodetic) -> Station {
        Station {
            name,
            place,
            min_elevation_deg: self.min_elevation_deg,
            selection: self.selection,
            // A station that talks to all visible satellites has no handovers.
            handover_outage: if self.selection == SatelliteSelection::All {
                Span::ZERO
            } else {
                self.handover_outage
            },
            forwards: false,
        }
    }
}

/// The stations of a network, in order.
#[derive(Debug, Default)]
pub(super) struct Stations {
    pub list: Vec<Station>,
}

impl Stations {
    /// Adds a station that the scenario lists.
    pub fn add(
        &mut self,
        section: &StationSection,
        defaults: &StationDefaults,
    ) -> Result<(), Problem> {
        let altitude_m = section.altitude_m.as_ref().map_or(0.0, |metres| *metres.get_ref());
        let place = match (&section.city, &section.latitude_deg, &section.longitude_deg) {
            (Some(city), _, _) => {
                let place = cities::find(city.get_ref());
                place.map_err(|error| Problem::new(city.span(), error.to_string()))?
            }
            (None, latitude, longitude) => {
                let degrees = |value: &Option<Spanned<f64>>| {
                    value.as_ref().map_or(0.0, |value| *value.get_ref())
                };
                Geodetic {
                    latitude_deg: degrees(latitude),
                    longitude_deg: degrees(longitude),
                    altitude_m: 0.0,
                }
            }
        };
        let mut station =
            defaults.station(section.name.get_ref().clone(), Geodetic { altitude_m, ..place });
        if let Some(selection) = section.satellite_selection {
            station.selection = selection;
            station.handover_outage = if selection == SatelliteSelection::All {
                Span::ZERO
            } else {
                defaults.handover_outage
            };
        }
        if let Some(degrees) = &section.min_elevation_deg {
            station.min_elevation_deg = Some(*degrees.get_ref());
        }
        if let Some(outage) = &section.handover_outage {
            station.handover_outage = *outage.get_ref();
        }
        station.forwards = section.forwards;
        self.list.push(station);
        Ok(())
    }

    /// Like [`Stations::find_or_add`], with an error that points to `name`.
    pub fn find_or_add_spanned(
        &mut self,
        name: &Spanned<String>,
        defaults: &StationDefaults,
    ) -> Result<usize, Problem> {
        self.find_or_add(name.get_ref(), defaults)
            .map_err(|error| Problem::new(name.span(), error.to_string()))
    }

    /// Returns the index of a fibre's end. A city that only fibres name is a server without an
    /// antenna.
    pub fn fibre_end(
        &mut self,
        name: &Spanned<String>,
        defaults: &StationDefaults,
    ) -> Result<usize, Problem> {
        let count = self.list.len();
        let index = self.find_or_add_spanned(name, defaults)?;
        if index == count {
            let station = &mut self.list[index];
            station.min_elevation_deg = Some(ZENITH_DEG);
            station.selection = SatelliteSelection::All;
            station.handover_outage = Span::ZERO;
        }
        Ok(index)
    }

    /// Returns the index of the station called `name`. A city of that name is added as a station.
    pub fn find_or_add(
        &mut self,
        name: &str,
        defaults: &StationDefaults,
    ) -> Result<usize, OrbitError> {
        if let Some(index) = self.list.iter().position(|station| station.name == name) {
            return Ok(index);
        }
        let place = cities::find(name)?;
        // All spellings of a city are one station.
        let known = cities::all().iter().find(|(_, known)| *known == place);
        let name = known.map_or(name, |(known, _)| known);
        if let Some(index) = self.list.iter().position(|station| station.name == name) {
            return Ok(index);
        }
        self.list.push(defaults.station(name.to_owned(), place));
        Ok(self.list.len() - 1)
    }
}

//! Stations on the ground: those that a scenario lists, and the cities that its flows and fibres
//! name.

use bentpipe_orbit::{Geodetic, OrbitError, SatelliteSelection, Station, cities};
use bentpipe_scenario::Problem;
use bentpipe_scenario::{OrbitSection, StationSection};
use bentpipe_units::Span;
use serde_spanned::Spanned;

/// Satellites above this do not exist.
const ZENITH_DEG: f64 = 90.0;

/// What stations have that do not say otherwise.
#[derive(Debug, Clone)]
pub(super) struct Defaults {
    selection: SatelliteSelection,
    min_elevation_deg: Option<f64>,
    interruption: Span,
}

impl Defaults {
    pub fn new(section: &OrbitSection) -> Self {
        Self {
            selection: section.satellite_selection.unwrap_or_default(),
            min_elevation_deg: section.min_elevation_deg.as_ref().map(|degrees| *degrees.get_ref()),
            interruption: section
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
            // Who talks to all satellites never turns.
            handover_outage: if self.selection == SatelliteSelection::All {
                Span::ZERO
            } else {
                self.interruption
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
    pub fn add(&mut self, section: &StationSection, defaults: &Defaults) -> Result<(), Problem> {
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
                defaults.interruption
            };
        }
        if let Some(degrees) = &section.min_elevation_deg {
            station.min_elevation_deg = Some(*degrees.get_ref());
        }
        if let Some(interruption) = &section.handover_outage {
            station.handover_outage = *interruption.get_ref();
        }
        station.forwards = section.forwards;
        self.list.push(station);
        Ok(())
    }

    /// See [`Stations::named`].
    pub fn spanned(
        &mut self,
        name: &Spanned<String>,
        defaults: &Defaults,
    ) -> Result<usize, Problem> {
        self.named(name.get_ref(), defaults)
            .map_err(|error| Problem::new(name.span(), error.to_string()))
    }

    /// The end of a fibre. A city that only fibres name has no antenna: a server somewhere on the
    /// ground.
    pub fn fibre_end(
        &mut self,
        name: &Spanned<String>,
        defaults: &Defaults,
    ) -> Result<usize, Problem> {
        let known = self.list.len();
        let index = self.spanned(name, defaults)?;
        if index == known {
            let station = &mut self.list[index];
            station.min_elevation_deg = Some(ZENITH_DEG);
            station.selection = SatelliteSelection::All;
            station.handover_outage = Span::ZERO;
        }
        Ok(index)
    }

    /// The station called `name`, by index; a city of that name becomes one.
    pub fn named(&mut self, name: &str, defaults: &Defaults) -> Result<usize, OrbitError> {
        if let Some(index) = self.list.iter().position(|station| station.name == name) {
            return Ok(index);
        }
        let place = cities::find(name)?;
        // However it was spelt, it is the same city.
        let known = cities::all().iter().find(|(_, known)| *known == place);
        let name = known.map_or(name, |(known, _)| known);
        if let Some(index) = self.list.iter().position(|station| station.name == name) {
            return Ok(index);
        }
        self.list.push(defaults.station(name.to_owned(), place));
        Ok(self.list.len() - 1)
    }
}

//! Satellites and their positions over time.

use crate::elements::{self, ElementsFormat};
use crate::frames::{EarthRotation, julian_years, sidereal_rad};
use crate::{Ecef, OrbitError, Shell};
use bentpipe_units::{Epoch, Span, Time};

/// Eccentricity of satellites in shells. Not zero, since some formulas of the propagator divide by
/// it. Hypatia uses the same.
const SHELL_ECCENTRICITY: f64 = 1e-7;
/// Below one Earth radius (km) from the centre, a satellite has decayed (Vallado et al. 2006,
/// "Revisiting Spacetrack Report #3", error 6).
const GROUND_KM: f64 = 6_378.135;
/// Shortest time between two checks whether a satellite decays.
const DECAY_CHECK: Span = Span::from_secs(60);
/// Minimum elevation in degrees towards satellites of published elements, which do not specify any.
/// Our choice: that of Starlink's first shells.
const ELEMENTS_MIN_ELEVATION_DEG: f64 = 25.0;

/// A set of satellites, from Walker shells or from published elements.
#[derive(Debug, Clone)]
pub struct Constellation {
    names: Vec<String>,
    orbits: Vec<Orbit>,
    /// Empty for published elements.
    shells: Vec<Shell>,
}

/// Position of a satellite in its shell, counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Index of the shell.
    pub shell: u32,
    /// Index of the plane in the shell.
    pub plane: u32,
    /// Index of the satellite in the plane.
    pub index: u32,
}

/// The propagator of one satellite.
#[derive(Debug, Clone)]
struct Orbit {
    constants: sgp4::Constants,
    /// Epoch of the elements, in nanoseconds since 1970.
    epoch_ns: i128,
    origin: Origin,
}

/// Origin of a satellite's elements.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Shell(Slot),
    Elements { inclination_deg: f64, mean_motion_rev_per_day: f64 },
}

/// Position of a satellite within its plane at one time, for published elements. Used to identify
/// planes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanePosition {
    /// Mean inclination in degrees.
    pub inclination_deg: f64,
    /// Mean motion in revolutions per day.
    pub mean_motion_rev_per_day: f64,
    /// Right ascension of the ascending node at that time, in degrees, 0 to 360.
    pub node_deg: f64,
    /// Argument of latitude at that time: angle from the ascending node along the orbit, in
    /// degrees, 0 to 360.
    pub latitude_deg: f64,
}

/// A satellite that is dropped because its orbit decays before the end of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Decayed {
    /// Name of the satellite.
    pub name: String,
    /// Error of the propagator.
    pub reason: String,
}

impl Constellation {
    /// Creates satellites of Walker shells, with elements as of `epoch`: eccentricity 1e-7,
    /// argument of perigee 0, B* 0, WGS72.
    ///
    /// # Errors
    ///
    /// If a shell is invalid.
    pub fn from_shells(shells: &[Shell], epoch: Epoch) -> Result<Self, OrbitError> {
        let mut made = Self { names: Vec::new(), orbits: Vec::new(), shells: shells.to_vec() };
        let epoch_ns = nanos(epoch);
        for (number, shell) in shells.iter().enumerate() {
            shell.check()?;
            for plane in 0..shell.planes {
                for index in 0..shell.per_plane {
                    let name = format!("{}-{plane}-{index}", shell.name);
                    let constants = circular(shell, plane, index, epoch_ns, &name)?;
                    let origin = Origin::Shell(Slot { shell: number as u32, plane, index });
                    made.orbits.push(Orbit { constants, epoch_ns, origin });
                    made.names.push(name);
                }
            }
        }
        Ok(made)
    }

    /// Creates satellites of published elements, each from its own epoch, with WGS72. The format,
    /// TLE or OMM, is detected.
    ///
    /// They form one shell; [`Constellation::min_elevation_deg`] supplies its minimum elevation. If
    /// an ISL pattern needs planes, inclination and ascending node identify them.
    ///
    /// # Errors
    ///
    /// Returns the first line that cannot be read.
    pub fn from_elements(text: &str) -> Result<Self, OrbitError> {
        let found = elements::read(text, ElementsFormat::detect(text))?;
        let mut made = Self {
            names: Vec::with_capacity(found.len()),
            orbits: Vec::with_capacity(found.len()),
            shells: Vec::new(),
        };
        for each in found {
            let at = each.elements.datetime.and_utc();
            let epoch_ns = i128::from(at.timestamp()) * 1_000_000_000
                + i128::from(at.timestamp_subsec_nanos());
            let origin = Origin::Elements {
                inclination_deg: each.elements.inclination,
                mean_motion_rev_per_day: each.elements.mean_motion,
            };
            let constants =
                published(&each.elements, epoch_ns).map_err(|reason| OrbitError::Elements {
                    line: each.line,
                    reason: format!(
                        "`{}` has no orbit that can be propagated: {reason}",
                        each.name
                    ),
                })?;
            made.orbits.push(Orbit { constants, epoch_ns, origin });
            made.names.push(each.name);
        }
        Ok(made)
    }

    /// Returns the number of satellites.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of satellite `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// Shell, plane and index of satellite `index`; `None` for published elements.
    pub fn slot(&self, index: usize) -> Option<Slot> {
        match self.orbits[index].origin {
            Origin::Shell(slot) => Some(slot),
            Origin::Elements { .. } => None,
        }
    }

    /// Returns the shells in the order of [`Slot::shell`]; empty for published elements.
    pub fn shells(&self) -> &[Shell] {
        &self.shells
    }

    /// Minimum elevation of satellite `index` in degrees, for stations that set none: that of its
    /// shell, or 25 for published elements.
    pub fn min_elevation_deg(&self, index: usize) -> f64 {
        self.shell(index).map_or(ELEMENTS_MIN_ELEVATION_DEG, |shell| shell.min_elevation_deg)
    }

    /// Maximum length of a ground link of satellite `index` in metres, for networks that set none:
    /// that of its shell, if it has one.
    pub fn max_ground_link_length_m(&self, index: usize) -> Option<f64> {
        self.shell(index).and_then(|shell| shell.max_ground_link_length_m)
    }

    fn shell(&self, index: usize) -> Option<&Shell> {
        self.slot(index).and_then(|slot| self.shells.get(slot.shell as usize))
    }

    /// Returns the latest epoch of all elements, a good start time.
    ///
    /// # Errors
    ///
    /// If it is before 1970, where [`Epoch`] begins. Elements are propagated from their own epochs
    /// in any case, so that another start time can be given.
    pub fn epoch(&self) -> Result<Epoch, OrbitError> {
        let (latest, name) = self.latest();
        let millis =
            u64::try_from(latest.div_euclid(1_000_000)).map_err(|_| OrbitError::Value {
                what: "latest epoch of the elements".into(),
                value: format!("{} (`{name}`)", utc(latest)),
                allowed:
                    "from 1970 on; set `epoch` to a time since then, to which these elements are \
                      propagated"
                        .into(),
            })?;
        Ok(Epoch::from_unix_millis(millis))
    }

    /// Returns the latest epoch in nanoseconds since 1970, and the satellite that has it.
    fn latest(&self) -> (i128, &str) {
        let epochs = self.orbits.iter().map(|orbit| orbit.epoch_ns);
        epochs.zip(self.names.iter().map(String::as_str)).max().unwrap_or((0, ""))
    }

    /// Removes and returns satellites that cannot be propagated from `begins` for `length`.
    ///
    /// Checks the start, the end, and every hundredth of the time between, but not more than once a
    /// minute: satellites decay over hours.
    ///
    /// # Errors
    ///
    /// If no satellite is left.
    pub fn drop_decayed(
        &mut self,
        begins: Epoch,
        length: Span,
    ) -> Result<Vec<Decayed>, OrbitError> {
        let mut decayed = Vec::new();
        let mut keep = Vec::with_capacity(self.len());
        let begins_ns = nanos(begins);
        let parts = (length.as_nanos() / DECAY_CHECK.as_nanos()).clamp(1, 100);
        for (orbit, name) in self.orbits.iter().zip(&self.names) {
            let failure = (0..=parts).find_map(|part| {
                let at = begins_ns
                    + i128::from(length.as_nanos()) * i128::from(part) / i128::from(parts);
                orbit.teme(at).err()
            });
            keep.push(failure.is_none());
            if let Some((_, reason)) = failure {
                decayed.push(Decayed { name: name.clone(), reason });
            }
        }
        if decayed.len() == self.len() {
            let first = decayed
                .first()
                .map_or_else(String::new, |first| format!("; `{}`: {}", first.name, first.reason));
            return Err(OrbitError::Value {
                what: "number of satellites with a lasting orbit".into(),
                value: format!("0 of {} from {begins} for {length}{first}", self.len()),
                allowed: "1 or more: start closer to the epoch of the elements".into(),
            });
        }
        retain(&mut self.names, &keep);
        retain(&mut self.orbits, &keep);
        Ok(decayed)
    }

    /// Writes the Earth-fixed position of every satellite at `at` after `begins` to `into`, which
    /// is cleared first.
    ///
    /// Takes less than a microsecond per satellite. Use [`Ephemeris`](crate::Ephemeris) for small
    /// steps.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub fn positions(
        &self,
        begins: Epoch,
        at: Time,
        into: &mut Vec<Ecef>,
    ) -> Result<(), OrbitError> {
        into.clear();
        into.reserve(self.len());
        self.propagate(begins, at, |turn, teme| into.push(turn.position(teme.position)))
    }

    /// Like [`Self::positions`], with velocities relative to the rotating Earth in metres per
    /// second.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub(crate) fn states(
        &self,
        begins: Epoch,
        at: Time,
        into: &mut Vec<(Ecef, Ecef)>,
    ) -> Result<(), OrbitError> {
        into.clear();
        into.reserve(self.len());
        self.propagate(begins, at, |turn, teme| {
            let position = turn.position(teme.position);
            into.push((position, turn.velocity(position, teme.velocity)));
        })
    }

    fn propagate(
        &self,
        begins: Epoch,
        at: Time,
        mut each: impl FnMut(EarthRotation, &sgp4::Prediction),
    ) -> Result<(), OrbitError> {
        let turn = EarthRotation::new(sidereal_rad(begins, at.since(Time::ZERO)));
        let at = nanos(begins) + i128::from(at.as_nanos());
        for (index, orbit) in self.orbits.iter().enumerate() {
            each(turn, &orbit.teme(at).map_err(|failure| self.lost(index, failure))?);
        }
        Ok(())
    }

    /// Returns the Earth-fixed position of satellite `index` at `at` after `begins`.
    ///
    /// # Errors
    ///
    /// If the satellite cannot be propagated to that time.
    pub(crate) fn position(
        &self,
        index: usize,
        begins: Epoch,
        at: Time,
    ) -> Result<Ecef, OrbitError> {
        let turn = EarthRotation::new(sidereal_rad(begins, at.since(Time::ZERO)));
        let teme = self.orbits[index].teme(nanos(begins) + i128::from(at.as_nanos()));
        Ok(turn.position(teme.map_err(|failure| self.lost(index, failure))?.position))
    }

    fn lost(&self, index: usize, (minutes, reason): (f64, String)) -> OrbitError {
        OrbitError::Propagation { name: self.names[index].clone(), minutes, reason }
    }
}

impl Constellation {
    /// Returns the positions of the satellites within their planes at the epoch of the
    /// constellation, for published elements.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub(crate) fn plane_positions(&self) -> Result<Vec<PlanePosition>, OrbitError> {
        let (at, _) = self.latest();
        let mut plane_positions = Vec::with_capacity(self.len());
        for (index, orbit) in self.orbits.iter().enumerate() {
            if let Origin::Elements { inclination_deg, mean_motion_rev_per_day } = orbit.origin {
                let teme = orbit.teme(at).map_err(|failure| self.lost(index, failure))?;
                let (node_deg, latitude_deg) = in_plane(teme.position, teme.velocity);
                plane_positions.push(PlanePosition {
                    inclination_deg,
                    mean_motion_rev_per_day,
                    node_deg,
                    latitude_deg,
                });
            }
        }
        Ok(plane_positions)
    }
}

impl Orbit {
    /// Returns position (km) and velocity (km/s) in TEME at `at` nanoseconds since 1970. The error
    /// contains the minutes from the epoch and the reason.
    fn teme(&self, at: i128) -> Result<sgp4::Prediction, (f64, String)> {
        let minutes = (at - self.epoch_ns) as f64 / 6e10;
        let made = self
            .constants
            .propagate(sgp4::MinutesSinceEpoch(minutes))
            .map_err(|e| (minutes, e.to_string()))?;
        let [x, y, z] = made.position;
        let radius = libm::sqrt(x * x + y * y + z * z);
        if radius >= GROUND_KM && radius.is_finite() {
            return Ok(made);
        }
        let reason = if radius < GROUND_KM {
            format!("it has come down: {radius:.0} km from the Earth's centre")
        } else {
            "its position is not a number".into()
        };
        Err((minutes, reason))
    }
}

/// Formats nanoseconds since 1970, which may be negative, to the second.
fn utc(nanos: i128) -> String {
    let secs = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(i64::MIN);
    let time = sgp4::chrono::DateTime::from_timestamp(secs, 0);
    // Its `Debug` is RFC 3339.
    time.map_or_else(String::new, |time| format!("{time:?}"))
}

fn nanos(epoch: Epoch) -> i128 {
    i128::from(epoch.as_unix_millis()) * 1_000_000
}

/// Returns the right ascension of the ascending node and the argument of latitude, in degrees from
/// 0 to 360, from position and velocity.
fn in_plane(position: [f64; 3], velocity: [f64; 3]) -> (f64, f64) {
    let [x, y, z] = position;
    let [u, v, w] = velocity;
    // The angular momentum is normal to the plane. The node lies where the plane cuts the equator.
    let (hx, hy, hz) = (y * w - z * v, z * u - x * w, x * v - y * u);
    let node = libm::atan2(hx, -hy);
    let (sin, cos) = libm::sincos(node);
    let h = libm::sqrt(hx * hx + hy * hy + hz * hz);
    let along = x * cos + y * sin;
    let across = ((hy * z - hz * y) * cos + (hz * x - hx * z) * sin) / h;
    // The axis 90 degrees ahead of the node is the cross product of the normal and the node. Its
    // product with the position is minus `across`.
    let latitude = libm::atan2(-across, along);
    (wrap_degrees(node.to_degrees()), wrap_degrees(latitude.to_degrees()))
}

/// Normalises an angle to 0 to 360 degrees.
fn wrap_degrees(degrees: f64) -> f64 {
    if degrees < 0.0 { degrees + 360.0 } else { degrees }
}

/// Retains the items whose flag is set.
fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    items.retain(|_| flags.next().copied().unwrap_or(false));
}

/// Creates the propagator of a satellite in a shell.
fn circular(
    shell: &Shell,
    plane: u32,
    index: u32,
    epoch_ns: i128,
    name: &str,
) -> Result<sgp4::Constants, OrbitError> {
    let refuse =
        |reason: String| OrbitError::Propagation { name: name.to_owned(), minutes: 0.0, reason };
    let orbit = sgp4::Orbit::from_kozai_elements(
        &sgp4::WGS72,
        shell.inclination_deg.to_radians(),
        shell.node_deg(plane).to_radians(),
        SHELL_ECCENTRICITY,
        0.0,
        shell.anomaly_deg(plane, index).to_radians(),
        shell.mean_motion_rev_per_day * std::f64::consts::PI / 720.0,
    )
    .map_err(|e| refuse(e.to_string()))?;
    constants(orbit, epoch_ns, 0.0).map_err(|e| refuse(e.to_string()))
}

/// Creates the propagator of published elements.
fn published(elements: &sgp4::Elements, epoch_ns: i128) -> Result<sgp4::Constants, String> {
    let orbit = sgp4::Orbit::from_kozai_elements(
        &sgp4::WGS72,
        elements.inclination.to_radians(),
        elements.right_ascension.to_radians(),
        elements.eccentricity,
        elements.argument_of_perigee.to_radians(),
        elements.mean_anomaly.to_radians(),
        elements.mean_motion * std::f64::consts::PI / 720.0,
    )
    .map_err(|e| e.to_string())?;
    constants(orbit, epoch_ns, elements.drag_term).map_err(|e| e.to_string())
}

/// Creates the propagator in the improved mode of Vallado et al. 2006, with WGS72, from which
/// element sets are generated (same paper).
fn constants(
    orbit: sgp4::Orbit,
    epoch_ns: i128,
    drag_term: f64,
) -> Result<sgp4::Constants, sgp4::OutOfRangeEpochEccentricity> {
    sgp4::Constants::new(
        sgp4::WGS72,
        sgp4::iau_epoch_to_sidereal_time,
        julian_years(epoch_ns),
        drag_term,
        orbit,
    )
}

#[cfg(test)]
mod tests;

//! Satellites, and where they are at a time.

use crate::frames::{Turn, julian_years, sidereal_rad};
use crate::{Ecef, OrbitError, Shell};
use bentpipe_units::{Epoch, Span, Time};

/// Eccentricity of satellites of shells: not zero, since some formulas of the propagator divide by it (Hypatia's choice too).
const SHELL_ECCENTRICITY: f64 = 1e-7;
/// Below one Earth radius from the centre, km, a satellite has come down (Vallado et al. 2006, "Revisiting Spacetrack Report #3", error 6).
const GROUND_KM: f64 = 6_378.135;
/// Lowest elevation towards satellites of published elements, which state none, degrees (our choice: that of Starlink's first shells).
const ELEMENTS_MIN_ELEVATION_DEG: f64 = 25.0;

/// Satellites that move.
#[derive(Debug, Clone)]
pub struct Constellation {
    names: Vec<String>,
    slots: Vec<Slot>,
    orbits: Vec<Orbit>,
    shells: Vec<Shell>,
}

/// Where a satellite belongs: counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The shell.
    pub shell: u32,
    /// The plane in it.
    pub plane: u32,
    /// The satellite in the plane.
    pub index: u32,
}

/// What moves one satellite.
#[derive(Debug, Clone)]
struct Orbit {
    constants: sgp4::Constants,
    /// The epoch of its elements, nanoseconds since 1970 began.
    epoch_ns: i128,
}

/// A satellite that was left out, since its orbit ends before the time of interest does.
#[derive(Debug, Clone, PartialEq)]
pub struct Decayed {
    /// Its name.
    pub name: String,
    /// What the propagator says.
    pub reason: String,
}

impl Constellation {
    /// Satellites of Walker shells, elements as of `epoch`: eccentricity 1e-7, argument of perigee 0, B* 0, WGS72.
    ///
    /// # Errors
    /// A shell that cannot be.
    pub fn from_shells(shells: &[Shell], epoch: Epoch) -> Result<Self, OrbitError> {
        let mut made = Self { names: Vec::new(), slots: Vec::new(), orbits: Vec::new(), shells: shells.to_vec() };
        let epoch_ns = nanos(epoch);
        for (number, shell) in shells.iter().enumerate() {
            shell.check()?;
            for plane in 0..shell.planes {
                for index in 0..shell.per_plane {
                    let name = format!("{}-{plane}-{index}", shell.name);
                    made.slots.push(Slot { shell: number as u32, plane, index });
                    made.orbits.push(Orbit { constants: circular(shell, plane, index, epoch_ns, &name)?, epoch_ns });
                    made.names.push(name);
                }
            }
        }
        Ok(made)
    }

    /// Satellites of published elements (TLE or OMM; which one is seen from the text). All form one shell; planes are found by inclination and ascending
    /// node where an ISL pattern needs them.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn from_elements(text: &str) -> Result<Self, OrbitError> {
        let _ = (text, ELEMENTS_MIN_ELEVATION_DEG);
        todo!()
    }

    /// How many satellites.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of satellite `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// The shell, plane and place in it of satellite `index`.
    pub fn slot(&self, index: usize) -> Slot {
        self.slots[index]
    }

    /// Its shells, in the order of [`Slot::shell`].
    pub fn shells(&self) -> &[Shell] {
        &self.shells
    }

    /// Lowest elevation at which satellite `index` is used where a station does not say otherwise, degrees: that of its shell.
    pub fn min_elevation_deg(&self, index: usize) -> f64 {
        self.shells[self.slots[index].shell as usize].min_elevation_deg
    }

    /// The latest epoch of its elements: a good time to begin.
    pub fn epoch(&self) -> Epoch {
        let latest = self.orbits.iter().map(|orbit| orbit.epoch_ns).max().unwrap_or(0);
        Epoch::from_unix_millis(u64::try_from(latest / 1_000_000).unwrap_or(0))
    }

    /// Leaves out what cannot be propagated from `begins` for `length`, and says what: looked for at the beginning, at the end, and at each hundredth of the
    /// time between.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn drop_decayed(&mut self, begins: Epoch, length: Span) -> Result<Vec<Decayed>, OrbitError> {
        let mut gone = Vec::new();
        let mut keep = Vec::with_capacity(self.len());
        let begins_ns = nanos(begins);
        for (orbit, name) in self.orbits.iter().zip(&self.names) {
            let failure = (0..=100).find_map(|hundredth| {
                let at = begins_ns + i128::from(length.as_nanos()) * hundredth / 100;
                orbit.teme(at).err()
            });
            keep.push(failure.is_none());
            if let Some((_, reason)) = failure {
                gone.push(Decayed { name: name.clone(), reason });
            }
        }
        if gone.len() == self.len() {
            let first = gone.first().map_or_else(String::new, |first| format!("; `{}`: {}", first.name, first.reason));
            return Err(OrbitError::Value {
                what: "number of satellites that last".into(),
                value: format!("0 of {} from {begins} for {length}{first}", self.len()),
                allowed: "1 or more: begin nearer to the epoch of the elements".into(),
            });
        }
        retain(&mut self.names, &keep);
        retain(&mut self.slots, &keep);
        retain(&mut self.orbits, &keep);
        Ok(gone)
    }

    /// Where each satellite is at `at` after `begins`, Earth-fixed, appended to nothing: `into` is cleared first. One call costs about half a microsecond a
    /// satellite.
    ///
    /// # Errors
    /// A satellite that cannot be followed to that time.
    pub fn positions(&self, begins: Epoch, at: Time, into: &mut Vec<Ecef>) -> Result<(), OrbitError> {
        into.clear();
        into.reserve(self.len());
        let turn = Turn::new(sidereal_rad(begins, at.since(Time::ZERO)));
        let at = nanos(begins) + i128::from(at.as_nanos());
        for index in 0..self.len() {
            into.push(self.place(index, at, &turn)?);
        }
        Ok(())
    }

    /// Where satellite `index` alone is at `at` after `begins`.
    ///
    /// # Errors
    /// It cannot be followed to that time.
    pub(crate) fn position(&self, index: usize, begins: Epoch, at: Time) -> Result<Ecef, OrbitError> {
        let turn = Turn::new(sidereal_rad(begins, at.since(Time::ZERO)));
        self.place(index, nanos(begins) + i128::from(at.as_nanos()), &turn)
    }

    /// Where satellite `index` is at `at` nanoseconds since 1970, when the Earth has turned by `turn`.
    fn place(&self, index: usize, at: i128, turn: &Turn) -> Result<Ecef, OrbitError> {
        let teme = self.orbits[index].teme(at).map_err(|(minutes, reason)| OrbitError::Propagation {
            name: self.names[index].clone(),
            minutes,
            reason,
        })?;
        Ok(turn.position(teme.position))
    }
}

impl Orbit {
    /// Position and velocity in TEME, km and km/s, at `at` nanoseconds since 1970; what failed and how many minutes from the epoch otherwise.
    fn teme(&self, at: i128) -> Result<sgp4::Prediction, (f64, String)> {
        let minutes = (at - self.epoch_ns) as f64 / 6e10;
        let made = self.constants.propagate(sgp4::MinutesSinceEpoch(minutes)).map_err(|e| (minutes, e.to_string()))?;
        let [x, y, z] = made.position;
        let radius = libm::sqrt(x * x + y * y + z * z);
        if radius >= GROUND_KM && radius.is_finite() {
            return Ok(made);
        }
        let reason = if radius < GROUND_KM {
            format!("it has come down: {radius:.0} km from the Earth's centre")
        } else {
            "its position is no number".into()
        };
        Err((minutes, reason))
    }
}

fn nanos(epoch: Epoch) -> i128 {
    i128::from(epoch.as_unix_millis()) * 1_000_000
}

/// Keeps the items whose flag is set.
fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    items.retain(|_| flags.next().copied().unwrap_or(false));
}

/// The orbit of one satellite of a shell.
fn circular(shell: &Shell, plane: u32, index: u32, epoch_ns: i128, name: &str) -> Result<sgp4::Constants, OrbitError> {
    let refuse = |reason: String| OrbitError::Propagation { name: name.to_owned(), minutes: 0.0, reason };
    let orbit = sgp4::Orbit::from_kozai_elements(
        &sgp4::WGS72,
        shell.inclination_deg.to_radians(),
        shell.node_deg(plane).to_radians(),
        SHELL_ECCENTRICITY,
        0.0,
        shell.anomaly_deg(plane, index).to_radians(),
        shell.revolutions_per_day * std::f64::consts::PI / 720.0,
    )
    .map_err(|e| refuse(e.to_string()))?;
    let epoch = julian_years(epoch_ns);
    sgp4::Constants::new(sgp4::WGS72, sgp4::iau_epoch_to_sidereal_time, epoch, 0.0, orbit)
        .map_err(|e| refuse(e.to_string()))
}

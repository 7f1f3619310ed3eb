//! Satellites, and where they are at a time.

use crate::{Ecef, OrbitError, Shell};
use bentpipe_units::{Epoch, Span, Time};

/// Satellites that move.
#[derive(Debug, Clone)]
pub struct Constellation {
    // Each satellite: name, shell, plane, index in plane, SGP4 constants, epoch.
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
        let _ = (shells, epoch);
        todo!()
    }

    /// Satellites of published elements (TLE or OMM; which one is seen from the text). All form one shell; planes are found by inclination and ascending
    /// node where an ISL pattern needs them.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn from_elements(text: &str) -> Result<Self, OrbitError> {
        let _ = text;
        todo!()
    }

    /// How many satellites.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of satellite `index`.
    pub fn name(&self, index: usize) -> &str {
        let _ = index;
        todo!()
    }

    /// The latest epoch of its elements: a good time to begin.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }

    /// Leaves out what cannot be propagated from `begins` for `length`, and says what.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn drop_decayed(&mut self, begins: Epoch, length: Span) -> Result<Vec<Decayed>, OrbitError> {
        let _ = (begins, length);
        todo!()
    }

    /// Where each satellite is at `at` after `begins`, Earth-fixed, appended to nothing: `into` is cleared first. One call costs about half a microsecond a
    /// satellite.
    ///
    /// # Errors
    /// A satellite that cannot be followed to that time.
    pub fn positions(&self, begins: Epoch, at: Time, into: &mut Vec<Ecef>) -> Result<(), OrbitError> {
        let _ = (begins, at, into);
        todo!()
    }
}

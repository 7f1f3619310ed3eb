//! Time scales and the turn from TEME to the Earth-fixed frame.

use crate::Ecef;
use bentpipe_units::{Epoch, Span};

/// Greenwich mean sidereal time, radians, at `span` after `epoch` (IAU 1982; UT1 taken as UTC).
pub(crate) fn sidereal_rad(epoch: Epoch, span: Span) -> f64 {
    let _ = (epoch, span);
    todo!()
}

/// A position in TEME, kilometres, as Earth-fixed metres, at the given sidereal time.
pub(crate) fn teme_to_ecef(teme_km: [f64; 3], sidereal_rad: f64) -> Ecef {
    let _ = (teme_km, sidereal_rad);
    todo!()
}

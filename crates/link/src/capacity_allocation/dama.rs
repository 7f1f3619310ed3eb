//! The contract of terminals with demand-assigned capacity.

use crate::ConfigError;
use bentpipe_units::{Bytes, Rate, Span};
use std::fmt;

/// Demand-assigned multiple access (DAMA) in the terms of DVB-RCS2 (ETSI EN 301 545-2). All
/// terminals have the same contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dama {
    /// Length of a frame.
    pub frame: Span,
    /// Constant rate assignment: rate that each terminal gets in every frame without a request.
    pub cra: Rate,
    /// Rate-based dynamic capacity: the highest rate that a terminal may request in addition to its
    /// constant rate; zero for none.
    pub rbdc: Rate,
    /// Volume-based dynamic capacity: the largest volume that a terminal may have outstanding; zero
    /// for none.
    pub vbdc: Bytes,
    /// Free capacity assignment: unrequested capacity is divided evenly among all terminals.
    pub fca: bool,
    /// Interval between a terminal's opportunities to send a request; rounded up to whole frames.
    pub request_interval: Span,
    /// Propagation delay of a request from terminal to controller.
    pub request_delay: Span,
    /// Time that the controller takes to include a request in a plan.
    pub processing: Span,
    /// Propagation delay of a plan (TBTP) from controller to terminal.
    pub tbtp_delay: Span,
    /// A requested rate expires after this time unless it is requested again; rounded up to whole
    /// frames.
    pub timeout: Span,
    /// Minimum scheduling latency: the time within which a rate request aims to empty the
    /// terminal's queue.
    pub msl: Span,
}

/// Longest frame or delay. Beyond it the frame arithmetic would overflow, and no real system comes
/// close.
const LONGEST: Span = Span::from_secs(3600);

impl Dama {
    /// `span` in whole frames, rounded up; at least one.
    pub(crate) fn frames(&self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.frame.as_nanos().max(1)).max(1)
    }

    /// Frames from the one in which a terminal sends a request to the first one planned with it:
    /// request, processing and plan.
    pub fn scheduling_frames(&self) -> u64 {
        self.frames(self.request_delay + self.processing + self.tbtp_delay)
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let refused = |key: &str, value: &dyn fmt::Display, problem: &str, allowed: &str| {
            Err(ConfigError::refused(format!("{key} = {value}"), problem, allowed))
        };
        for (key, span) in [
            ("request_delay", self.request_delay),
            ("processing", self.processing),
            ("tbtp_delay", self.tbtp_delay),
        ] {
            if span > LONGEST {
                return refused(key, &span, "is too long", "0 s to 1 h");
            }
        }
        for (key, span) in [
            ("frame", self.frame),
            ("request_interval", self.request_interval),
            ("timeout", self.timeout),
            ("msl", self.msl),
        ] {
            if span.is_zero() || span > LONGEST {
                return refused(key, &span, "is not a valid time", "above 0 s, up to 1 h");
            }
        }
        if self.frame < Span::from_micros(100) {
            return refused("frame", &self.frame, "is too short for a frame", "100 us or more");
        }
        if self.cra.is_zero() && self.rbdc.is_zero() && self.vbdc.is_zero() && !self.fca {
            let allowed = "`cra`, `rbdc` or `vbdc` above zero, or fca = true";
            return Err(ConfigError::refused(
                "capacity_allocation",
                "allocates no capacity",
                allowed,
            ));
        }
        Ok(())
    }
}

//! The factory that creates a sender's controller with all its layers.

use crate::catalogue::Registration;
use crate::controller::{Controller, ControllerConfig};
use crate::loss_filter::LossFilter;
use crate::parameters::ParameterValues;
use crate::path_change::{PathChangeFeed, PathChangeLayer, PathChangeResponse};
use crate::resume::{CarefulResume, ResumeHandle, ResumeMode};
use crate::slow_start::{SlowStart, StartSlot, WithSlowStart};
use crate::window_cap::WindowCap;
use bentpipe_units::Bytes;

/// A checked [`CongestionConfig`](crate::config::CongestionConfig) that creates controllers.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerFactory {
    pub(crate) controller: (&'static Registration<Box<dyn Controller>>, ParameterValues),
    pub(crate) slow_start: Option<(&'static Registration<Box<dyn SlowStart>>, ParameterValues)>,
    pub(crate) loss_filter: Option<(&'static Registration<LossFilter>, ParameterValues)>,
    /// True if the slow start may be refused ([`FastStart::Refused`]).
    pub(crate) slow_start_optional: bool,
    pub(crate) resume: (&'static Registration<ResumeMode>, ParameterValues),
    pub(crate) max_window: Option<Bytes>,
    pub(crate) path_change: (PathChangeResponse, Option<PathChangeFeed>),
    pub(crate) distance_m: Option<u64>,
}

/// Whether a connection configured with `auto` may use the fast slow start.
#[derive(Debug, Clone)]
pub enum FastStart {
    /// Allowed. The slot, which counts the starts that share a link, is released at the end of the
    /// slow start.
    Allowed(Option<StartSlot>),
    /// Refused.
    Refused,
}

impl ControllerFactory {
    /// Returns true if the slow start needs a [`StartSlot`], as with `auto`.
    pub fn needs_start_slot(&self) -> bool {
        self.slow_start_optional && self.slow_start.is_some()
    }

    /// Returns true if its controllers use saved path parameters.
    pub fn resumes(&self) -> bool {
        let (resume, _) = &self.resume;
        resume.name != "none"
    }

    /// Returns a factory whose controllers respond to the announcements in `feed`, if the
    /// configuration contains a response.
    pub fn with_path_changes(&self, feed: PathChangeFeed) -> Self {
        Self { path_change: (self.path_change.0, Some(feed)), ..self.clone() }
    }

    /// Creates a controller. With a `handle`, it gets the layer that observes the path and resumes.
    pub fn make(
        &self,
        config: &ControllerConfig,
        fast: FastStart,
        handle: Option<ResumeHandle>,
    ) -> Box<dyn Controller> {
        // Endpoints do not know their location, but the author of the configuration may.
        let config =
            &ControllerConfig { distance_m: config.distance_m.or(self.distance_m), ..*config };
        let mut controller = self.with_slow_start(config, fast);
        if let (response, Some(feed)) = &self.path_change
            && *response != PathChangeResponse::default()
        {
            controller =
                Box::new(PathChangeLayer::new(controller, feed.clone(), *response, config));
        }
        if let Some(handle) = handle {
            let (resume, values) = &self.resume;
            let mode = (resume.make)(config, values);
            controller =
                Box::new(CarefulResume::new(controller, mode, config, &values.into(), handle));
        }
        match self.max_window {
            Some(max) => Box::new(WindowCap::new(controller, max.max(config.initial_window))),
            None => controller,
        }
    }

    fn with_slow_start(&self, config: &ControllerConfig, fast: FastStart) -> Box<dyn Controller> {
        let (registration, values) = &self.controller;
        let mut controller = (registration.make)(config, values);
        if let Some((registration, values)) = &self.loss_filter {
            controller = (registration.make)(config, values).before(controller);
        }
        let slot = match fast {
            FastStart::Refused if self.slow_start_optional => return controller,
            FastStart::Refused => None,
            FastStart::Allowed(slot) => slot,
        };
        match &self.slow_start {
            Some((registration, values)) => {
                Box::new(WithSlowStart::new(controller, (registration.make)(config, values), slot))
            }
            None => controller,
        }
    }
}

//! `light_time`: the delay of a path between two bodies of the solar system.

use crate::error::Problem;
use bentpipe_orbit::light_time::Body;
use bentpipe_units::{Epoch, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// The light time between two bodies, as the delay of both directions. It changes during a run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LightTimeSection {
    /// The bodies at the client's and at the server's end: `earth`, and `moon` or `mars`.
    #[schemars(with = "[String; 2]")]
    pub bodies: Spanned<[String; 2]>,
    /// Date and time of the start of the run, before 2050.
    #[schemars(with = "Epoch")]
    pub at: Spanned<Epoch>,
    /// Delay that is added in each direction, as of relays; 0 s by default.
    #[serde(default)]
    pub extra: Span,
}

impl LightTimeSection {
    /// Returns the bodies at the client's and at the server's end.
    ///
    /// # Errors
    /// A body has another name.
    pub fn ends(&self) -> Result<[Body; 2], Problem> {
        let body = |name: &String| {
            Body::named(name)
                .ok_or_else(|| Problem::not_one_of(self.bodies.span(), "body", name, Body::NAMES))
        };
        let [client, server] = self.bodies.get_ref();
        Ok([body(client)?, body(server)?])
    }
}

//! `external`: one download by other programs, on the real clock.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::ops::Range;

/// One download by other programs. `/bin/sh` runs each command in its own directory.
///
/// Commands may contain placeholders in braces: `server`, `client`, `server6`, `client6`
/// (addresses), `port`, `url` (https URL of the object), `dir` (directory to serve), `file` (name
/// of the object in it), `bytes` (its size), `output` (file that the client writes; if the command
/// does not contain it, the client's standard output), `times` (file in which the client reports
/// its own times instead, as JSON), `cert`, `key` (PEM files of the server), `bentpipe` (this
/// program).
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Size of the object.
    #[schemars(with = "Option<Bytes>")]
    pub size: Option<Spanned<Bytes>>,
    /// Command that starts the server. It runs until the client exits.
    pub server: Option<String>,
    /// Command that runs the client. The transfer is complete if the client exits with status 0
    /// and has written `size` bytes.
    pub client: Option<String>,
}

impl External {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::Programs;

    pub(super) fn check(&self, span: Range<usize>) -> Result<(), Problem> {
        let missing = match (&self.size, &self.server, &self.client) {
            (None, _, _) => "size",
            (_, None, _) => "server",
            (_, _, None) => "client",
            (Some(size), Some(_), Some(_)) => return super::transfer::above_zero(size),
        };
        let message = format!(
            "`external` needs `{missing}`; allowed in the flow, the variant, or [defaults]"
        );
        let help = "external = \
            { size = \"10 MB\", server = \"caddy …\", client = \"curl -o {output} {url}\" }";
        Err(Problem::new(span, message).help(help))
    }
}

impl Kind for External {
    fn key(&self) -> &'static str {
        "external"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let size = self.size.as_ref().map_or(Bytes::ZERO, |size| *size.get_ref());
        let objects = vec![PlannedObject::new("object", size)];
        Transfer { direction: Direction::Download, objects, duration: None }
    }
}

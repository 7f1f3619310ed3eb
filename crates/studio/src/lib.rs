//! `bentpipe studio`: a local application in the browser that edits scenarios, runs them on the
//! virtual clock, and shows their reports.
//!
//! [`Studio::serve`] answers requests on a loopback socket. Its address contains a secret, so other
//! users and other pages cannot reach it; that is checked for each request before
//! anything else. Files are read and written below one directory only, links included.
//!
//! | request, below the secret | answer |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /api/scenarios` | names and titles of the scenarios of the directory |
//! | `GET`, `PUT /api/scenarios/FILE` | the text of one |
//! | `POST /api/check?file=FILE` | what the text in the request plans, or its error |
//! | `POST /api/outlook?file=FILE` | how long it takes, and its path over time |
//! | `POST /api/edit` | a text with one key changed, its comments kept |
//! | `POST /api/import?request=JSON` | makes a scenario of the measurements in the request |
//! | `GET /globe.js` | the script that draws the globe |
//! | `GET /api/profiles` | names and titles of the built-in paths |
//! | `GET /api/names` | names of the built-in constellations and cities |
//! | `GET /api/schema` | the JSON Schema of scenarios |
//! | `POST /api/runs?file=FILE` | starts the text in the request |
//! | `GET /api/runs` | states of all runs |
//! | `GET`, `DELETE /api/runs/ID` | state and main metrics of one; cancels it |
//! | `GET /api/runs/ID/data` | the elements with the data of its report |
//! | `GET /api/runs/ID/scenario` | the text that it runs |
//! | `GET /runs/ID/report.html`, `…/results.json` | results of a run |
//! | `GET /runs/ID/editable.html` | its report with the simulator, to send to others |
//!
//! Without the feature `server`, what is left is [`in_page`]: the same answers for a page that
//! brings the virtual clock along.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

#[cfg(feature = "server")]
mod access;
#[cfg(feature = "server")]
mod api;
mod check;
#[cfg(feature = "server")]
mod connections;
mod edit;
#[cfg(feature = "server")]
mod files;
#[cfg(feature = "server")]
mod import;
pub mod in_page;
mod main_metrics;
mod outlook;
#[cfg(feature = "server")]
mod patience;
#[cfg(feature = "server")]
mod peer;
#[cfg(feature = "server")]
mod responses;
#[cfg(feature = "server")]
mod run_directories;
#[cfg(feature = "server")]
mod runs;
#[cfg(feature = "server")]
mod server;
mod settings;

pub use check::{Checked, Fault, MAX_CASES, PlanFacts, possible_keys, profile_names};
pub use edit::{Edit, Edited, edit};
#[cfg(feature = "server")]
pub use files::FileError;
pub use main_metrics::main_metrics;
pub use outlook::Outlook;
#[cfg(feature = "server")]
pub use server::{Studio, StudioConfig};
pub use settings::{Change, Setting, settings};

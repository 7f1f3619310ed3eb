//! The report page: what it contains, and how it is written as one HTML file.
//!
//! [`Trace`] and [`Recording`] hold downsampled time series in the page's binary form,
//! [`ConstellationView`] the satellites above a run, and [`html`] embeds everything in the page of
//! `studio/`, or writes a plain one if that page was not built. The crate runs nothing and touches
//! no files.

mod constellation;
mod czml;
mod downsample;
mod page;
mod plain;
mod traces;

pub use constellation::{
    ConstellationView, Positions, Route, Satellites, StationPlace, TracedNetwork, constellations,
};
pub use downsample::limit;
pub use page::{html, json_schema};
pub use plain::html as plain_html;
pub use traces::{FlowSeries, LinkSeries, Mark, Recording, SeriesRef, Trace};

//! The report page of a run as a single HTML file.
//!
//! [`Trace`] and [`Recording`] hold time series in the binary form of the page, and
//! [`ConstellationView`] holds the satellites of a run. [`html`] embeds them in the page of
//! `studio/`, downsampled if the page would be too large, or writes a static page if that page was
//! not built. [`figure`] draws a single figure for a paper, as SVG or as a table. [`trace_html`] is
//! the page of a recorded transfer. [`comparison_page`] and [`junit`] show a comparison of two sets
//! of runs. The crate runs no scenarios and accesses no files.

mod comparison_page;
mod constellation;
mod czml;
mod derived;
mod downsample;
mod explanations;
mod figures;
mod fit;
mod junit;
mod page;
mod recording;
mod static_page;
mod tables;
mod trace_page;
mod traces;
mod variants;

pub use comparison_page::comparison_page;
pub use constellation::{
    ConstellationView, Positions, Route, Satellites, StationPlace, TracedNetwork,
};
pub use figures::{
    Figure, FigureData, FigureError, FigureRequest, FigureStyle, What, figure, offers, option_names,
};
pub use junit::junit;
pub use page::{Editable, data_in, editable_html, globe_script, html, json_schema, page_data};
pub use recording::{Recording, constellations};
pub use static_page::html as static_html;
pub use trace_page::{TraceSeries, trace_html};
pub use traces::{FlowSeries, LinkSeries, Mark, SeriesRef, Trace, points};

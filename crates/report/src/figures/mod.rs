//! Figures of a run directory for papers and notebooks: SVG, and the table of what they show.
//!
//! [`figure`] draws one from results and time series alone, without a browser. A file for each
//! kind chooses the data (`source`), draws with `canvas`, `axis` and `ink`, and fills a
//! `FigureTable`. Lengths are points (1/72 inch), so that letters have the size that the paper
//! has when the figure is included in its own width.

mod axis;
mod budget;
mod canvas;
mod cdf;
mod heat;
mod ink;
mod lines;
mod numbers;
mod offer;
mod request;
mod series;
mod source;
mod sweep;
mod table;
mod words;

pub use offer::{offers, option_names};
pub use request::{Figure, FigureData, FigureError, FigureRequest, FigureStyle, What};

use bentpipe_results::Manifest;
use canvas::Canvas;
use request::WIDTHS_MM;

/// Draws a figure of `data`.
///
/// # Errors
/// The run directory has no such data, or the request names something that it does not have.
pub fn figure(
    data: FigureData<'_>,
    request: &FigureRequest,
    style: FigureStyle,
) -> Result<Figure, FigureError> {
    if !WIDTHS_MM.contains(&style.width_mm) {
        let reason = format!(
            "{} mm is out of range; allowed: {} to {} mm",
            style.width_mm,
            WIDTHS_MM.start(),
            WIDTHS_MM.end()
        );
        return Err(FigureError::new("--width", reason));
    }
    source::check(data, request)?;
    let mut canvas = Canvas::new(style);
    let drawn = match request.what {
        What::Budget => budget::draw(data, request, &mut canvas)?,
        What::Sweep => sweep::draw(data, request, &mut canvas)?,
        What::Cdf => cdf::draw(data, request, &mut canvas)?,
        What::Series => series::draw(data, request, &mut canvas)?,
        What::Heat => heat::draw(data, request, &mut canvas)?,
    };
    let Manifest { scenario, seed, clock, version, commit, .. } = data.manifest;
    let commit = commit.as_ref().map_or_else(String::new, |commit| format!(" ({commit})"));
    let caption = format!(
        "{}. Scenario {scenario}, seed {seed}, {} clock, Bentpipe {version}{commit}.",
        drawn.title,
        clock.name()
    );
    Ok(Figure { svg: canvas.finish(&caption), caption, table: drawn.table })
}

#[cfg(test)]
mod tests;

//! `bentpipe figure`: one figure of a run directory, for a paper.

use super::replay;
use crate::args::{Figure, FigureFormat};
use crate::output;
use crate::tables::{Align, Table};
use bentpipe_lab::{LabError, RunDirectory, write_file};
use bentpipe_report::{
    FigureData, FigureError, FigureRequest, FigureStyle, Recording, What, figure, offers,
    option_names,
};
use std::path::Path;

/// Writes the figure that `args` ask for, or lists what there is.
pub fn run(args: &Figure) -> Result<u8, LabError> {
    let format = format(args)?;
    let directory = RunDirectory::open(&args.dir)?;
    let results = directory.results()?;
    // Nothing else needs the time series, which are most of the directory.
    let needed = args.what.is_none_or(|what| what == What::Series);
    let recording = if needed { directory.recording()? } else { Recording::default() };
    let data =
        FigureData { manifest: &directory.manifest, results: &results, recording: &recording };
    let Some(what) = args.what else {
        return list(data);
    };
    let figure = figure(data, &request(args, what)?, style(args)).map_err(usage)?;
    let text = match format {
        FigureFormat::Svg => figure.svg,
        FigureFormat::Csv => figure.csv(),
        FigureFormat::Markdown => figure.markdown(),
        FigureFormat::Latex => figure.latex(),
    };
    let Some(file) = args.output.as_deref().filter(|file| *file != Path::new("-")) else {
        return output::document(&text);
    };
    write_file(file, text.as_bytes())?;
    output::print(&format!("{}\n", file.display()))
}

/// Returns what to write: what the option says, or what the ending of the file says.
fn format(args: &Figure) -> Result<FigureFormat, LabError> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let ending = args.output.as_deref().and_then(Path::extension);
    match ending.map(|ending| ending.to_string_lossy().to_lowercase()).as_deref() {
        None | Some("svg") => Ok(FigureFormat::Svg),
        Some("csv") => Ok(FigureFormat::Csv),
        Some("md") => Ok(FigureFormat::Markdown),
        Some("tex") => Ok(FigureFormat::Latex),
        Some(other) => {
            let reason = format!(
                "figures cannot be written as .{other}; allowed: .svg, .csv, .md and .tex. A PDF \
                 or PNG is made of an SVG: rsvg-convert -f pdf -o fig.pdf fig.svg"
            );
            Err(LabError::Usage { argument: "--output", reason })
        }
    }
}

fn request(args: &Figure, what: What) -> Result<FigureRequest, LabError> {
    Ok(FigureRequest {
        metric: args.metric.clone(),
        flow: args.flow.clone(),
        visit: args.visit,
        point: replay::point(&args.point)?,
        variants: args.variant.clone(),
        along: args.along.clone(),
        series: args.series.clone(),
        link: args.link.clone(),
        run: args.run,
        ..FigureRequest::new(what)
    })
}

fn style(args: &Figure) -> FigureStyle {
    let Figure { width, serif, grey, caption, .. } = *args;
    FigureStyle { width_mm: width, serif, grey, caption }
}

fn usage(error: FigureError) -> LabError {
    LabError::Usage { argument: error.argument, reason: error.reason }
}

/// Prints what the run directory offers.
fn list(data: FigureData<'_>) -> Result<u8, LabError> {
    let mut kinds = Table::new(&[("figure", Align::Left), ("shows", Align::Left)]);
    for (what, found) in offers(data) {
        let shows = found.unwrap_or_else(|lacks| format!("no: {lacks}"));
        kinds.row(vec![what.name().to_owned(), shows]);
    }
    let mut text = kinds.render(false);
    for (option, names) in option_names(data) {
        text += &format!("\n{option}: {names}\n");
    }
    output::print(&text)
}

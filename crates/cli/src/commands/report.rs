//! `bentpipe report`: the report of a run directory again, to read or to change and run.

use crate::args::Report;
use crate::{engine, output};
use bentpipe_lab::LabError;

/// Writes the report that `args` ask for, and prints its path.
pub fn run(args: &Report) -> Result<u8, LabError> {
    let path = if args.editable {
        let engine = engine::find(args.engine.as_deref())?;
        let page = bentpipe_lab::editable(&args.dir, &engine)?;
        let path = args.dir.join("editable.html");
        bentpipe_lab::replace_file(&path, page.as_bytes())?;
        path
    } else {
        bentpipe_lab::rebuild(&args.dir)?
    };
    output::print(&format!("{}\n", path.display()))
}

//! `bentpipe import`: makes a scenario of measurements of a real path.

use crate::args::import::Import as Args;
use crate::output;
use bentpipe_lab::LabError;
use bentpipe_recordings::{Direction, Format, Import, ImportError, Input, Options, Summary};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest file.
const MAX_BYTES: u64 = 256 << 20;

/// Reads the measurements, writes the scenario, and prints what was found.
pub fn run(args: &Args) -> Result<u8, LabError> {
    let import = import(args)?;
    let scenario = args.out.join("scenario.toml");
    let mut text = summary(&import.summary);
    let _ = writeln!(text, "\nTo run it: bentpipe run {}", scenario.display());
    output::print(&text)
}

/// Reads the measurements and writes the scenario, its files and where they are from.
///
/// # Errors
/// A file cannot be read or imported, or the directory is not empty.
pub fn import(args: &Args) -> Result<Import, LabError> {
    let direction = |name: &str| if name == "up" { Direction::Up } else { Direction::Down };
    let given = args.direction.as_deref().map(direction);
    let format = args.format.as_deref().and_then(Format::find);
    let groups =
        [(&args.files, None), (&args.up, Some(Direction::Up)), (&args.down, Some(Direction::Down))];
    let mut inputs = Vec::new();
    for (files, direction) in groups {
        for file in files {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
            inputs.push(Input { name, bytes: bytes(file)?, format, direction });
        }
    }
    let options = Options {
        offset: args.offset,
        interval: args.interval,
        direction: given,
        phase: args.phase.and_then(|phase| phase.0),
        rate: args.rate,
        transfers: [None; 2],
        licence: args.licence.clone(),
    };
    let import = Import::new(inputs, &options).map_err(refused)?;
    check_empty(&args.out)?;
    write(&args.out, &import.files)?;
    Ok(import)
}

fn refused(error: ImportError) -> LabError {
    LabError::Usage { argument: "FILE", reason: error.to_string() }
}

/// Reads a file, or standard input for `-`.
fn bytes(file: &Path) -> Result<Vec<u8>, LabError> {
    let mut bytes = Vec::new();
    let mut take = |source: &mut dyn Read| source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let read = if file == Path::new("-") {
        take(&mut std::io::stdin().lock())
    } else {
        File::open(file).and_then(|mut file| take(&mut file))
    };
    read.map_err(|error| LabError::read(file, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(LabError::read(file, format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Makes the directory to write to, and checks that it is empty.
pub fn check_empty(out: &Path) -> Result<(), LabError> {
    let fail = |error: std::io::Error| LabError::write(out, error);
    bentpipe_files::create_named_dir(out).map_err(fail)?;
    if std::fs::read_dir(out).map_err(fail)?.next().is_some() {
        return Err(LabError::write(out, "it is not empty; allowed: a new or empty directory"));
    }
    Ok(())
}

/// Writes files, with their names, into a directory.
pub fn write(out: &Path, files: &[(String, String)]) -> Result<(), LabError> {
    for (name, text) in files {
        let file = out.join(name);
        bentpipe_files::replace(&file, text.as_bytes())
            .map_err(|error| LabError::write(&file, error))?;
    }
    Ok(())
}

/// Returns the lists of a summary as text.
pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    for (heading, lines) in summary.blocks() {
        let _ = writeln!(text, "{heading}");
        for line in lines {
            let _ = writeln!(text, "  {}", output::printable(line));
        }
    }
    text
}

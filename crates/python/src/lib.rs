//! The extension module `bentpipe._bentpipe` of the Python package `bentpipe`.
//!
//! It holds what needs Rust: plans, runs, tables as Arrow streams, and the whole command. The
//! classes that users see are in Python (`python/bentpipe`) and typed by `_bentpipe.pyi`.

mod cluster;
mod controller;
mod error;
mod events;
mod figure;
mod gym;
mod lists;
mod orbit;
mod packets;
mod plan;
mod recording;
mod results;
mod run;
mod series;
mod table;

use pyo3::prelude::*;

/// The native part of `bentpipe`.
#[pymodule]
mod _bentpipe {
    use pyo3::prelude::*;
    use std::ffi::OsString;
    use std::path::PathBuf;

    #[pymodule_export]
    use crate::cluster::{engine, run_tasks};
    #[pymodule_export]
    use crate::controller::register_controller;
    #[pymodule_export]
    use crate::events::{
        Ack, ControllerConfig, EcnCe, Loss, PathChange, RateSample, Restart, SentPacket,
    };
    #[pymodule_export]
    use crate::figure::{FigureText, interval};
    #[pymodule_export]
    use crate::gym::Episode;
    #[pymodule_export]
    use crate::lists::{cities, constellations, controllers, profiles};
    #[pymodule_export]
    use crate::orbit::{OrbitData, constellation_scenario, survey};
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::recording::import_recording;
    #[pymodule_export]
    use crate::results::RunData;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::table::TableData;

    /// Version of Bentpipe.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command line `args`, whose first entry is the name of the command, and returns the
    /// exit status. `program` is an executable that runs this command.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>, program: PathBuf) -> u8 {
        py.detach(|| bentpipe_cli::main_with(args, &program, Some(&crate::cluster::Clusters)))
    }
}

//! `bentpipe studio`: a local application in the browser that edits scenarios and runs them.

use crate::args::Studio as Arguments;
use crate::output;
use crate::status::{FAILED, OK};
use bentpipe_lab::LabError;
use bentpipe_studio::{Studio, StudioConfig};
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use tokio::signal::unix::{SignalKind, signal};

/// Serves the page until a signal stops it.
pub fn run(args: &Arguments) -> Result<u8, LabError> {
    let store = crate::store::open(&args.store)?;
    let config = StudioConfig {
        directory: args.dir.clone(),
        jobs: args
            .jobs
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN),
        store: store.map(|store| std::sync::Arc::new(store) as _),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Ok(output::refuse(&error.to_string(), FAILED)),
    };
    Ok(runtime.block_on(serve(config, args)))
}

async fn serve(config: StudioConfig, args: &Arguments) -> u8 {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        return output::refuse("signals cannot be received", FAILED);
    };
    let studio = match Studio::open(config, args.port).await {
        Ok(studio) => studio,
        Err(error) => return output::refuse(&error.to_string(), FAILED),
    };
    let url = studio.url();
    eprintln!("studio of {}; Ctrl-C stops it", studio.directory().display());
    // For programs that read it.
    if output::print(&format!("{url}\n")).is_err() {
        return FAILED;
    }
    if !args.no_open && std::io::stderr().is_terminal() {
        open(&url);
    }
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    studio.serve(stop).await;
    OK
}

/// Asks the desktop to show `url`. Without one, the user has the address.
fn open(url: &str) {
    let desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let program = match std::env::consts::OS {
        "macos" => "open",
        _ if desktop => "xdg-open",
        _ => return,
    };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        eprintln!("open the address in a browser ({program}: {error})");
    }
}

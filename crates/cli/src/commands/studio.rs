//! `bentpipe studio`: a local application in the browser that edits scenarios and runs them.

use crate::args::Studio as Arguments;
use crate::output::{self, browser, say};
use crate::service::stop::StopSignals;
use crate::status::{FAILED, OK, USAGE};
use crate::study::jobs;
use bentpipe_lab::LabError;
use bentpipe_studio::{Studio, StudioConfig};
use std::io::IsTerminal;
use std::sync::Arc;

/// Serves the page until a signal stops it. What has ended of a run is then written; a second
/// signal ends that, too.
pub fn run(args: &Arguments) -> Result<u8, LabError> {
    if !args.dir.is_dir() {
        let reason = "it is not a directory; allowed: one with scenarios, or for new ones";
        return Ok(output::refuse(&format!("{}: {reason}", args.dir.display()), USAGE));
    }
    let store = crate::study::store::open(&args.store)?;
    let config = StudioConfig {
        directory: args.dir.clone(),
        jobs: jobs(args.jobs),
        store: store.map(|store| Arc::new(store) as _),
        reuse: !args.store.no_reuse,
        engine: || crate::engine::find(None),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Ok(output::refuse(&error.to_string(), FAILED)),
    };
    let status = runtime.block_on(serve(config, args));
    // Requests that still compute have nobody who waits for their answers.
    runtime.shutdown_background();
    Ok(status)
}

async fn serve(config: StudioConfig, args: &Arguments) -> u8 {
    let mut signals = match StopSignals::new() {
        Ok(signals) => signals,
        Err(error) => return output::refuse(&error.to_string(), FAILED),
    };
    let studio = match Studio::open(config, args.port).await {
        Ok(studio) => studio,
        Err(error) => return output::refuse(&error.to_string(), FAILED),
    };
    let url = studio.url();
    say!("studio of {}; Ctrl-C stops it", studio.directory().display());
    // For programs that read it.
    if output::print(&format!("{url}\n")).is_err() {
        return FAILED;
    }
    if !args.no_open && std::io::stderr().is_terminal() {
        // Not the address with the secret: every user of the machine can read arguments.
        browser::open(&studio.opening_url());
    }
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let at_once = async {
        signals.next().await;
        // It is there until it has ended.
        let _ = stop.send(());
        signals.next().await;
    };
    let served = studio.serve(async {
        let _ = stopped.await;
    });
    tokio::select! {
        () = served => OK,
        () = at_once => FAILED,
    }
}

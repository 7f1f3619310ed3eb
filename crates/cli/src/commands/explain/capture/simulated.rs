//! The transfer of a file on the path that it shows, simulated.

use bentpipe_captures::{CapturedTransfer, PathEstimate};
use bentpipe_lab::Lab;
use bentpipe_results::Results;
use bentpipe_units::{Bytes, Rate, Span};

/// Name of the variant, and of the transfer in tables.
pub(super) const OURS: &str = "bentpipe";

/// Times the rate that was seen that a link is taken to have which was never filled.
pub(super) const FASTER: f64 = 10.0;

/// A path and a transfer as a scenario.
#[derive(Debug, Clone)]
pub(super) struct Simulated {
    pub rtt: Span,
    pub rate: Rate,
    pub queue: Span,
    /// Share of packets that are lost by chance.
    pub loss: f64,
    pub bytes: Bytes,
    pub is_upload: bool,
    /// Number of runs, each with other losses.
    pub runs: usize,
    /// Keys of the variant; none for Bentpipe's defaults.
    pub keys: String,
}

impl Simulated {
    /// Returns the transfer with Bentpipe's defaults, on the path of the file.
    pub fn of(recorded: &CapturedTransfer) -> Self {
        let PathEstimate { rtt, rate, queue, is_full, loss, .. } = recorded.path;
        Self {
            rtt,
            rate,
            // A queue that was never full has at least the room that was used.
            queue: if is_full { queue } else { queue.max(rtt) }.max(Span::from_millis(1)),
            loss,
            bytes: recorded.bytes,
            is_upload: recorded.is_upload,
            runs: 1,
            keys: String::new(),
        }
    }

    /// Returns the scenario.
    pub fn text(&self) -> String {
        let Self { rtt, rate, queue, loss, bytes, is_upload, runs, keys } = self;
        let delay = rtt.as_nanos() / 2000;
        let queue = format!("{} us", queue.as_nanos() / 1000);
        let loss = if *loss > 0.0 { format!(", loss = {loss:.6}") } else { String::new() };
        let data = format!("{{ rate = \"{} bps\", delay = \"{delay} us\"", rate.as_bps());
        let full = format!("{data}, queue = \"{queue}\"{loss} }}");
        let empty = format!("{data} }}");
        let (forward, back, work) =
            if *is_upload { (empty, full, "upload") } else { (full, empty, "download") };
        let repeat = if *runs > 1 { format!("repeat = {runs}\n") } else { String::new() };
        format!(
            "name = \"recorded-path\"\n{repeat}\
             title = \"The transfer of a trace, on the path that it shows\"\n\n\
             [path]\nforward = {forward}\nreturn = {back}\n\n\
             [workload]\n{work} = \"{} B\"\n\n[[variant]]\nname = \"{OURS}\"\n{keys}",
            bytes.get()
        )
    }

    /// Runs it; `None` if it cannot be, as on a path that is faster than any.
    pub fn run(&self) -> Option<Results> {
        Lab::new().run(&self.text()).ok()
    }

    /// Returns its completion time in seconds, the median of its runs; `None` if none completed.
    pub fn completion_s(&self) -> Option<f64> {
        let mut times = completions(&self.run()?);
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

/// Returns the completion times of all runs that completed, in seconds.
pub(super) fn completions(results: &Results) -> Vec<f64> {
    let flows = results.runs.iter().filter_map(|run| run.flows.first());
    flows.filter_map(|flow| flow.metrics.completion_s).collect()
}

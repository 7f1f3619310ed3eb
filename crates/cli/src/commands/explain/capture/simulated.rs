//! The transfer of a file on the path that it shows, simulated.

use bentpipe_captures::{CapturedTransfer, PathEstimate};
use bentpipe_lab::Lab;
use bentpipe_results::Results;
use bentpipe_results::explanation::{Account, accounts};
use bentpipe_units::{Bytes, Rate, Span};

/// Name of the variant, and of the transfer in tables.
pub(super) const OURS: &str = "bentpipe";

/// Times the rate that was seen that a link is taken to have which was never filled.
pub(super) const FASTER: f64 = 10.0;

/// Most bytes that are simulated, so that a file of a gigabyte takes no minute: four times what the
/// path holds, after which a window no longer grows much, within these bounds.
const MOST: (Bytes, Bytes) = (Bytes::from_mb(32), Bytes::from_mb(128));
const MOST_FLIGHTS: f64 = 4.0;

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

    /// Runs it; `None` if it cannot be, as on a path that is faster than any. Of a longer transfer
    /// than [`MOST`], its begin is run once, and what follows takes as long for its bytes as the
    /// second half of that.
    pub fn run(&self) -> Option<Run> {
        let lab = |transfer: &Self| Lab::new().run(&transfer.text()).ok();
        let flight = self.rate.bytes_in(self.rtt).mul_f64(MOST_FLIGHTS);
        let most = flight.clamp(MOST.0, MOST.1);
        if self.bytes <= most {
            return Some(Run { results: lab(self)?, half: None });
        }
        let of = |bytes| Self { bytes, runs: 1, ..self.clone() };
        let half = Bytes::new(most.get() / 2);
        let times = self.bytes.saturating_sub(most).get() as f64 / half.get() as f64;
        Some(Run { results: lab(&of(most))?, half: Some((lab(&of(half))?, times)) })
    }

    /// Returns true if the path can be simulated: a transfer of one packet is.
    pub fn is_possible(&self) -> bool {
        let of = |bytes| Self { bytes, runs: 1, ..self.clone() };
        Lab::new().run(&of(Bytes::new(1000)).text()).is_ok()
    }

    /// Returns its completion time in seconds, the median of its runs; `None` if none completed.
    pub fn completion_s(&self) -> Option<f64> {
        let mut times = self.run()?.completions();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

/// What a transfer took.
pub(super) struct Run {
    results: Results,
    /// Of a longer transfer than [`MOST`], that of half of these bytes, and how many times what the
    /// other half took the rest takes.
    half: Option<(Results, f64)>,
}

impl Run {
    /// Returns the completion times of all runs that completed, in seconds.
    pub fn completions(&self) -> Vec<f64> {
        let times = completions(&self.results);
        match &self.half {
            None => times,
            Some((half, more)) => {
                let both = times.into_iter().zip(completions(half));
                both.map(|(all, half)| beyond(all, half, *more)).collect()
            }
        }
    }

    /// Returns where the time of its median run went; `None` if none completed.
    pub fn account(&self) -> Option<Account<'_>> {
        let mut account = accounts(&self.results).into_iter().next()?;
        let Some((half, more)) = &self.half else { return Some(account) };
        let of_half = accounts(half).into_iter().next()?;
        for (all, half) in account.parts.iter_mut().zip(of_half.parts) {
            *all = beyond(*all, half, *more);
        }
        account.completion_s = beyond(account.completion_s, of_half.completion_s, *more);
        let Account { variant, point, completion_s, parts, .. } = account;
        Some(Account::single(variant, point, completion_s, parts))
    }
}

/// Returns what took `all` seconds, `half` of them for the first half, with `more` times what the
/// second half took.
fn beyond(all: f64, half: f64, more: f64) -> f64 {
    all + (all - half).max(0.0) * more
}

/// Returns the completion times of all runs that completed, in seconds.
fn completions(results: &Results) -> Vec<f64> {
    let flows = results.runs.iter().filter_map(|run| run.flows.first());
    flows.filter_map(|flow| flow.metrics.completion_s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_simulated_takes_as_long_as_what_is() {
        let of = |mb: u64| Simulated {
            rtt: Span::from_millis(100),
            rate: Rate::from_mbps(20),
            queue: Span::from_millis(100),
            loss: 0.0,
            bytes: Bytes::from_mb(mb),
            is_upload: false,
            runs: 1,
            keys: String::new(),
        };
        // 40 MB take 16.7 s with headers, and each further one 0.417 s.
        let whole = Lab::new().run(&of(40).text()).expect("a run");
        let whole = completions(&whole).first().copied().expect("complete");
        let run = of(40).run().expect("a run");
        assert!(run.half.is_some(), "of more than is simulated");
        let said = run.completions().first().copied().expect("complete");
        assert!((said - whole).abs() < 0.02 * whole, "{said} for {whole}");
        let account = run.account().expect("an account");
        let sum: f64 = account.parts.iter().sum();
        assert!((account.completion_s - said).abs() < 1e-9 && (sum - said).abs() < 0.05, "{sum}");
        assert!(of(30).run().expect("a run").half.is_none());
    }
}

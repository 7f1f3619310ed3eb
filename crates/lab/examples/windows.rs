//! What flow control costs and holds with windows that tune themselves: every profile, several
//! starts, two first windows.
//!
//! ```text
//! cargo run --release -p bentpipe-lab --example windows -- [--profile NAME] [--set KEY=VALUE]...
//! ```
//!
//! For each transfer: the longest time at a stretch that the sender stood still for want of credit,
//! in milliseconds and in round trips of the loaded path (99th percentile); the most that the
//! receiver held and had promised, in multiples of rate times loaded round trip. The send buffer
//! never limits. `!` marks what misses the aims: one round trip at a time, and twice that product
//! where nothing is lost at random, four times where something is. `--set` adds a key to
//! `[defaults]`, such as `credit_after=0.125`.

use bentpipe_lab::{Changes, Plan};
use bentpipe_scenario::profiles::profiles;
use bentpipe_sim::{FlowOutcome, run};
use bentpipe_units::{Rate, Span};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Rates below this carry 10 MB only: 100 MB would take minutes and show nothing else.
const FAST: Rate = Rate::from_mbps(40);
/// Variants by name, as keys.
const SLOW_STARTS: [(&str, &str); 4] = [
    ("standard", "slow_start = \"standard\"\nresume = \"none\""),
    ("auto", "slow_start = \"auto\"\nresume = \"none\""),
    ("careful", "slow_start = \"standard\"\nresume = \"careful\"\nvisit = \"repeat\""),
    ("jump", "slow_start = \"standard\"\nresume = \"jump\"\nvisit = \"repeat\""),
];

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)).and_then(|options| study(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Options {
    profile: Option<String>,
    set: Vec<(String, String)>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_default();
            match (word.as_str(), value.split_once('=')) {
                ("--profile", _) => options.profile = Some(value),
                ("--set", Some((key, value))) => {
                    options.set.push((key.to_owned(), value.to_owned()))
                }
                _ => {
                    return Err(format!(
                        "`{word} {value}`; allowed: --profile NAME, --set KEY=VALUE"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn study(options: &Options) -> Result<(), String> {
    println!(
        "{:<16} {:<9} {:>6} {:>7} {:>8} {:>7} {:>9} {:>5} {:>6} {:>9}",
        "profile",
        "start",
        "first",
        "MB",
        "done s",
        "p99 ms",
        "still ms",
        "RTTs",
        "held",
        "promised"
    );
    for profile in profiles() {
        let wanted = options.profile.as_ref().is_none_or(|name| *name == profile.name);
        let rate = Rate::over(profile.bdp(), profile.rtt());
        for size in [10, 100] {
            if !wanted || (size == 100 && rate < FAST) {
                continue;
            }
            for (start, keys) in SLOW_STARTS {
                for first in ["1.25 MB", "64 kB"] {
                    let text = scenario(&profile.name, size, keys, first, options);
                    let plan = Plan::parse("windows", &text, Path::new("."), &Changes::default())
                        .map_err(|e| e.to_string())?;
                    let Some(task) = plan.tasks.first() else { continue };
                    let spec = plan.spec(*task).map_err(|error| error.to_string())?;
                    let outcome =
                        run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
                    print_row(&profile.name, start, first, size, rate, &outcome.flows[0]);
                }
            }
        }
    }
    Ok(())
}

fn scenario(profile: &str, size: u64, keys: &str, first: &str, options: &Options) -> String {
    let set: String = options.set.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!(
        "name = \"windows\"\nseed = 1\ntime_limit = \"20 min\"\n[path]\nprofile \
            = \"{profile}\"\n[workload]\ndownload = \"{size} MB\"\n\
         [defaults]\ncongestion = \"cubic\"\nack = \"stack\"\nflow_control.connection_window \
         = \"tuned\"\n\
         flow_control.initial_receive_window = \"{first}\"\nflow_control.max_receive_window \
         = \"256 MB\"\n\
         flow_control.send_buffer = \"1 GB\"\n{keys}\n{set}"
    )
}

fn print_row(profile: &str, start: &str, first: &str, size: u64, rate: Rate, flow: &FlowOutcome) {
    let loaded = flow.rtt_p99.unwrap_or_default();
    let still = flow.flow_control_blocked_longest.unwrap_or_default();
    let credit = flow.credit.unwrap_or_default();
    let product = rate.bytes_in(loaded).get().max(1) as f64;
    let (held, promised) =
        (credit.max_held.get() as f64 / product, credit.max_window.get() as f64 / product);
    let lossy = flow.packets_lost_random > 0;
    let limit = if lossy { 4.0 } else { 2.0 };
    let rtts = still.as_secs_f64() / loaded.max(Span::from_nanos(1)).as_secs_f64();
    let done = flow.completion.filter(|_| flow.completed).map_or(f64::NAN, Span::as_secs_f64);
    let miss = |bad: bool| if bad { "!" } else { " " };
    println!(
        "{profile:<16} {start:<9} {first:>7} {size:>6} {done:>8.2} {:>7.0} {:>8.0}{} {rtts:>5.2} \
            {held:>6.2} {promised:>8.2}{}{}",
        loaded.as_millis_f64(),
        still.as_millis_f64(),
        miss(rtts > 1.0),
        miss(promised > limit),
        if lossy { " lossy" } else { "" },
    );
}

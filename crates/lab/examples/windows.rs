//! Measures the cost and the memory of flow control with automatically tuned windows, for every
//! profile, several slow-start and resumption settings, and two initial windows.
//!
//! ```text
//! cargo run --release -p bentpipe-lab --example windows -- [--profile NAME] [--set KEY=VALUE]...
//! ```
//!
//! Prints for each transfer:
//!
//! - the longest time for which flow control blocked the sender, in milliseconds and in loaded RTTs
//!   (99th percentile of the RTT),
//! - the largest receive buffer and receive window, in multiples of the loaded BDP (rate times
//!   loaded RTT).
//!
//! The send buffer never limits the sender. `!` marks missed targets: blocked for at most one RTT,
//! and a window of at most two BDP without random loss, four BDP with it. `--set` adds a key to
//! `[defaults]`, such as `flow_control.window_update_fraction=0.125`.

use bentpipe_lab::{Changes, Plan};
use bentpipe_scenario::profiles::profiles;
use bentpipe_sim::{FlowOutcome, run};
use bentpipe_units::{Rate, Span};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Smallest rate with 100 MB downloads. At lower rates they take minutes and give the same results.
const FAST: Rate = Rate::from_mbps(40);
/// Names and keys of the variants.
const VARIANTS: [(&str, &str); 4] = [
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
                        "`{word} {value}` is not an option; allowed: --profile NAME, \
                            --set KEY=VALUE"
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
        "variant",
        "initial",
        "MB",
        "done s",
        "p99 ms",
        "blocked",
        "RTTs",
        "buffer",
        "window"
    );
    for profile in profiles() {
        let wanted = options.profile.as_ref().is_none_or(|name| *name == profile.name);
        let rate = Rate::over(profile.bdp(), profile.rtt());
        for size in [10, 100] {
            if !wanted || (size == 100 && rate < FAST) {
                continue;
            }
            for (variant, keys) in VARIANTS {
                for initial in ["1.25 MB", "64 kB"] {
                    let text = scenario(&profile.name, size, keys, initial, options);
                    let plan = Plan::parse("windows", &text, Path::new("."), &Changes::default())
                        .map_err(|e| e.to_string())?;
                    let Some(task) = plan.tasks.first() else { continue };
                    let spec = plan.spec(*task).map_err(|error| error.to_string())?;
                    let outcome =
                        run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
                    print_row(&profile.name, variant, initial, size, rate, &outcome.flows[0]);
                }
            }
        }
    }
    Ok(())
}

fn scenario(profile: &str, size: u64, keys: &str, initial: &str, options: &Options) -> String {
    let set: String = options.set.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!(
        "name = \"windows\"\nseed = 1\ntime_limit = \"20 min\"\n[path]\nprofile = \"{profile}\"\n\
         [workload]\ndownload = \"{size} MB\"\n[defaults]\ncongestion = \"cubic\"\n\
         ack = \"stack\"\nflow_control.connection_window = \"tuned\"\n\
         flow_control.initial_receive_window = \"{initial}\"\n\
         flow_control.max_receive_window = \"256 MB\"\nflow_control.send_buffer = \"1 GB\"\n\
         {keys}\n{set}"
    )
}

fn print_row(
    profile: &str,
    variant: &str,
    initial: &str,
    size: u64,
    rate: Rate,
    flow: &FlowOutcome,
) {
    let loaded = flow.rtt_p99.unwrap_or_default();
    let blocked = flow.flow_control_blocked_longest.unwrap_or_default();
    let stats = flow.flow_control.unwrap_or_default();
    let bdp = rate.bytes_in(loaded).get().max(1) as f64;
    let (buffer, window) = (stats.max_held.get() as f64 / bdp, stats.max_window.get() as f64 / bdp);
    let lossy = flow.packets_lost_channel > 0;
    let limit = if lossy { 4.0 } else { 2.0 };
    let rtts = blocked.as_secs_f64() / loaded.max(Span::from_nanos(1)).as_secs_f64();
    let done = flow.completion.filter(|_| flow.completed).map_or(f64::NAN, Span::as_secs_f64);
    let miss = |bad: bool| if bad { "!" } else { " " };
    println!(
        "{profile:<16} {variant:<9} {initial:>7} {size:>6} {done:>8.2} {:>7.0} {:>8.0}{} \
            {rtts:>5.2} {buffer:>6.2} {window:>8.2}{}{}",
        loaded.as_millis_f64(),
        blocked.as_millis_f64(),
        miss(rtts > 1.0),
        miss(window > limit),
        if lossy { " lossy" } else { "" },
    );
}

//! `bentpipe explain`: where the time of each variant went, and what made the difference.

mod account;
mod capture;

pub(super) use capture::json_schema;

use crate::args::Explain;
use crate::output;
use crate::summary::sentences::{Labels, line, point};
use account::{SMALLEST, document, table};
use bentpipe_lab::{LabError, RunDirectory};
use bentpipe_results::explanation::{
    Account, accounts, critical_path, difference, groups, pairs_of, statement,
};
use bentpipe_results::{Episode, Failure, Object, Run};
use bentpipe_timeseries::TimePart;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Explains the runs in a directory, or a trace.
pub fn run(args: &Explain) -> Result<u8, LabError> {
    if is_trace(&args.path) {
        return capture::run(args);
    }
    if !args.path.is_dir() {
        let reason = match args.path.metadata() {
            Err(error) => error.to_string(),
            Ok(_) => "it is neither a file nor a directory".to_owned(),
        };
        let allowed = "allowed: a directory that `bentpipe run` wrote, a qlog file, or a pcap or \
            pcapng capture";
        return Err(LabError::read(&args.path, format!("{reason}; {allowed}")));
    }
    if let Some(argument) = args.packets_argument().or(args.keys.is_some().then_some("--keys")) {
        let reason = "it belongs to a qlog file or a capture; allowed with one".to_owned();
        return Err(LabError::Usage { argument, reason });
    }
    let directory = RunDirectory::open(&args.path)?;
    let results = directory.results()?;
    let all = accounts(&results);
    let failed = bentpipe_results::failures(&results);
    if all.is_empty() && failed.is_empty() {
        let reason = "its results have no flows to explain: they are of populations, or of an \
            older version; allowed: a directory of `bentpipe run`";
        return Err(LabError::Usage { argument: "DIR", reason: reason.to_owned() });
    }
    known(&all, &failed, &args.variant)?;
    let chosen = choose(all, &args.variant);
    let named = |failure: &&Failure<'_>| {
        args.variant.is_empty() || args.variant.iter().any(|name| name == failure.variant)
    };
    let failed: Vec<&Failure<'_>> = failed.iter().filter(named).collect();
    if args.json {
        let all = chosen.iter().map(|one| json!(document(one)));
        let all = all.chain(failed.iter().map(|one| json!(one)));
        let document = Value::Array(all.collect());
        return output::document(&format!("{document:#}\n"));
    }
    let failures: String = failed.iter().map(|one| line(one, &failed)).collect();
    output::print(&(failures + &text(&chosen, &results.runs, &args.path)))
}

/// Returns true if the path is not of a directory with runs: a file, a pipe, or standard input.
fn is_trace(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|one| one.is_file() || is_pipe(&one))
}

#[cfg(unix)]
fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

/// Refuses names of variants that the results do not have.
fn known(all: &[Account<'_>], failed: &[Failure<'_>], names: &[String]) -> Result<(), LabError> {
    let mut variants: Vec<&str> = Vec::new();
    let of_failed = failed.iter().map(|failure| failure.variant);
    for variant in all.iter().map(|account| account.variant).chain(of_failed) {
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    match names.iter().find(|name| !variants.contains(&name.as_str())) {
        Some(name) => {
            let reason = format!("no variant is named `{name}`; allowed: {}", variants.join(", "));
            Err(LabError::Usage { argument: "--variant", reason })
        }
        None => Ok(()),
    }
}

/// Returns the accounts of the named variants, in the order of the names; all without names.
fn choose<'a>(all: Vec<Account<'a>>, names: &[String]) -> Vec<Account<'a>> {
    if names.is_empty() {
        return all;
    }
    let mut chosen = Vec::new();
    for name in names {
        chosen.extend(all.iter().filter(|account| account.variant == name).cloned());
    }
    chosen
}

/// Returns the whole account: a table and sentences for each flow and sweep point, then the moments
/// of each variant.
fn text(accounts: &[Account<'_>], runs: &[Run], directory: &Path) -> String {
    let mut text = String::new();
    if accounts.is_empty() {
        return text;
    }
    let labels = Labels::new(accounts);
    for group in groups(accounts) {
        if !group[0].point.is_empty() || labels.flows {
            let _ = writeln!(text, "flow {} {}", group[0].flow, point(group[0]));
        }
        if group.iter().any(|account| account.has_parts()) {
            text.push_str(&table(&group, labels.visits));
            text.push('\n');
        }
        for account in &group {
            let _ = writeln!(text, "{} {}", labels.name(account), statement(account));
        }
        for (base, other) in pairs_of(&group) {
            let words = difference(base, other).text_with(&labels.among(base));
            let _ = writeln!(text, "{} {words}", labels.name(other));
        }
        for account in &group {
            text.push_str(&moments(account, &labels, runs, directory));
        }
        text.push('\n');
    }
    text
}

/// Returns the episodes of the typical run of an account, with the command that replays it.
fn moments(account: &Account<'_>, labels: &Labels, runs: &[Run], directory: &Path) -> String {
    let Some(number) = account.typical_run() else { return String::new() };
    let same = |run: &&Run| {
        run.run == number && run.variant == account.variant && run.point == *account.point
    };
    let flow = runs.iter().find(same).and_then(|run| {
        run.flows.iter().find(|flow| flow.name == account.flow && flow.visit == account.visit)
    });
    let Some(flow) = flow else { return String::new() };
    let mut text = format!("\n{}, run {number}:\n", labels.name(account));
    let least = SMALLEST.0.max(SMALLEST.1 * account.completion_s);
    for Episode { part, from_s, to_s, time_s } in &flow.episodes {
        if *time_s < least {
            continue;
        }
        let words = TimePart::find(part).map(TimePart::words);
        let words = words.unwrap_or(part);
        let _ = writeln!(text, "  {from_s:7.3} to {to_s:7.3} s  {time_s:7.3} s {words}");
    }
    text.push_str(&object_times(&flow.objects));
    let _ = writeln!(text, "  {}", replay(account, number, directory));
    text
}

/// Returns the times of the objects on the critical path of a page; nothing for a single object.
fn object_times(objects: &[Object]) -> String {
    if objects.len() < 2 {
        return String::new();
    }
    let path = critical_path(objects).into_iter();
    let times = path.filter_map(|Object { name, start_s, completion_s, .. }| {
        Some(format!("  {start_s:7.3} to {:7.3} s  {name}\n", (*completion_s)?))
    });
    format!("  critical path of {} objects:\n{}", objects.len(), times.collect::<String>())
}

/// Returns the command that runs a run again, with every recording.
fn replay(account: &Account<'_>, number: u64, directory: &Path) -> String {
    let mut command = format!("bentpipe replay {}", quoted(&directory.display().to_string()));
    let _ = write!(command, " --variant {} --run {number}", quoted(account.variant));
    for (key, value) in account.point {
        let _ = write!(command, " --point {}", quoted(&format!("{key}={value}")));
    }
    command
}

/// Returns a word for a shell, in quotes if it needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

//! `bentpipe explain`: where the time of each variant went, and what made the difference.

mod account;
mod trace;

use crate::args::Explain;
use crate::output;
use account::{SMALLEST, document, table};
use bentpipe_lab::{LabError, RunDirectory};
use bentpipe_results::explanation::{
    Account, accounts, composition, critical_path, difference, groups, pairs, pairs_of,
};
use bentpipe_results::{Episode, Object, Results, Run, TIME_PARTS};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Most sentences below the table of `bentpipe run`.
const MAX_SENTENCES: usize = 8;

/// Explains the runs in a directory, or a trace.
pub fn run(args: &Explain) -> Result<u8, LabError> {
    if args.path.is_file() {
        return trace::run(args);
    }
    for (argument, given) in [
        ("--rate", args.rate.is_some()),
        ("--scenario", args.scenario.is_some()),
        ("--keys", args.keys.is_some()),
    ] {
        if given {
            let reason = "it belongs to a qlog file or a capture; allowed with one".to_owned();
            return Err(LabError::Usage { argument, reason });
        }
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
    let directory = RunDirectory::open(&args.path)?;
    let results = directory.results()?;
    let all = accounts(&results);
    if all.is_empty() {
        let reason = "its results have no time budgets: no transfer is complete, or the runs were \
            in real time over proxies or orbits, or by an older version; allowed: a directory of \
            `bentpipe run`";
        return Err(LabError::Usage { argument: "DIR", reason: reason.to_owned() });
    }
    let chosen = choose(all, &args.variant)?;
    if args.json {
        let document = Value::Array(chosen.iter().map(document).collect());
        return output::document(&format!("{document:#}\n"));
    }
    output::print(&text(&chosen, &results.runs, &args.path))
}

/// Returns the accounts of the named variants, in the order of the names; all without names.
fn choose<'a>(all: Vec<Account<'a>>, names: &[String]) -> Result<Vec<Account<'a>>, LabError> {
    if names.is_empty() {
        return Ok(all);
    }
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<_> = all.iter().filter(|account| account.variant == name).cloned().collect();
        if found.is_empty() {
            let mut known: Vec<&str> = all.iter().map(|account| account.variant).collect();
            known.dedup();
            let reason = format!("no variant is named `{name}`; allowed: {}", known.join(", "));
            return Err(LabError::Usage { argument: "--variant", reason });
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

/// Returns the sentences below the table of `bentpipe run`: where the time of the first variant
/// went, and what makes the others faster or slower.
pub fn sentences(results: &Results) -> String {
    let accounts = accounts(results);
    let Some(first) = accounts.first() else { return String::new() };
    let labels = Labels::new(&accounts);
    let mut lines = vec![format!("{} took {}", labels.name(first), composition(first))];
    for (base, other) in pairs(&accounts) {
        let text = difference(base, other).text_with(&labels.among(base));
        lines.push(format!("{} is {text}", labels.name(other)));
    }
    let more = lines.len().saturating_sub(MAX_SENTENCES);
    lines.truncate(MAX_SENTENCES);
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if more > 0 {
        let _ = writeln!(text, "{more} more: bentpipe explain DIR");
    }
    text
}

/// Names accounts by what distinguishes them.
struct Labels {
    flows: bool,
    visits: bool,
}

impl Labels {
    fn new(accounts: &[Account<'_>]) -> Self {
        let first = &accounts[0];
        let same_case = |a: &Account<'_>, b: &Account<'_>| {
            a.variant == b.variant && a.point == b.point && a.flow == b.flow
        };
        Self {
            flows: accounts.iter().any(|account| account.flow != first.flow),
            visits: accounts.windows(2).any(|pair| same_case(&pair[0], &pair[1])),
        }
    }

    /// Returns the name of an account among those of its flow at its sweep point.
    fn among(&self, account: &Account<'_>) -> String {
        let mut name = account.variant.to_owned();
        if self.visits {
            let _ = write!(name, ", visit {}", account.visit);
        }
        name
    }

    fn name(&self, account: &Account<'_>) -> String {
        let mut name = self.among(account);
        if self.flows {
            let _ = write!(name, ", flow {}", account.flow);
        }
        if !account.point.is_empty() {
            let _ = write!(name, " at {}", point(account));
        }
        name
    }
}

/// Returns the swept values of an account.
fn point(account: &Account<'_>) -> String {
    let values = account
        .point
        .iter()
        .map(|(key, value)| format!("{} {value}", key.rsplit('.').next().unwrap_or_default()));
    values.collect::<Vec<_>>().join(", ")
}

/// Returns the whole account: a table and sentences for each flow and sweep point, then the moments
/// of each variant.
fn text(accounts: &[Account<'_>], runs: &[Run], directory: &Path) -> String {
    let mut text = String::new();
    let labels = Labels::new(accounts);
    for group in groups(accounts) {
        if !group[0].point.is_empty() || labels.flows {
            let _ = writeln!(text, "flow {} {}", group[0].flow, point(group[0]));
        }
        text.push_str(&table(&group, labels.visits));
        text.push('\n');
        for account in &group {
            let _ = writeln!(text, "{} took {}", labels.name(account), composition(account));
        }
        for (base, other) in pairs_of(&group) {
            let words = difference(base, other).text_with(&labels.among(base));
            let _ = writeln!(text, "{} is {words}", labels.name(other));
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
    let least = SMALLEST.0.max(SMALLEST.1 * account.mean_s());
    for Episode { part, from_s, to_s, time_s } in &flow.episodes {
        if *time_s < least {
            continue;
        }
        let words = TIME_PARTS.iter().find(|known| known.name == part).map(|known| known.words);
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

//! `bentpipe explain`: where the time of each variant went, and what made the difference.

mod account;
mod capture;

use crate::args::Explain;
use crate::output;
use account::{SMALLEST, document, table};
use bentpipe_lab::{LabError, RunDirectory};
use bentpipe_results::explanation::{
    Account, accounts, critical_path, difference, groups, pairs, pairs_of, statement,
};
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::{
    Episode, Failure, Headlines, Object, Results, Run, Stats, find_shared, point_text, values,
};
use bentpipe_timeseries::TimePart;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Most sentences below the table of `bentpipe run`.
const MAX_SENTENCES: usize = 8;

/// Explains the runs in a directory, or a trace.
pub fn run(args: &Explain) -> Result<u8, LabError> {
    if args.path.is_file() {
        return capture::run(args);
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
        let all = chosen.iter().map(document).chain(failed.iter().map(|one| json!(one)));
        let document = Value::Array(all.collect());
        return output::document(&format!("{document:#}\n"));
    }
    let failures: String = failed.iter().map(|one| line(one, &failed)).collect();
    output::print(&(failures + &text(&chosen, &results.runs, &args.path)))
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

/// Most failures below a table of results.
const MAX_FAILURES: usize = 12;

/// Returns a line for each case that did not complete; empty if all did.
pub fn failures(results: &Results) -> String {
    let failed = bentpipe_results::failures(results);
    let failed: Vec<&Failure<'_>> = failed.iter().collect();
    let mut text: String =
        failed.iter().take(MAX_FAILURES).map(|failure| line(failure, &failed)).collect();
    let more = failed.len().saturating_sub(MAX_FAILURES);
    if more > 0 {
        let _ = writeln!(text, "{more} more did not complete: see the report or results.json");
    }
    text
}

/// Returns a failure as a line. `all` are those that it must be distinguished from.
fn line(failure: &Failure<'_>, all: &[&Failure<'_>]) -> String {
    let flows = all.iter().any(|other| other.flow != failure.flow);
    let visits = all.iter().any(|other| other.visit != failure.visit);
    format!("{} {}\n", failure.name(flows, visits), failure.text())
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

/// Returns the sentences below the table of `bentpipe run`: how flows that compete shared the path,
/// what the first variant measured and where its time went, and how the others compare with it.
pub fn sentences(results: &Results) -> String {
    let accounts = accounts(results);
    let headlines = Headlines::of(results);
    let mut lines = shares(results, &headlines);
    lines.extend(named_by_scenario(results));
    let is_share = |account: &Account<'_>| {
        headlines.get(account.flow, account.visit).is_some_and(|one| one.is_share())
    };
    let alone: Vec<Account<'_>> =
        accounts.into_iter().filter(|account| !is_share(account)).collect();
    if !alone.is_empty() {
        let labels = Labels::new(&alone);
        // Each metric that flows are about begins with the first that has it.
        for (index, first) in alone.iter().enumerate() {
            if alone[..index].iter().all(|other| other.row.name != first.row.name) {
                lines.push(format!("{} {}", labels.name(first), statement(first)));
            }
        }
        for (base, other) in pairs(&alone) {
            let text = difference(base, other).text_with(&labels.among(base));
            lines.push(format!("{} {text}", labels.name(other)));
        }
    }
    let more = lines.len().saturating_sub(MAX_SENTENCES);
    lines.truncate(MAX_SENTENCES);
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if more > 0 {
        let _ = writeln!(text, "{more} more: see the report, or `bentpipe explain` its directory");
    }
    text
}

/// Returns a line for each variant and point with flows that are compared by their shares.
fn shares(results: &Results, headlines: &Headlines) -> Vec<String> {
    let median = |runs: &[Run], flow: &str, visit, metric| {
        Stats::of(&values(runs, flow, visit, metric)).map(|stats| stats.median)
    };
    let cases = results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point);
    let line = |runs: &[Run]| {
        let each = headlines.iter().filter(|one| one.is_share()).filter_map(|one| {
            let share = median(runs, &one.flow, one.visit, one.row.name)?;
            Some(format!("`{}` received {share:.1} %", one.flow))
        });
        let each: Vec<String> = each.collect();
        let total = median(runs, ALL_FLOWS, 1, "aggregate_goodput_mbps")?;
        let jain = median(runs, ALL_FLOWS, 1, "jain_index")?;
        let n = runs.iter().filter(|run| run.fairness.is_some()).count();
        let medians = if n > 1 { format!(" (medians of {n} runs)") } else { String::new() };
        let total = format!("{total:.3} Mbps together, Jain's index {jain:.3}");
        (!each.is_empty())
            .then(|| format!("{} {}; {total}{medians}", case_name(&runs[0]), each.join(", ")))
    };
    cases.filter_map(line).collect()
}

/// Returns a line for each variant and point with its value of the metric that the scenario names,
/// if that is one of all flows together.
fn named_by_scenario(results: &Results) -> Vec<String> {
    let Some(name) = results.headline.as_deref().filter(|name| find_shared(name).is_some()) else {
        return Vec::new();
    };
    let cases = results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point);
    let line = |runs: &[Run]| {
        let stats = Stats::of(&values(runs, ALL_FLOWS, 1, name))?;
        let median =
            if stats.n > 1 { format!(" (median of {} runs)", stats.n) } else { String::new() };
        let value = crate::result_cells::number(stats.median);
        Some(format!("{} has {name} {value}{median}", case_name(&runs[0])))
    };
    cases.filter_map(line).collect()
}

/// Returns the variant and the point of a run.
fn case_name(run: &Run) -> String {
    match run.point.is_empty() {
        true => run.variant.clone(),
        false => format!("{} at {}", run.variant, point_text(&run.point)),
    }
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

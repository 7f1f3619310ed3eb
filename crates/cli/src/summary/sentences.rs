//! What happened, in sentences: transfers that did not complete, and where time went.

use super::cells::number;
use bentpipe_results::explanation::{Account, accounts, difference, pairs, statement};
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::{Failure, Headlines, Results, Run, Stats, find_shared, point_text, values};
use std::fmt::Write;

/// Most sentences below the table of `bentpipe run`.
const MAX_SENTENCES: usize = 8;

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
pub fn line(failure: &Failure<'_>, all: &[&Failure<'_>]) -> String {
    let flows = all.iter().any(|other| other.flow != failure.flow);
    let visits = all.iter().any(|other| other.visit != failure.visit);
    format!("{} {}\n", failure.name(flows, visits), failure.text())
}

/// Returns the sentences below the table of `bentpipe run`: how flows that compete shared the path,
/// what the first variant measured and where its time went, and how the others compare with it.
pub fn sentences(results: &Results) -> String {
    let accounts = accounts(results);
    let headlines = Headlines::of(results);
    // Flows that are compared by their shares have names in the other sentences, too.
    let labels = accounts.first().map(|_| Labels::new(&accounts));
    let mut lines = shares(results, &headlines);
    lines.extend(named_by_scenario(results));
    let is_share = |account: &Account<'_>| {
        headlines.get(account.flow, account.visit).is_some_and(|one| one.is_share())
    };
    let alone: Vec<Account<'_>> =
        accounts.into_iter().filter(|account| !is_share(account)).collect();
    if let Some(labels) = labels {
        let pairs = pairs(&alone);
        let is_compared = |one: &Account<'_>| {
            pairs.iter().any(|(base, other)| base.flow == one.flow || other.flow == one.flow)
        };
        // Each metric that flows are about begins with the first that has it. A flow that is not
        // compared has no other sentence.
        for (index, first) in alone.iter().enumerate() {
            let before = &alone[..index];
            let is_first = before.iter().all(|other| other.row.name != first.row.name);
            let of_flow = before.iter().all(|other| other.flow != first.flow);
            if is_first || of_flow && !is_compared(first) {
                lines.push(format!("{} {}", labels.name(first), statement(first)));
            }
        }
        for (base, other) in pairs {
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
        // Those of the table are of each flow's whole time.
        let total =
            format!("while all were active {total:.3} Mbps together, Jain's index {jain:.3}");
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
        let value = number(stats.median);
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
pub struct Labels {
    /// True if the accounts are of several flows.
    pub flows: bool,
    /// True if they are of several visits of a flow.
    pub visits: bool,
}

impl Labels {
    /// Creates names for these accounts.
    pub fn new(accounts: &[Account<'_>]) -> Self {
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
    pub fn among(&self, account: &Account<'_>) -> String {
        let mut name = account.variant.to_owned();
        if self.visits {
            let _ = write!(name, ", visit {}", account.visit);
        }
        name
    }

    /// Returns the name of an account among all of them.
    pub fn name(&self, account: &Account<'_>) -> String {
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
pub fn point(account: &Account<'_>) -> String {
    let values = account
        .point
        .iter()
        .map(|(key, value)| format!("{} {value}", key.rsplit('.').next().unwrap_or_default()));
    values.collect::<Vec<_>>().join(", ")
}

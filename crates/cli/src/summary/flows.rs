//! Results of flows as tables: one for each metric that flows are compared by.

use super::best;
use super::cells::{Index, heading, interval, labels, number, point, published, short};
use crate::output::Look;
use crate::tables::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::{Headline, Headlines, Results, Summary, find_population};
use std::fmt::Write;

/// Most rows of a table. More would scroll the notes and expectations away.
const MAX_ROWS: usize = 500;
/// What became of packets: metric and heading. Only causes that occur have a column.
const LOSSES: [(&str, &str); 5] = [
    ("packets_lost_queue", "lost in queues"),
    ("packets_lost_channel", "on the channel"),
    ("packets_lost_routing", "by routing"),
    ("packets_lost_policer", "by a policer"),
    ("packets_marked_ce", "marked CE"),
];

/// Returns a table for each metric that flows are compared by, in order of first appearance, with a
/// row for each variant, sweep point, flow and visit. Figures are medians over the runs. Cases of
/// which no run has the metric are left out: `failures` says why. A long sweep has a row for each
/// point instead, with its best variant, unless `full`.
pub fn tables(plan: &Plan, results: &Results, look: Look, full: bool) -> Vec<String> {
    let headlines = Headlines::of(results);
    let index = Index::new(results);
    let mut groups: Vec<(&Headline, Vec<&Summary>)> = Vec::new();
    for row in &results.summary {
        let Some(headline) = headlines.get(&row.flow, row.visit) else { continue };
        if row.metric != headline.row.name || row.median.is_none() {
            continue;
        }
        match groups.iter_mut().find(|(first, _)| first.row.name == headline.row.name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((headline, vec![row])),
        }
    }
    groups
        .iter()
        .map(|(headline, rows)| {
            let best = if full { None } else { best::table(plan, &headline.row, rows, look) };
            best.unwrap_or_else(|| table(plan, results, &index, &headlines, headline, rows, look))
        })
        .collect()
}

fn table(
    plan: &Plan,
    results: &Results,
    index: &Index<'_>,
    headlines: &Headlines,
    headline: &Headline,
    rows: &[&Summary],
    look: Look,
) -> String {
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    let several_runs = rows.iter().any(|row| row.n > 1);
    let heading_of_median = match heading(&headline.row) {
        own if several_runs && !own.starts_with("median ") => format!("median {own}"),
        own => own,
    };
    table.column("variant".to_owned(), Align::Left);
    table.column("flow".to_owned(), Align::Left);
    table.column("visit".to_owned(), Align::Right);
    table.column("runs".to_owned(), Align::Right);
    table.column(heading_of_median, Align::Right);
    table.column("95 % interval".to_owned(), Align::Left);
    for beside in &headline.beside {
        table.column(heading(beside), Align::Right);
    }
    table.column("declared lost".to_owned(), Align::Right);
    for (_, heading) in LOSSES {
        table.column(heading.to_owned(), Align::Right);
    }
    let mut labels = labels(results, false);
    labels.retain(|(_, metric)| find_population(metric).is_none());
    for (label, metric) in &labels {
        let own = *metric == headline.row.name;
        let unit = if own { String::new() } else { format!(" {metric}") };
        table.column(format!("{label}{unit}"), Align::Right);
        table.column("ratio".to_owned(), Align::Right);
    }
    let flows = headlines.iter().any(|one| one.flow != rows[0].flow);
    // Visit numbers are omitted if each flow has one visit, whatever its number.
    let visits = rows.windows(2).any(|pair| {
        (&pair[0].variant, &pair[0].point, &pair[0].flow)
            == (&pair[1].variant, &pair[1].point, &pair[1].flow)
    });
    let median = |row: &&Summary, metric| index.find(row, metric).and_then(|row| row.median);
    let occurs: Vec<&str> = LOSSES
        .iter()
        .map(|(metric, _)| *metric)
        .filter(|metric| rows.iter().any(|row| median(row, metric).is_some_and(|n| n > 0.0)))
        .collect();
    for row in rows.iter().take(MAX_ROWS) {
        let mut cells = point(plan, row);
        cells.push(row.variant.clone());
        cells.push(if flows { row.flow.clone() } else { String::new() });
        cells.push(if visits { row.visit.to_string() } else { String::new() });
        cells.push(index.runs(row));
        cells.push(row.median.map_or(NONE.to_owned(), number));
        cells.push(interval(row));
        let beside = headline.beside.iter();
        cells.extend(beside.map(|one| median(row, one.name).map_or(NONE.to_owned(), number)));
        let count = |value: f64| format!("{value:.0}");
        cells.push(median(row, "packets_declared_lost").map_or(NONE.to_owned(), count));
        cells.extend(LOSSES.iter().map(|(metric, _)| match occurs.contains(metric) {
            true => median(row, metric).map_or(NONE.to_owned(), count),
            false => String::new(),
        }));
        cells.extend(
            labels.iter().flat_map(|(label, metric)| published(results, row, label, metric)),
        );
        table.row(cells);
    }
    let mut text = table.fitted(look);
    if rows.len() > MAX_ROWS {
        let more = rows.len() - MAX_ROWS;
        let _ = writeln!(text, "and {more} more rows: see the report or results.json");
    }
    text
}

/// A value that does not exist.
const NONE: &str = "–";

//! A long sweep in short: the best variant of each point.

use super::cells::{heading, interval, number, point, short};
use crate::output::Look;
use crate::tables::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::Summary;
use bentpipe_results::metrics::{Better, Row};
use std::fmt::Write;

/// Most rows of a sweep that are printed as they are.
const MAX_WHOLE: usize = 24;

/// Smallest factor worth a number.
const NOTABLE: f64 = 1.01;

/// Returns a row for each point, flow and visit of a long sweep, with the best variant and how far
/// the next one is behind it. `None` if the table is short enough, if there is nothing to compare,
/// or if neither direction of the metric is better.
pub fn table(plan: &Plan, metric: &Row, rows: &[&Summary], look: Look) -> Option<String> {
    let lower = match metric.better {
        Better::Lower => true,
        Better::Higher => false,
        Better::Neither => return None,
    };
    if plan.sweep.is_empty() || plan.variants.len() < 2 || rows.len() <= MAX_WHOLE {
        return None;
    }
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    table.column("flow".to_owned(), Align::Left);
    table.column("visit".to_owned(), Align::Right);
    table.column("best variant".to_owned(), Align::Left);
    table.column(heading(metric), Align::Right);
    table.column("95 % interval".to_owned(), Align::Left);
    table.column("next".to_owned(), Align::Left);
    table.column("by".to_owned(), Align::Right);
    let flows = rows.iter().any(|row| row.flow != rows[0].flow);
    for mut ranked in cases(rows) {
        ranked.sort_by(|a, b| {
            let order = a.median.partial_cmp(&b.median).unwrap_or(std::cmp::Ordering::Equal);
            if lower { order } else { order.reverse() }
        });
        let Some(best) = ranked.first() else { continue };
        let visits = rows.iter().any(|row| row.flow == best.flow && row.visit != best.visit);
        let mut cells = point(plan, best);
        cells.push(if flows { best.flow.clone() } else { String::new() });
        cells.push(if visits { best.visit.to_string() } else { String::new() });
        cells.push(best.variant.clone());
        cells.push(best.median.map_or_else(String::new, number));
        cells.push(interval(best));
        let next = ranked.get(1);
        cells.push(next.map_or_else(String::new, |next| next.variant.clone()));
        cells.push(next.map_or_else(String::new, |next| lead(best, next)));
        table.row(cells);
    }
    let mut text = table.fitted(look);
    let _ = writeln!(
        text,
        "the best of {} variants at each point; all {} rows: --full, or the report",
        plan.variants.len(),
        rows.len()
    );
    Some(text)
}

/// The rows of each point, flow and visit, in the order of their first.
fn cases<'a>(rows: &[&'a Summary]) -> Vec<Vec<&'a Summary>> {
    let mut cases: Vec<Vec<&Summary>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for &row in rows {
        let index = *known.entry((&row.point, &row.flow, row.visit)).or_insert_with(|| {
            cases.push(Vec::new());
            cases.len() - 1
        });
        cases[index].push(row);
    }
    cases
}

/// How far the next variant is behind: a factor, or that chance may be all of it.
fn lead(best: &Summary, next: &Summary) -> String {
    let apart = match (best.ci95_low, best.ci95_high, next.ci95_low, next.ci95_high) {
        (Some(low), Some(high), Some(next_low), Some(next_high)) => {
            next_low > high || next_high < low
        }
        _ => true,
    };
    match (best.median, next.median) {
        _ if !apart => "chance".to_owned(),
        (Some(best), Some(next)) if best > 0.0 && next > 0.0 => {
            let factor = (next / best).max(best / next);
            if factor < NOTABLE { "< 1 %".to_owned() } else { format!("{factor:.2} ×") }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::Changes;
    use std::path::Path;

    fn plan(points: usize) -> Plan {
        let values: Vec<String> = (1..=points).map(|n| format!("\"{n} ms\"")).collect();
        let text = format!(
            "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n\
             [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
             [sweep]\n\"path.rtt\" = [{}]\n",
            values.join(", ")
        );
        Plan::parse("x.toml", &text, Path::new("."), &Changes::default()).unwrap()
    }

    fn row(variant: &str, at: usize, median: f64, interval: Option<(f64, f64)>) -> Summary {
        Summary {
            variant: variant.to_owned(),
            point: [("path.rtt".to_owned(), format!("{at} ms"))].into(),
            flow: "main".to_owned(),
            visit: 1,
            metric: "completion_s".to_owned(),
            n: 5,
            median: Some(median),
            p5: None,
            p95: None,
            mean: None,
            ci95_low: interval.map(|(low, _)| low),
            ci95_high: interval.map(|(_, high)| high),
        }
    }

    #[test]
    fn a_long_sweep_has_the_best_variant_of_each_point() {
        let plan = plan(13);
        let rows: Vec<Summary> = (1..=13)
            .flat_map(|at| {
                let near = (at == 2).then_some((1.0, 3.0));
                [
                    row("a", at, 2.0, near),
                    row(
                        "b",
                        at,
                        match at {
                            1 => 4.0,
                            4 => 1.999,
                            _ => 1.5,
                        },
                        near,
                    ),
                ]
            })
            .collect();
        let rows: Vec<&Summary> = rows.iter().collect();
        let metric = &Row {
            name: "completion_s",
            unit: "s",
            better: Better::Lower,
            label: "Completion time",
            about: "",
            detail: false,
        };
        let text = table(&plan, metric, &rows, Look::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 15, "{text}");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["1", "ms", "a", "2.000", "b", "2.00", "×"]
        );
        assert!(lines[2].ends_with("chance") && lines[2].contains(" b "), "{text}");
        assert!(lines[3].ends_with("1.33 ×") && lines[4].ends_with("< 1 %"), "{text}");
        assert!(lines[14].contains("all 26 rows: --full"), "{text}");
        assert!(table(&plan, metric, &rows[..20], Look::default()).is_none(), "it is short");
    }
}

//! The page of a comparison: a table of the cases by finding, with a plot of the intervals.

use bentpipe_results::comparison::{
    Change, ComparisonReport, Estimate, Finding, Method, Origin, Side, percent,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Most rows of one finding. A page of more is slow to open.
const MAX_ROWS: usize = 2000;
/// Width of a plot in its own units.
const WIDTH: f64 = 240.0;
/// Width of the plot up to the ends of the scale.
const INSIDE: f64 = 220.0;

const STYLE: &str = "\
:root{--bg:#fff;--text:#222;--muted:#666;--line:#ddd;--band:#eceff3;--bad:#b52a08;--good:#00704f;\
--other:#0060a8;color-scheme:light dark}\
@media(prefers-color-scheme:dark){:root{--bg:#161b22;--text:#d5dbe2;--muted:#9aa5b1;\
--line:#2b333d;--band:#242b34;--bad:#ff8a6b;--good:#3fd0a8;--other:#62b5ff}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:82em;margin:2em auto;padding:0 1em;\
color:var(--text);background:var(--bg);font-variant-numeric:tabular-nums}\
h1{font-size:1.5em;margin-bottom:.2em}h2{font-size:1.15em;margin:1em 0 0}\
table{border-collapse:collapse;width:100%}\
th,td{padding:.3em .6em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
th{font-weight:600;color:var(--muted);vertical-align:bottom}\
.l{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:13em}.p{padding:.3em 0}\
.s{color:var(--muted);font-size:.9em}.scroll{overflow-x:auto}\
svg{width:240px;height:24px;display:block}\
svg text{font:11px system-ui,sans-serif;fill:var(--muted)}\
.bad{color:var(--bad)}.good{color:var(--good)}.other{color:var(--other)}.none{color:var(--muted)}\
.verdict{font-size:1.1em;font-weight:600}";

/// Creates the page as one HTML file.
pub fn comparison_page(report: &ComparisonReport) -> String {
    let regressions = report.count(Finding::Regression);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Comparison of " (report.after.scenario) }
                meta name="viewport" content="width=device-width";
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Comparison of " (report.after.scenario) }
                p class={ "verdict " (if regressions > 0 { "bad" } else { "good" }) } {
                    (report.counts_text())
                }
                p {
                    (origin("Before", &report.before)) br;
                    (origin("After", &report.after)) br;
                    (method(report))
                }
                @for note in &report.notes { p { "Note: " (note) "." } }
                (table(report))
                (missing(report))
            }
        }
    };
    page.into_string()
}

fn origin(side: &str, origin: &Origin) -> Markup {
    html! {
        (side) ": " strong { (origin.source) } ", seed " (origin.seed)
        ", Bentpipe " (origin.version)
        @if let Some(commit) = &origin.commit { " (" (commit) ")" }
    }
}

fn method(report: &ComparisonReport) -> Markup {
    html! {
        (report.tests) " tests of "
        @if report.paired { "runs paired by number" } @else { "independent runs" }
        ". A comparison of equal variants finds a change with a probability of at most "
        (percent(report.level)) ". Tolerance: " (percent(report.tolerance))
        ". Each interval holds the true change with a probability of "
        (percent(1.0 - report.level)) ". In the plots, a dot is the mean, a square the typical "
        "run, and the band is the tolerance."
    }
}

fn class(finding: Finding) -> &'static str {
    match finding {
        Finding::Regression => "bad",
        Finding::Improvement => "good",
        Finding::Changed | Finding::WithinTolerance => "other",
        Finding::Unchanged | Finding::Identical | Finding::Untested => "none",
    }
}

/// One table, so that all plots are below each other, with a part for each finding.
fn table(report: &ComparisonReport) -> Markup {
    let scale = Scale::new(report);
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th.l { "Case" } th.p { (scale.axis()) } th { "Mean" } th { "Typical run" }
                        th { "Median before" } th { "Median after" } th { "Runs" } th { "Adjusted p" }
                    }
                }
                @for finding in Finding::ALL { (part(report, finding, &scale)) }
            }
        }
    }
}

/// The rows of one finding.
fn part(report: &ComparisonReport, finding: Finding, scale: &Scale) -> Markup {
    let rows: Vec<&Change> =
        report.changes.iter().filter(|change| change.finding == finding).collect();
    if rows.is_empty() {
        return Markup::default();
    }
    html! {
        tbody {
            tr {
                th.l colspan="8" {
                    h2 class=(class(finding)) { (heading(finding)) " (" (rows.len()) ")" }
                }
            }
            @for change in rows.iter().take(MAX_ROWS) {
                tr {
                    td.l { (case(change)) }
                    td.p { (scale.plot(change, report.tolerance)) }
                    td { (estimate(change.mean, change.method)) }
                    td { (estimate(change.typical, change.method)) }
                    td { (change.value_text(&change.before)) }
                    td { (change.value_text(&change.after)) }
                    td { (change.runs_text()) }
                    td { (change.p_text()) }
                }
            }
            @if rows.len() > MAX_ROWS {
                tr {
                    td.l colspan="8" { "And " (rows.len() - MAX_ROWS) " more, in the JSON output." }
                }
            }
        }
    }
}

/// The name of a row, with the last part of each swept key.
fn case(change: &Change) -> Markup {
    let case = &change.case;
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let mut about: Vec<String> =
        case.point.iter().map(|(key, value)| format!("{} {value}", last(key))).collect();
    if case.flow != "main" {
        about.push(format!("flow {}", case.flow));
    }
    if case.visit != 1 {
        about.push(format!("visit {}", case.visit));
    }
    html! {
        strong { (case.variant) } " " (about.join(", "))
        div.s { (change.metric) @if let Some(note) = &change.note { ": " (note) } }
    }
}

fn heading(finding: Finding) -> &'static str {
    match finding {
        Finding::Regression => "Regressions",
        Finding::Improvement => "Improvements",
        Finding::Changed => "Changed",
        Finding::WithinTolerance => "Within the tolerance",
        Finding::Unchanged => "No change found",
        Finding::Identical => "Identical",
        Finding::Untested => "Not tested",
    }
}

fn estimate(estimate: Option<Estimate>, method: Method) -> String {
    match estimate {
        Some(estimate) if method == Method::Exact => format!("{estimate}, exact"),
        Some(estimate) => estimate.to_string(),
        None => String::new(),
    }
}

/// The scale that all plots of a page share.
struct Scale {
    /// Relative change at the ends.
    end: f64,
}

impl Scale {
    /// Chooses a round end that all intervals of changes fit in. Wider intervals of other rows are
    /// cut, so that they do not hide the changes.
    fn new(report: &ComparisonReport) -> Self {
        let size = |estimate: Estimate| {
            let ends = [Some(estimate.change), estimate.low, estimate.high];
            ends.into_iter()
                .flatten()
                .map(f64::abs)
                .filter(|size| size.is_finite())
                .fold(0.0, f64::max)
        };
        let of = |change: &Change| {
            change.mean.into_iter().chain(change.typical).map(size).fold(0.0, f64::max)
        };
        let changed = |change: &&Change| matches!(class(change.finding), "bad" | "good" | "other");
        let mut widest = report.changes.iter().filter(changed).map(of).fold(0.0, f64::max);
        if widest == 0.0 {
            widest = report.changes.iter().map(of).fold(0.0, f64::max);
        }
        let wanted = widest.max(2.0 * report.tolerance).clamp(0.001, 5.0);
        let power = 10f64.powf(wanted.log10().floor());
        let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
        let end = steps.iter().map(|step| step * power).find(|end| *end >= wanted * 0.999);
        Self { end: end.unwrap_or(wanted) }
    }

    fn x(&self, change: f64) -> f64 {
        let share = (change / self.end).clamp(-1.06, 1.06);
        WIDTH / 2.0 + share * INSIDE / 2.0
    }

    fn axis(&self) -> Markup {
        let label = |change: f64| {
            let text = format!("{:+.3}", change * 100.0);
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        };
        html! {
            svg viewBox=(format!("0 0 {WIDTH} 24")) role="img" aria-label="scale of the changes" {
                text x="0" y="18" { (label(-self.end)) }
                text x=(WIDTH / 2.0) y="18" text-anchor="middle" { "0" }
                text x=(WIDTH) y="18" text-anchor="end" { (label(self.end)) }
            }
        }
    }

    /// Draws the change of the mean above that of a typical run, over the tolerance.
    fn plot(&self, change: &Change, tolerance: f64) -> Markup {
        let (left, right) = (self.x(-tolerance), self.x(tolerance));
        let both = change.mean.is_some() && change.typical.is_some();
        let rows = [(change.mean, 8.0), (change.typical, 16.0)];
        let label = format!(
            "mean {}, typical run {}",
            change.mean.map_or("unknown".to_owned(), |estimate| estimate.to_string()),
            change.typical.map_or("unknown".to_owned(), |estimate| estimate.to_string())
        );
        html! {
            svg viewBox=(format!("0 0 {WIDTH} 24")) role="img" aria-label=(label)
                class=(class(change.finding))
            {
                rect x=(left) y="0" width=(right - left) height="24" fill="var(--band)" {}
                line x1=(WIDTH / 2.0) x2=(WIDTH / 2.0) y1="0" y2="24" stroke="var(--muted)" {}
                @for (index, (estimate, y)) in rows.into_iter().enumerate() {
                    @if let Some(estimate) = estimate {
                        @let y = if both { y } else { 12.0 };
                        @if let (Some(low), Some(high)) = (estimate.low, estimate.high) {
                            line x1=(self.x(low)) x2=(self.x(high)) y1=(y) y2=(y)
                                stroke="currentColor" stroke-width="2" {}
                        }
                        @let x = self.x(estimate.change);
                        @if index == 0 {
                            circle cx=(x) cy=(y) r="3.5" fill="currentColor" {}
                        } @else {
                            rect x=(x - 3.0) y=(y - 3.0) width="6" height="6"
                                fill="currentColor" {}
                        }
                    }
                }
            }
        }
    }
}

fn missing(report: &ComparisonReport) -> Markup {
    if report.missing.is_empty() {
        return Markup::default();
    }
    let side = |side: Side| match side {
        Side::Before => "only after",
        Side::After => "only before",
    };
    html! {
        h2 { "On one side only (" (report.missing.len()) ")" }
        ul {
            @for missing in report.missing.iter().take(MAX_ROWS) {
                li { (missing.case) ", " (side(missing.missing)) }
            }
        }
    }
}

//! The HTML page of the results: heat maps of all pairings, verdicts, failures with their reasons,
//! and the participants. It has no script and opens offline.

use crate::{Cell, Outcome, Participant, Protocol, Verdict};
use bentpipe_units::Bytes;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
const TITLE: &str = "Interop over satellite paths";

/// Creates the page as one HTML file.
pub fn page(outcome: &Outcome) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (TITLE) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (TITLE) }
                p {
                    "Every client downloads from every server over an emulated path, with real \
                     programs and real kernels. Each cell has the median completion time, and the \
                     goodput as a fraction of the forward link's rate, which is its colour. ✓ \
                     marks a time within the target of the path's source."
                }
                p.soft {
                    "bentpipe " (outcome.version) ", seed " (outcome.seed) ", "
                    (outcome.repeat) " of each download"
                }
                @for note in &outcome.notes { p.no { (note) } }
                (heat_maps(&outcome.cells))
                (verdicts(&outcome.verdicts))
                (failures(&outcome.cells))
                (participants(&outcome.participants))
            }
        }
    };
    page.into_string() + "\n"
}

/// Renders one heat map for each path, size and protocol.
fn heat_maps(cells: &[Cell]) -> Markup {
    let key = |cell: &Cell| (cell.profile.clone(), cell.bytes, cell.protocol);
    let maps = unique(cells.iter().map(key)).into_iter().map(|map| {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| key(cell) == map).collect();
        let target = cells.first().and_then(|cell| cell.target_s);
        let (profile, bytes, protocol) = map;
        html! {
            h2 {
                (Bytes::new(bytes)) " by " (name(protocol)) " over " (profile)
                @if let Some(target) = target { ", at most " (target) " s" }
            }
            (heat_map(&cells))
        }
    });
    html! { @for map in maps { (map) } }
}

fn heat_map(cells: &[&Cell]) -> Markup {
    let clients = unique(cells.iter().map(|cell| cell.client.as_str()));
    let servers = unique(cells.iter().map(|cell| cell.server.as_str()));
    let find = |client: &str, server: &str| {
        cells.iter().find(|cell| cell.client == client && cell.server == server)
    };
    html! {
        div.scroll {
            table {
                tr { th { "client \\ server" } @for server in &servers { th { (server) } } }
                @for client in clients {
                    tr {
                        th { (client) }
                        @for server in &servers {
                            @if let Some(cell) = find(client, server) { (heat(cell)) }
                            @else { (empty()) }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a cell without downloads.
fn empty() -> Markup {
    html! { td.none { "–" } }
}

fn heat(cell: &Cell) -> Markup {
    let runs = cell.runs.len() as u64;
    if runs == 0 {
        return empty();
    }
    let (Some(seconds), true) = (cell.completion_s, cell.completed == runs) else {
        return html! {
            td class="cell fail" title=(cell.reason().unwrap_or_default()) {
                "failed" small { (cell.completed) " of " (runs) " completed" }
            }
        };
    };
    let efficiency = cell.efficiency.unwrap_or_default();
    let times: Vec<String> = cell
        .runs
        .iter()
        .filter_map(|run| run.completion_s)
        .map(|time| format!("{time:.2}"))
        .collect();
    let warnings: Vec<&str> =
        cell.runs.iter().flat_map(|run| run.warnings.iter().map(String::as_str)).collect();
    let first_byte = cell.runs.first().and_then(|run| run.first_byte_s).unwrap_or_default();
    let mut title = format!("{} s; first byte after {first_byte:.2} s", times.join(", "));
    if !warnings.is_empty() {
        title += &format!("; doubtful: {}", warnings.join(", "));
    }
    // From red to green, dark enough for white text.
    let hue = (efficiency.clamp(0.0, 1.0).sqrt() * 150.0).round();
    html! {
        td.cell style=(format!("background:hsl({hue} 55% 34%)")) title=(title) {
            @if cell.met == Some(true) { "✓ " }
            (format!("{seconds:.2} s"))
            @if !warnings.is_empty() { " ?" }
            small { (format!("{:.0} %", efficiency * 100.0)) }
        }
    }
}

fn verdicts(verdicts: &[Verdict]) -> Markup {
    let mut judged: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.objectives().is_some()).collect();
    // Pairings that meet the most targets come first.
    judged.sort_by_key(|verdict| std::cmp::Reverse(verdict.met.len()));
    let sizes = |bytes: &[u64]| {
        bytes.iter().map(|bytes| Bytes::new(*bytes).to_string()).collect::<Vec<_>>().join(", ")
    };
    html! {
        @if !judged.is_empty() {
            h2 { "Objectives of the path's source" }
            table.plain {
                tr {
                    th { "Client" } th { "Server" } th { "Protocol" } th { "Path" }
                    th { "Verdict" } th { "Within time" } th { "Too slow" }
                }
                @for verdict in judged {
                    tr {
                        td { (verdict.client) }
                        td { (verdict.server) }
                        td { (name(verdict.protocol)) }
                        td { (verdict.profile) }
                        @if verdict.objectives() == Some(true) { td.yes { "met" } }
                        @else { td.no { "not met" } }
                        td { (sizes(&verdict.met)) }
                        td { (sizes(&verdict.missed)) }
                    }
                }
            }
        }
    }
}

fn failures(cells: &[Cell]) -> Markup {
    let failed: Vec<(&Cell, &str)> =
        cells.iter().filter_map(|cell| Some((cell, cell.reason()?))).collect();
    html! {
        @if !failed.is_empty() {
            h2 { "Failures" }
            table.plain {
                tr { th { "Client" } th { "Server" } th { "Download" } th { "Reason" } }
                @for (cell, reason) in failed {
                    tr {
                        td { (cell.client) }
                        td { (cell.server) }
                        td {
                            (Bytes::new(cell.bytes)) " by " (name(cell.protocol))
                            " over " (cell.profile)
                        }
                        td { code { (reason) } }
                    }
                }
            }
        }
    }
}

fn participants(participants: &[Participant]) -> Markup {
    let names = |protocols: &[Protocol]| {
        protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ")
    };
    html! {
        h2 { "Participants" }
        table.plain {
            tr {
                th { "Name" } th { "Version" } th { "Client" } th { "Server" } th { "Settings" }
            }
            @for peer in participants {
                tr {
                    td { (peer.name) }
                    td { (peer.version.as_deref().unwrap_or("–")) }
                    td { (names(&peer.client)) }
                    td { (names(&peer.server)) }
                    @if peer.missing.is_empty() { td { (peer.note) } }
                    @else {
                        td {
                            span.no { "not installed" } ": no " (peer.missing.join(", "))
                            ". Install: " code { (peer.install) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the name of a protocol for readers.
fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::H3 => "HTTP/3",
        Protocol::H2 => "HTTP/2",
        Protocol::H1 => "HTTP/1.1",
    }
}

/// Returns distinct items in order of first appearance.
fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOutcome;
    use bentpipe_scenario::profiles::profile;

    #[test]
    fn the_page_shows_times_verdicts_and_escaped_reasons() {
        let path = profile("geo-50-10").unwrap();
        let cell = |server: &str, run: RunOutcome| {
            let mut cell = Cell::new("client", server, Protocol::H3, path, Bytes::from_mb(10));
            cell.add(run, path);
            cell
        };
        let whole = RunOutcome {
            completed: true,
            completion_s: Some(4.0),
            warnings: vec!["late".to_owned()],
            ..RunOutcome::default()
        };
        let broken = RunOutcome {
            reason: Some("<script>alert(1)</script>\"".to_owned()),
            ..RunOutcome::default()
        };
        let cells = vec![cell("fine", whole), cell("broken", broken)];
        let page = page(&Outcome {
            version: "1".to_owned(),
            clock: "real".to_owned(),
            seed: 1,
            repeat: 1,
            participants: Vec::new(),
            verdicts: Verdict::of(&cells),
            cells,
            notes: vec!["a & b".to_owned()],
        });
        assert!(
            page.contains("10 MB by HTTP/3 over geo-50-10, at most 5 s")
                && page.contains("4.00 s ?<small>40 %</small>"),
            "{page}"
        );
        let row = |server: &str, class: &str, verdict: &str, rest: &str| {
            format!(
                "<td>client</td><td>{server}</td><td>HTTP/3</td><td>geo-50-10</td>\
                 <td class=\"{class}\">{verdict}</td>{rest}"
            )
        };
        let met = row("fine", "yes", "met", "<td>10 MB</td><td></td>");
        let missed = row("broken", "no", "not met", "<td></td><td>10 MB</td>");
        assert!(page.contains(&met) && page.contains(&missed), "{page}");
        assert!(
            !page.contains("<script")
                && page.contains("&lt;script&gt;alert(1)")
                && page.contains("a &amp; b")
        );
    }
}

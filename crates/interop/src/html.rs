//! The page: heat maps of every pairing, verdicts, failures with their reasons, and who took part.
//! No script; it opens offline.

use crate::{Cell, Outcome, Participant, Protocol, Verdict};
use bentpipe_units::Bytes;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// The page as one file.
pub fn page(outcome: &Outcome) -> String {
    let mut text = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
            content=\"width=device-width,initial-scale=1\"><title>Interop over satellite \
            paths</title><style>{STYLE}</style>\
         <h1>Interop over satellite paths</h1><p>Every client downloads from every server over an \
         emulated path: real programs, real kernels. In a cell: median completion time, and \
         goodput \
         over the rate of the forward link, which is its colour. ✓: within the time that the \
         path's source asks for.\
         <p class=soft>bentpipe {}, seed {}, {} of each download",
        escape(&outcome.version),
        outcome.seed,
        outcome.repeat
    );
    for note in &outcome.notes {
        let _ = write!(text, "<p class=no>{}", escape(note));
    }
    let mut maps: Vec<(&str, u64, Protocol)> = Vec::new();
    for cell in &outcome.cells {
        let key = (cell.profile.as_str(), cell.bytes, cell.protocol);
        if !maps.contains(&key) {
            maps.push(key);
        }
    }
    for (profile, bytes, protocol) in maps {
        let within = |cell: &&Cell| {
            (cell.profile.as_str(), cell.bytes, cell.protocol) == (profile, bytes, protocol)
        };
        let cells: Vec<&Cell> = outcome.cells.iter().filter(within).collect();
        let target = cells
            .first()
            .and_then(|cell| cell.target_s)
            .map_or(String::new(), |target| format!(", at most {target} s"));
        let _ = write!(
            text,
            "<h2>{} by {} over {}{target}</h2>",
            Bytes::new(bytes),
            name(protocol),
            escape(profile)
        );
        text.push_str(&heat_map(&cells));
    }
    text.push_str(&verdicts(&outcome.verdicts));
    text.push_str(&failures(&outcome.cells));
    text.push_str(&participants(&outcome.participants));
    text
}

fn heat_map(cells: &[&Cell]) -> String {
    let (clients, servers) = (
        unique(cells.iter().map(|cell| cell.client.as_str())),
        unique(cells.iter().map(|cell| cell.server.as_str())),
    );
    let mut text = "<div class=scroll><table><tr><th>client \\ server".to_owned();
    for server in &servers {
        let _ = write!(text, "<th>{}", escape(server));
    }
    for client in clients {
        let _ = write!(text, "<tr><th>{}", escape(client));
        for server in &servers {
            let cell = cells.iter().find(|cell| cell.client == client && cell.server == *server);
            text.push_str(&cell.map_or_else(|| "<td class=none>–".to_owned(), |cell| heat(cell)));
        }
    }
    text + "</table></div>"
}

fn heat(cell: &Cell) -> String {
    let runs = cell.runs.len() as u64;
    let (Some(seconds), true) = (cell.completion_s, cell.completed == runs) else {
        if runs == 0 {
            return "<td class=none>–".to_owned();
        }
        let reason = escape(cell.reason().unwrap_or_default());
        return format!(
            "<td class=\"cell fail\" title=\"{reason}\">failed<small>{} of {runs} whole</small>",
            cell.completed
        );
    };
    let efficiency = cell.efficiency.unwrap_or_default();
    let spread: Vec<String> = cell
        .runs
        .iter()
        .filter_map(|run| run.completion_s)
        .map(|time| format!("{time:.2}"))
        .collect();
    let doubts: Vec<&str> =
        cell.runs.iter().flat_map(|run| run.doubts.iter().map(String::as_str)).collect();
    let mut title = format!(
        "{} s; first byte after {:.2} s",
        spread.join(", "),
        cell.runs.first().and_then(|run| run.first_byte_s).unwrap_or_default()
    );
    if !doubts.is_empty() {
        let _ = write!(title, "; doubtful: {}", doubts.join(", "));
    }
    let doubt = if doubts.is_empty() { "" } else { " ?" };
    let met = if cell.met == Some(true) { "✓ " } else { "" };
    // From red to green in a lightness that white text can be read on.
    let hue = (efficiency.clamp(0.0, 1.0).sqrt() * 150.0).round();
    format!(
        "<td class=cell style=\"background:hsl({hue} 55% 34%)\" title=\"{}\">{met}{seconds:.2} \
            s{doubt}<small>{:.0} %</small>",
        escape(&title),
        efficiency * 100.0
    )
}

fn verdicts(verdicts: &[Verdict]) -> String {
    let mut judged: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.objectives().is_some()).collect();
    // Those that meet most come first.
    judged.sort_by_key(|verdict| std::cmp::Reverse(verdict.met.len()));
    if judged.is_empty() {
        return String::new();
    }
    let sizes = |bytes: &[u64]| {
        bytes.iter().map(|bytes| Bytes::new(*bytes).to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut text = "<h2>Objectives of the path's source</h2><table \
        class=plain><tr><th>Client<th>Server<th>Protocol<th>Path<th>Verdict<th>Within \
        time<th>Not"
        .to_owned();
    for verdict in judged {
        let (class, word) =
            if verdict.objectives() == Some(true) { ("yes", "met") } else { ("no", "not met") };
        let _ = write!(
            text,
            "<tr><td>{}<td>{}<td>{}<td>{}<td class={class}>{word}<td>{}<td>{}",
            escape(&verdict.client),
            escape(&verdict.server),
            name(verdict.protocol),
            escape(&verdict.profile),
            sizes(&verdict.met),
            sizes(&verdict.missed)
        );
    }
    text + "</table>"
}

fn failures(cells: &[Cell]) -> String {
    let failed: Vec<&Cell> = cells.iter().filter(|cell| cell.reason().is_some()).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut text =
        "<h2>Failures</h2><table class=plain><tr><th>Client<th>Server<th>What<th>Reason".to_owned();
    for cell in failed {
        let _ = write!(
            text,
            "<tr><td>{}<td>{}<td>{} by {} over {}<td><code>{}</code>",
            escape(&cell.client),
            escape(&cell.server),
            Bytes::new(cell.bytes),
            name(cell.protocol),
            escape(&cell.profile),
            escape(cell.reason().unwrap_or_default())
        );
    }
    text + "</table>"
}

fn participants(participants: &[Participant]) -> String {
    let mut text = "<h2>Who took part</h2><table \
            class=plain><tr><th>Name<th>Version<th>Client<th>Server<th>Settings"
        .to_owned();
    let names = |protocols: &[Protocol]| {
        protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ")
    };
    for peer in participants {
        let rest = match peer.missing.as_slice() {
            [] => escape(&peer.note),
            missing => format!(
                "<span class=no>not installed</span>: no {}. Install: <code>{}</code>",
                escape(&missing.join(", ")),
                escape(&peer.install)
            ),
        };
        let _ = write!(
            text,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{rest}",
            escape(&peer.name),
            escape(peer.version.as_deref().unwrap_or("–")),
            names(&peer.client),
            names(&peer.server)
        );
    }
    text + "</table>\n"
}

/// As people write it.
fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::H3 => "HTTP/3",
        Protocol::H2 => "HTTP/2",
        Protocol::H1 => "HTTP/1.1",
    }
}

/// In the order of their first appearance.
fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut unique = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOutcome;
    use bentpipe_scenario::profiles::profile;

    #[test]
    fn the_page_shows_times_verdicts_and_reasons_and_lets_no_program_write_markup() {
        let path = profile("geo-50-10").unwrap();
        let cell = |server: &str, run: RunOutcome| {
            let mut cell = Cell::new("client", server, Protocol::H3, path, Bytes::from_mb(10));
            cell.add(run, path);
            cell
        };
        let whole = RunOutcome {
            completed: true,
            completion_s: Some(4.0),
            doubts: vec!["late".to_owned()],
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
                && page.contains("4.00 s ?<small>40 %"),
            "{page}"
        );
        assert!(
            page.contains(
                "<td>client<td>fine<td>HTTP/3<td>geo-50-10<td class=yes>met<td>10 MB<td>"
            )
        );
        assert!(page.contains(
            "<td>client<td>broken<td>HTTP/3<td>geo-50-10<td class=no>not met<td><td>10 MB"
        ));
        assert!(
            !page.contains("<script")
                && page.contains("&lt;script&gt;alert(1)")
                && page.contains("a &amp; b")
        );
    }
}

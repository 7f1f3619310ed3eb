//! The connections of a file as a table and as JSON.

use super::document::ConnectionDocument;
use super::words::{causes, data, seconds};
use crate::tables::{Align, Table};
use bentpipe_captures::{CapturedTransfer, ConnectionSummary, Recording, account};

/// Most connections in the table, each of which is explained.
const MOST: usize = 20;
/// Most connections in the JSON document.
const MOST_OF_JSON: usize = 1000;

/// What is known of a connection.
pub(super) struct Listed {
    summary: ConnectionSummary,
    /// Its account, or why there is none.
    account: Result<CapturedTransfer, String>,
}

/// Explains the connections of a file, those with the most data: more of them for a `document`.
/// That at `index` is known. Of a file with one connection it does nothing.
pub(super) fn list(
    recording: &Recording,
    (index, known): (usize, &CapturedTransfer),
    document: bool,
) -> Vec<Listed> {
    let connections = recording.connections();
    if connections.len() < 2 {
        return Vec::new();
    }
    let explain = |(place, summary): (usize, &ConnectionSummary)| {
        let account = if place == index {
            Ok(known.clone())
        } else {
            let read = recording.read(place).and_then(|trace| account(&trace, None));
            read.map_err(|error| error.to_string())
        };
        Listed { summary: summary.clone(), account }
    };
    let most = if document { MOST_OF_JSON } else { MOST };
    connections.iter().enumerate().take(most).map(explain).collect()
}

/// Returns the table, and how many connections the file has in all.
pub(super) fn table(listed: &[Listed], recording: &Recording) -> String {
    if listed.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("connection", Align::Right), ("", Align::Left)]);
    for (head, align) in [
        ("between", Align::Left),
        ("start, s", Align::Right),
        ("took, s", Align::Right),
        ("size", Align::Right),
        ("held up most by", Align::Left),
    ] {
        table.column(head.to_owned(), align);
    }
    for one in listed {
        let Listed { summary, account } = one;
        let between = match (summary.client.as_str(), summary.server.as_str()) {
            ("", "") => crate::output::printable(&summary.title),
            (client, server) => format!("{client} and {server}"),
        };
        let (took, size, cause) = match account {
            Ok(found) => {
                let cause = causes(found).into_iter().next();
                let cause =
                    cause.map(|(part, time)| format!("{} ({} s)", part.words(), seconds(time)));
                let took = format!("{:.3}", found.completion.as_secs_f64());
                (took, data(found.bytes), cause.unwrap_or_default())
            }
            Err(_) => {
                let bytes = bentpipe_units::Bytes::new(summary.bytes());
                ("–".to_owned(), data(bytes), "not explained".to_owned())
            }
        };
        let start = format!("{:.3}", summary.start.since_start().as_secs_f64());
        let number = summary.number.to_string();
        table.row([number, summary.protocol.to_string(), between, start, took, size, cause]);
    }
    let count = recording.connections().len() + recording.left_out();
    let more = count - listed.len();
    let more = if more > 0 { format!(", and {more} with less data") } else { String::new() };
    format!(
        "\nconnections of the file{more}; --connection N explains another one:\n{}",
        table.render(false)
    )
}

/// Returns the connections as JSON.
pub(super) fn document(listed: &[Listed]) -> Vec<ConnectionDocument> {
    let of = |one: &Listed| {
        let Listed { summary, account } = one;
        let account = account.as_ref();
        ConnectionDocument {
            number: summary.number,
            protocol: summary.protocol.to_string(),
            title: summary.title.clone(),
            client: summary.client.clone(),
            server: summary.server.clone(),
            start_s: summary.start.since_start().as_secs_f64(),
            packets_to_server: summary.to_server.packets,
            packets_to_client: summary.to_client.packets,
            bytes_to_server: summary.to_server.bytes,
            bytes_to_client: summary.to_client.bytes,
            completion_s: account.ok().map(|found| found.completion.as_secs_f64()),
            cause: account.ok().and_then(|found| Some(causes(found).first()?.0.name())),
            not_explained: account.err().cloned(),
        }
    };
    listed.iter().map(of).collect()
}

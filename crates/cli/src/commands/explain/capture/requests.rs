//! The requests of a file as a table and as JSON.

use super::document::RequestDocument;
use super::words::{data, seconds};
use crate::tables::{Align, Table};
use bentpipe_captures::Exchange;

/// Most requests in the table.
const MOST: usize = 20;

/// Returns a table of requests, or nothing if there are fewer than two. Times are in seconds since
/// the first packet of the file.
pub(super) fn table(exchanges: &[Exchange]) -> String {
    if exchanges.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&[("request", Align::Right)]);
    for head in ["start, s", "wait, s", "transfer, s"] {
        table.column(head.to_owned(), Align::Right);
    }
    table.column("size".to_owned(), Align::Right);
    table.column("held up most by".to_owned(), Align::Left);
    for (index, one) in exchanges.iter().enumerate().take(MOST) {
        let number = name(index + 1, one.stream);
        let asked = one.begin();
        let time = |span: bentpipe_units::Span| format!("{:.3}", span.as_secs_f64());
        let cause = one.cause.map_or_else(String::new, |(part, span)| {
            format!("{} ({} s)", part.words(), seconds(span.as_secs_f64()))
        });
        table.row([
            number,
            time(asked.since_start()),
            time(one.first.since(asked)),
            time(one.last.since(one.first)),
            data(one.bytes),
            cause,
        ]);
    }
    let more = exchanges.len().saturating_sub(MOST);
    let more = if more > 0 { format!("and {more} more; --json has all\n") } else { String::new() };
    format!("\nrequests; --request N explains one:\n{}{more}", table.render(false))
}

/// Returns what a request is called: its number and, in QUIC, its stream.
pub(super) fn name(number: usize, stream: Option<u64>) -> String {
    let stream = stream.map_or_else(String::new, |id| format!(" (stream {id})"));
    format!("{number}{stream}")
}

/// Returns the requests as JSON.
pub(super) fn documents(exchanges: &[Exchange]) -> Vec<RequestDocument> {
    let of = |(index, one): (usize, &Exchange)| RequestDocument {
        number: index + 1,
        stream: one.stream,
        asked_s: one.asked.map(|at| at.since_start().as_secs_f64()),
        first_byte_s: one.first.since_start().as_secs_f64(),
        last_byte_s: one.last.since_start().as_secs_f64(),
        bytes: one.bytes.get(),
        cause: one.cause.map(|(part, _)| part.name()),
        cause_s: one.cause.map(|(_, span)| span.as_secs_f64()),
    };
    exchanges.iter().enumerate().map(of).collect()
}

//! `bentpipe explain FILE`: where the time of a connection of another stack went, and what it would
//! have taken with Bentpipe's on the path that the file shows.

use super::account::{document, table};
use crate::args::Explain;
use crate::output;
use bentpipe_captures::{CapturedConnection, CapturedTransfer, PathEstimate, account};
use bentpipe_lab::{Lab, LabError};
use bentpipe_results::Point;
use bentpipe_results::explanation::{Account, accounts, difference, statement};
use bentpipe_units::Span;
use serde_json::{Value, json};
use std::fmt::Write;

/// Names of the two transfers.
const RECORDED: &str = "recorded";
const OURS: &str = "bentpipe";
/// Longest text from the file that is printed.
const MAX_TITLE: usize = 60;

/// Explains a qlog file or a capture.
pub(super) fn run(args: &Explain) -> Result<u8, LabError> {
    if !args.variant.is_empty() {
        let reason = "a trace has no variants; allowed with a directory of `bentpipe run`";
        return Err(LabError::Usage { argument: "--variant", reason: reason.to_owned() });
    }
    let unreadable = |error: bentpipe_captures::CaptureError| LabError::read(&args.path, error);
    let trace = CapturedConnection::read(&args.path, args.keys.as_deref()).map_err(unreadable)?;
    let recorded = account(&trace, args.rate).map_err(unreadable)?;
    let scenario = scenario(&recorded);
    if let Some(file) = &args.scenario {
        bentpipe_lab::write_file(file, scenario.as_bytes())?;
    }
    let results = Lab::new().run(&scenario).map_err(|error| match error {
        // The user has not written it.
        LabError::Scenario(error) => {
            let reason = format!("the path that it shows cannot be simulated: {}", error.message);
            LabError::read(&args.path, reason)
        }
        other => other,
    })?;
    let point = Point::new();
    let parts = recorded.budget.parts().map(|(_, seconds)| seconds).collect();
    let of_file = Account::single(RECORDED, &point, recorded.completion.as_secs_f64(), parts);
    let ours = accounts(&results);
    let ours = ours.first();
    let text = if args.json {
        format!("{:#}\n", json_document(&recorded, &of_file, ours))
    } else {
        text(&trace, &recorded, &of_file, ours)
    };
    output::write(&text, args.json)
}

/// Returns the scenario of the same transfer with Bentpipe's defaults, on the path of the file.
fn scenario(recorded: &CapturedTransfer) -> String {
    let PathEstimate { rtt, rate, queue, is_full, loss, .. } = recorded.path;
    let delay = rtt.as_nanos() / 2000;
    // A queue that was never full has at least the room that was used.
    let queue = if is_full { queue } else { queue.max(rtt) };
    let queue = format!("{} us", queue.as_nanos() / 1000);
    let loss = if loss > 0.0 { format!(", loss = {loss:.6}") } else { String::new() };
    let data = format!("{{ rate = \"{} bps\", delay = \"{delay} us\"", rate.as_bps());
    let full = format!("{data}, queue = \"{queue}\"{loss} }}");
    let empty = format!("{data} }}");
    let (forward, back, work) =
        if recorded.is_upload { (empty, full, "upload") } else { (full, empty, "download") };
    format!(
        "name = \"recorded-path\"\n\
         title = \"The transfer of a trace, on the path that it shows\"\n\n\
         [path]\nforward = {forward}\nreturn = {back}\n\n\
         [workload]\n{work} = \"{} B\"\n\n[[variant]]\nname = \"{OURS}\"\n",
        recorded.bytes.get()
    )
}

fn text(
    trace: &CapturedConnection,
    recorded: &CapturedTransfer,
    of_file: &Account<'_>,
    ours: Option<&Account<'_>>,
) -> String {
    let mut text = String::new();
    let title: String = trace.title.chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect();
    let end = if recorded.is_sender { "sender" } else { "receiver" };
    let kind = if recorded.is_upload { "upload" } else { "download" };
    let megabytes = recorded.bytes.get() as f64 / 1e6;
    let title = if title.is_empty() { "connection" } else { &title };
    let _ = writeln!(text, "{title}: {kind} of {megabytes:.3} MB, recorded by its {end}");
    let PathEstimate { rtt, rate, is_filled, queue, is_full, loss } = recorded.path;
    let tenths = |span: Span| Span::from_micros(span.as_nanos() / 100_000 * 100);
    let (rtt, queue) =
        if rtt >= Span::from_millis(1) { (tenths(rtt), tenths(queue)) } else { (rtt, queue) };
    let least = if is_filled { "" } else { "at least " };
    let mut path =
        format!("path: RTT {rtt}, {least}{:.2} Mbps towards the receiver", rate.as_mbps_f64());
    if !queue.is_zero() {
        let full = if is_full { " and full" } else { "" };
        let _ = write!(path, ", queue up to {queue}{full}");
    }
    if loss > 0.0 {
        let _ = write!(path, ", {:.3} % lost beside the queue", loss * 100.0);
    }
    let _ = writeln!(text, "{path}\n");
    let both: Vec<&Account<'_>> = [of_file].into_iter().chain(ours).collect();
    text.push_str(&table(&both, false));
    let _ = writeln!(text, "\n{RECORDED} {}", statement(of_file));
    if let Some(ours) = ours {
        let words = difference(of_file, ours).text_with(RECORDED);
        let _ = writeln!(
            text,
            "{OURS}, simulated with its defaults and no memory of the path, {words}"
        );
    }
    for note in &recorded.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn json_document(
    recorded: &CapturedTransfer,
    of_file: &Account<'_>,
    ours: Option<&Account<'_>>,
) -> Value {
    let PathEstimate { rtt, rate, is_filled, queue, is_full, loss } = recorded.path;
    let transfers: Vec<Value> = std::iter::once(of_file).chain(ours).map(document).collect();
    json!({
        "bytes": recorded.bytes.get(),
        "direction": if recorded.is_upload { "upload" } else { "download" },
        "recorded_by": if recorded.is_sender { "sender" } else { "receiver" },
        "path": {
            "rtt_ms": rtt.as_millis_f64(),
            "rate_mbps": rate.as_mbps_f64(),
            "rate_is_least": !is_filled,
            "queue_ms": queue.as_millis_f64(),
            "queue_is_full": is_full,
            "loss": loss,
        },
        "transfers": transfers,
        "notes": recorded.notes,
    })
}

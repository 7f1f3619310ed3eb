//! `bentpipe explain FILE`: where the time of a connection of another stack went, what would help,
//! and what it would have taken with Bentpipe's on the path that the file shows.

mod against;
mod annotate;
mod answer;
mod connections;
mod document;
mod explained;
mod har;
mod page;
mod prediction;
mod remedies;
mod request;
mod requests;
#[cfg(test)]
mod sample;
mod simulated;
mod sockets;
mod words;

use super::account::{document, table};
use crate::args::Explain;
use crate::output;
use crate::status::FAILED;
use bentpipe_captures::{
    CapturedConnection, CapturedTransfer, ForeignFile, PathEstimate, Recording,
};
use bentpipe_lab::LabError;
use bentpipe_results::Point;
use bentpipe_results::explanation::Account;
use connections::Listed;
use document::{
    BothEndsDocument, Direction, FlowControlDocument, LossesDocument, PathDocument, PausesDocument,
    PredictionDocument, RecordedBy, TraceDocument,
};
use explained::Explained;
use prediction::{Prediction, Range, Unknown, predict};
use remedies::{Remedy, remedies};
use request::ChosenRequest;
use serde_json::Value;
use simulated::{Run, Simulated};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use words::{Ends, data, significant, span};

pub(crate) use document::json_schema;

/// Name of the transfer of the file.
const RECORDED: &str = "recorded";
/// Longest text from the file that is printed.
const MAX_TITLE: usize = 100;

/// What is said of a file.
struct Explanation<'a> {
    trace: &'a CapturedConnection,
    recorded: &'a CapturedTransfer,
    ends: Ends,
    of_file: Account<'a>,
    /// The transfer with Bentpipe's defaults.
    ours: Option<Account<'a>>,
    range: Result<Range, Unknown>,
    remedies: Vec<Remedy>,
    /// The request that the user chose.
    request: Option<ChosenRequest>,
}

/// Explains a qlog file or a capture.
pub(super) fn run(args: &Explain) -> Result<u8, LabError> {
    if !args.variant.is_empty() {
        let reason = "a trace has no variants; allowed with a directory of `bentpipe run`";
        return Err(LabError::Usage { argument: "--variant", reason: reason.to_owned() });
    }
    if args.path == Path::new("-") {
        survive_interrupt();
    }
    let file = ForeignFile::open(&args.path, args.keys.as_deref());
    let recording = match file.map_err(|error| LabError::read(&args.path, error))? {
        ForeignFile::Recording(recording) => recording,
        ForeignFile::Har(log) => {
            return without_packets(args, || har::text(&log), || har::document(&log));
        }
        ForeignFile::TcpInfo(log) => {
            return without_packets(args, || sockets::text(&log), || sockets::document(&log));
        }
    };
    let mut explained = Explained::of(recording, &args.path, args)?;
    if let Some(other) = args.against.as_ref().or(args.other.as_ref()) {
        let recording = Recording::open(other, args.keys.as_deref());
        let recording = recording.map_err(|error| LabError::read(other, error))?;
        let far = if args.against.is_none() { explained.other_end(&recording) } else { None };
        if !far.map_or(Ok(false), |far| explained.join(&far, other, args))? {
            let other = Explained::of(recording, other, args)?;
            if args.html.is_some() {
                let reason = "a page has one transfer, and the files have two; allowed with the \
                    files of both ends of one connection"
                    .to_owned();
                return Err(LabError::Usage { argument: "--html", reason });
            }
            return against::run(&explained, &other, args.json);
        }
    }
    let Explained { recording, index, trace, timed, side, recorded } = explained;
    let request = args.request.map(|number| ChosenRequest::of(&recorded, number)).transpose()?;
    if let Some(file) = &args.scenario {
        bentpipe_lab::write_file(file, Simulated::of(&recorded).text().as_bytes())?;
    }
    let ends = Ends::of(trace.transport, side, &recorded);
    if let Some(file) = &args.annotate {
        annotate::write(&recording, index, &recorded, &ends, file)?;
    }
    let is_document = args.json || args.html.is_some();
    let Prediction { run, range } = predict(&recorded, is_document);
    let point = Point::new();
    let parts = recorded.budget.parts().map(|(_, seconds)| seconds).collect();
    let of_file = Account::single(RECORDED, &point, recorded.completion.as_secs_f64(), parts);
    let ours = run.as_ref().and_then(Run::account);
    let worth = remedies::worth(recorded.completion);
    let remedies = remedies(&recorded, &ends);
    let explanation = Explanation {
        trace: &trace,
        recorded: &recorded,
        ends,
        of_file,
        ours,
        range,
        remedies: remedies
            .into_iter()
            .filter(|one| one.saves_s.is_none_or(|saves| saves >= worth))
            .collect(),
        request,
    };
    let listed = connections::list(&recording, (index, &recorded), is_document);
    if let Some(page) = &args.html {
        let status = page::write(&explanation, &timed, &listed, (&args.path, page))?;
        if args.open {
            output::browser::open(&page.to_string_lossy());
        }
        return Ok(status);
    }
    let text = if args.json {
        output::pretty(&explanation.document(&listed))
    } else {
        explanation.text() + &connections::table(&listed, &recording)
    };
    output::write(&text, args.json)
}

/// Writes what a file without packets says, as text or as JSON.
fn without_packets(
    args: &Explain,
    text: impl Fn() -> String,
    document: impl Fn() -> Value,
) -> Result<u8, LabError> {
    if let Some(argument) = args.packets_argument() {
        let reason = "the file has no packets; allowed with a qlog file or a capture".to_owned();
        return Err(LabError::Usage { argument, reason });
    }
    let text = if args.json { format!("{:#}\n", document()) } else { text() };
    output::write(&text, args.json)
}

/// Ignores the first Ctrl-C, which is for the program whose capture is read from standard input: it
/// ends, and what it wrote is explained. The second ends this process.
fn survive_interrupt() {
    let was_seen = AtomicBool::new(false);
    // Without it, Ctrl-C ends both.
    let _ = ctrlc::set_handler(move || {
        if was_seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(FAILED));
        }
    });
}

impl Explanation<'_> {
    fn text(&self) -> String {
        let recorded = self.recorded;
        let mut text = self.head();
        let both: Vec<&Account<'_>> = [&self.of_file]
            .into_iter()
            .chain(self.ours.as_ref().filter(|_| self.range.is_ok()))
            .collect();
        text.push_str(&table(&both, false));
        let _ = writeln!(text, "\n{RECORDED} {}", words::statement(recorded, &self.ends));
        if let Some(limit) = words::limit_of_path(recorded) {
            let _ = writeln!(text, "{limit}");
        }
        for remedy in &self.remedies {
            let _ = writeln!(text, "{}", remedy.text());
        }
        if self.remedies.is_empty() {
            text.push_str(&remedies::without(recorded, &self.ends));
        }
        let _ = writeln!(text, "{}", prediction::text(self.range, recorded, &self.ends));
        if let Some(request) = &self.request {
            text.push_str(&request.text(recorded, &self.ends));
        }
        text.push_str(&requests::table(&recorded.exchanges));
        for note in &recorded.notes {
            let _ = writeln!(text, "\nnote: {note}");
        }
        text
    }

    /// Returns what the file is, and which path it shows.
    fn head(&self) -> String {
        let recorded = self.recorded;
        let title = output::printable(&self.trace.title);
        let title: String = title.chars().take(MAX_TITLE).collect();
        let title = if title.is_empty() { "connection" } else { &title };
        let end = match RecordedBy::of(recorded) {
            RecordedBy::Both => "both ends",
            RecordedBy::Sender => "its sender",
            RecordedBy::Receiver => "its receiver",
        };
        let kind = if recorded.is_upload { "upload" } else { "download" };
        let requests = match recorded.exchanges.len() {
            0 | 1 => String::new(),
            count => format!(" in {count} requests"),
        };
        let mut text = String::new();
        let size = data(recorded.bytes);
        let _ = writeln!(text, "{title}: {kind} of {size}{requests}, recorded by {end}");
        let PathEstimate { rtt, rate, proven, is_filled, queue, is_full, loss } = recorded.path;
        let rate = if is_filled {
            let is_share = words::is_beside_others(recorded);
            let beside = if is_share { " beside other flows" } else { "" };
            format!("{} Mbps towards the receiver{beside}", significant(rate.as_mbps_f64()))
        } else {
            let least = if proven < prediction::LEAST_PROVEN {
                String::new()
            } else {
                format!(" (at least {} Mbps)", significant(proven.as_mbps_f64()))
            };
            format!("rate not known, as the link was never full{least}")
        };
        let _ = write!(text, "path: RTT {}, {rate}", span(rtt));
        if !queue.is_zero() {
            let full = if is_full { " and full" } else { "" };
            let _ = write!(text, ", queue up to {}{full}", span(queue));
        }
        if loss > 0.0 {
            let beside = if recorded.is_sender { " elsewhere than at a full queue" } else { "" };
            let _ = write!(text, ", {} % lost{beside}", significant(loss * 100.0));
        }
        text.push('\n');
        if let Some(both) = &recorded.both {
            let _ = writeln!(text, "{}", words::both_ends(both, &self.ends));
        }
        text.push('\n');
        text
    }

    fn document(&self, listed: &[Listed]) -> TraceDocument {
        let recorded = self.recorded;
        let evidence = &recorded.evidence;
        let transfers = [&self.of_file].into_iter().chain(&self.ours).map(document);
        let mut transfers: Vec<_> = transfers.collect();
        if let Some(first) = transfers.first_mut() {
            first.text = words::statement(recorded, &self.ends);
        }
        TraceDocument {
            bytes: recorded.bytes.get(),
            direction: if recorded.is_upload { Direction::Upload } else { Direction::Download },
            recorded_by: RecordedBy::of(recorded),
            both_ends: recorded.both.as_ref().map(BothEndsDocument::of),
            path: path_document(&recorded.path),
            losses: LossesDocument {
                packets: evidence.lost,
                at_a_full_queue: evidence.lost_at_queue,
                episodes: evidence.loss_episodes,
            },
            pauses: PausesDocument {
                sender_s: evidence.sender_pauses.as_secs_f64(),
                receiver_s: evidence.asker_pauses.as_secs_f64(),
            },
            flow_control: evidence.limit.map(|(limit, time)| FlowControlDocument {
                limit: words::flow_limit(limit, recorded, &self.ends),
                bytes: limit.size.get(),
                time_s: time.as_secs_f64(),
            }),
            transfers,
            requests: requests::documents(&recorded.exchanges),
            request: self.request.as_ref().map(|one| one.document(recorded, &self.ends)),
            remedies: self.remedies.iter().map(Remedy::document).collect(),
            prediction: self
                .range
                .ok()
                .map(|Range { low_s, high_s }| PredictionDocument { low_s, high_s }),
            prediction_text: prediction::text(self.range, recorded, &self.ends),
            notes: recorded.notes.clone(),
            connections: connections::document(listed),
        }
    }
}

fn path_document(path: &PathEstimate) -> PathDocument {
    let PathEstimate { rtt, rate, proven, is_filled, queue, is_full, loss } = *path;
    PathDocument {
        rtt_ms: rtt.as_millis_f64(),
        rate_mbps: rate.as_mbps_f64(),
        rate_is_least: !is_filled,
        proven_rate_mbps: proven.as_mbps_f64(),
        queue_ms: queue.as_millis_f64(),
        queue_is_full: is_full,
        loss,
    }
}

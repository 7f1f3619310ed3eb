//! A flow over our own QUIC: the product itself, `bentpipe serve` and `bentpipe get`, as programs.
//!
//! Programs and not threads of this process: what is measured is what people run, with its
//! processes, its runtime and its sockets. What the client says of its times counts from its first
//! packet, so that the time that a process takes to start is no part of them.

use super::VisitRunner;
use super::outcome::{ClientTimes, VisitOutcome};
use super::program::{DISCARDS, OBJECT, commands};
use bentpipe_emu::{EmuError, ObjectOutcome, TransferOutcome};
use bentpipe_quic::{Handshake, ResumeVia, Settings};
use bentpipe_sim::{FlowSpec, ProgramStack, QlogFile, Visit};
use bentpipe_units::{Bytes, Span};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What the traces of each end may take in a run: they become part of the run directory by way of
/// memory.
const QLOG: Bytes = Bytes::from_mb(256);

/// What `bentpipe get --json` prints, as far as it is of use here.
#[derive(Debug, Deserialize)]
struct Said {
    downloads: Vec<Download>,
}

#[derive(Debug, Deserialize)]
struct Download {
    #[serde(default)]
    bytes: u64,
    start_s: Option<f64>,
    handshake_s: Option<f64>,
    first_byte_s: Option<f64>,
    completion_s: Option<f64>,
    #[serde(default)]
    early_data: bool,
    path: Option<String>,
}

/// Carries out all visits of a flow, with one server and one client.
pub fn visits(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    settings: &Settings,
    port: u16,
) -> Result<Vec<VisitOutcome>, EmuError> {
    let congestion = &settings.congestion;
    // Both are told to write, and what they have written is here when they have ended.
    let system = |error: std::io::Error| EmuError::system("a directory for qlog", error);
    let traces = runner
        .spec
        .qlog
        .then(|| TempDir::with_prefix("bentpipe-qlog-"))
        .transpose()
        .map_err(system)?;
    let place = |side: &str| traces.as_ref().map(|traces| traces.path().join(side));
    let write = |side: &str| {
        // Where early data is refused, a visit takes two connections.
        let most = 2 * flow.visits.len();
        let place = place(side).map(|place| {
            format!(" --qlog '{}' --qlog-files {most} --qlog-size '{QLOG}'", place.display())
        });
        place.unwrap_or_default()
    };
    // Who remembers the path: the server, as long as it runs, or the client, in a file that is gone
    // afterwards.
    let (remembers, keeps) = match settings.resume_via {
        ResumeVia::Store => ("--no-store", "--no-tokens"),
        ResumeVia::Token => ("--tokens-only", "--tokens tokens.sqlite"),
    };
    let mut server = format!(
        "exec '{{bentpipe}}' serve {{dir}} --listen {{server}}:{{port}} --cert {{cert}} --key \
            {{key}} {remembers} --log none \
         --congestion {} --start {} --resume {}",
        congestion.controller, congestion.slow_start, congestion.resume
    );
    server.push_str(&write("server"));
    let mut client = format!("exec '{{bentpipe}}' get --insecure {keeps} --json{DISCARDS} {{url}}");
    for index in 1..flow.visits.len() {
        client.push_str(&format!(" https://{{server}}:{{port}}/{index}-{OBJECT}"));
    }
    if let Some(second) = flow.visits.get(1) {
        client.push_str(&format!(
            " --no-reuse --pause '{} ms'",
            second.idle_before.as_millis_f64().round()
        ));
    }
    client.push_str(&write("client"));
    let mtu = Bytes::new(u64::from(settings.max_mtu) + bentpipe_scenario::HEADERS);
    let ended = commands(runner, flow, &ProgramStack { server, client, mtu }, &flow.visits, port)?;
    let said: Vec<Download> =
        serde_json::from_slice(&ended.output).map(|said: Said| said.downloads).unwrap_or_default();
    let begun = said.first().and_then(|download| download.start_s).unwrap_or_default();
    let mut qlog = Vec::new();
    for side in ["client", "server"] {
        let written = place(side).map(|place| written(&place)).unwrap_or_default();
        qlog.extend(of_visits(written, flow, side));
    }
    let outcomes = flow.visits.iter().enumerate().map(|(index, visit)| {
        let download = said.get(index);
        let told = download.and_then(|download| times(download, visit));
        let begin = ended.outcome.begin
            + span(download.and_then(|said| said.start_s).unwrap_or(begun) - begun);
        let outcome = one(&ended.outcome, begin, told, download, visit);
        let qlog = if index == 0 { std::mem::take(&mut qlog) } else { Vec::new() };
        VisitOutcome { port, outcome, told, qlog }
    });
    Ok(outcomes.collect())
}

/// The traces that a program has left, in the order of time, which is that of their names.
fn written(place: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(place).into_iter().flatten().flatten().map(|file| file.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}

/// Gives traces of one side the names that those of a simulation have: of reported visits. Where
/// connections and visits are not of the same number, since one was tried twice or did not come
/// about, all are kept and counted.
fn of_visits(traces: Vec<Vec<u8>>, flow: &FlowSpec, side: &str) -> Vec<QlogFile> {
    let plain = traces.len() == flow.visits.len();
    let what = if plain { "visit" } else { "connection" };
    let named = traces.into_iter().enumerate().map(|(index, bytes)| {
        let name = format!("{}-{what}{}-{side}", flow.name, index + 1);
        (index, QlogFile { name, bytes })
    });
    named
        .filter(|(index, _)| !plain || flow.visits[*index].measured)
        .map(|(_, file)| file)
        .collect()
}

/// What became of one visit, of those that `whole` tells of.
fn one(
    whole: &TransferOutcome,
    begin: bentpipe_units::Time,
    told: Option<ClientTimes>,
    download: Option<&Download>,
    visit: &Visit,
) -> TransferOutcome {
    let early = download.is_some_and(|download| download.early_data);
    let error = match told {
        Some(_) if visit.handshake == Handshake::ZeroRtt && !early => {
            Some("the server did not take the request with the first flight (0-RTT)".to_owned())
        }
        Some(_) => None,
        None => Some(whole.error.clone().unwrap_or_else(|| {
            "what `bentpipe get` has printed does not tell of the whole download".to_owned()
        })),
    };
    let completed = told.map(|told| begin + told.completion);
    let bytes = visit.objects.first().map_or(0, |object| object.bytes.get());
    TransferOutcome {
        begin,
        objects: vec![ObjectOutcome {
            requested: Some(begin),
            received: if completed.is_some() { bytes } else { 0 },
            completed,
        }],
        end: completed.unwrap_or(whole.end),
        error,
        ..TransferOutcome::default()
    }
}

/// The times of a whole download.
fn times(download: &Download, visit: &Visit) -> Option<ClientTimes> {
    let bytes = visit.objects.first().map_or(0, |object| object.bytes.get());
    let whole = (download.bytes == bytes).then_some(download)?;
    Some(ClientTimes {
        handshake: whole.handshake_s.map(span),
        first_byte: span(whole.first_byte_s?),
        completion: span(whole.completion_s?),
        retreated: match whole.path.as_deref() {
            Some("known" | "resumed") => Some(false),
            Some("retreated") => Some(true),
            _ => None,
        },
    })
}

/// Seconds as people write them; nothing for what is no time.
fn span(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_named_after_visits_where_there_is_one_for_each() {
        let visit = |reported| Visit {
            handshake: Handshake::OneRtt,
            idle_before: Span::ZERO,
            start_jitter: Span::ZERO,
            direction: bentpipe_sim::Direction::Download,
            objects: Vec::new(),
            duration: None,
            measured: reported,
        };
        let flow = FlowSpec {
            name: "web".to_owned(),
            server: "server".to_owned(),
            stack: bentpipe_sim::Stack::Quic(Box::default()),
            terminal: 0,
            ends: None,
            start: Span::ZERO,
            visits: vec![visit(false), visit(true)],
        };
        let names = |traces: usize| -> Vec<(String, Vec<u8>)> {
            let traces = (0..traces as u8).map(|number| vec![number]).collect();
            of_visits(traces, &flow, "server")
                .into_iter()
                .map(|file| (file.name, file.bytes))
                .collect()
        };
        assert_eq!(names(2), [("web-visit2-server".to_owned(), vec![1])]);
        assert_eq!(names(1), [("web-connection1-server".to_owned(), vec![0])]);
        assert_eq!(names(3)[2].0, "web-connection3-server");
    }

    #[test]
    fn times_are_those_of_a_whole_download_only() {
        let text = r#"{ "url": "x", "bytes": 10, "start_s": 0.1, "handshake_s": 0.5, "first_byte_s": 1.0, "completion_s": 2.5 }"#;
        let visit = |bytes| Visit {
            handshake: Handshake::OneRtt,
            idle_before: Span::ZERO,
            start_jitter: Span::ZERO,
            direction: bentpipe_sim::Direction::Download,
            objects: vec![bentpipe_sim::Object::new("object", Bytes::new(bytes))],
            duration: None,
            measured: true,
        };
        let whole = ClientTimes {
            handshake: Some(Span::from_millis(500)),
            first_byte: Span::from_secs(1),
            completion: Span::from_millis(2500),
            retreated: None,
        };
        let said: Download = serde_json::from_str(text).unwrap();
        assert_eq!((times(&said, &visit(10)), times(&said, &visit(11))), (Some(whole), None));
        for (path, retreated) in
            [("unknown", None), ("resumed", Some(false)), ("retreated", Some(true))]
        {
            let said: Download =
                serde_json::from_str(&text.replace('}', &format!(r#", "path": "{path}" }}"#)))
                    .unwrap();
            assert_eq!(times(&said, &visit(10)), Some(ClientTimes { retreated, ..whole }));
        }
        let failed: Download =
            serde_json::from_str(r#"{ "url": "x", "error": "refused" }"#).unwrap();
        assert_eq!(times(&failed, &visit(10)), None);
    }
}

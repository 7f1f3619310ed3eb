//! A flow over QUIC: `bentpipe serve` and `bentpipe get`.
//!
//! Both run as processes of their own, so that measurements include the runtime and sockets that
//! users have. The client measures its times from its first packet, so that they exclude the start
//! of its process.

use super::path::quic_packet;
use super::program::{CommandOutcome, DISCARDS, commands};
use super::program_files::OBJECT;
use super::send_limits::of_qlog;
use super::shell_words::word;
use super::visit_outcome::{ClientTimes, VisitOutcome};
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, ObjectOutcome, TransferOutcome};
use bentpipe_quic::{Handshake, QuicSettings, ResumeVia};
use bentpipe_sim::{FlowSpec, ProgramStack, QlogFile, Visit};
use bentpipe_units::{Bytes, Span, Time};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Largest total of each end's qlog files in a run: they are read into memory to become part of the
/// run directory.
const MAX_QLOG: Bytes = Bytes::from_mb(256);

/// Output of `bentpipe get --json`, without the unused fields.
#[derive(Debug, Deserialize)]
struct GetOutput {
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

/// Runs all visits of a flow, with one server and one client.
pub fn visits(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    settings: &QuicSettings,
    port: u16,
) -> Result<Vec<VisitOutcome>, EmuError> {
    let system = |error: std::io::Error| EmuError::system("a directory for qlog", error);
    let qlog_directory = runner
        .spec
        .qlog
        .any()
        .then(|| TempDir::with_prefix("bentpipe-qlog-"))
        .transpose()
        .map_err(system)?;
    let qlog_path =
        |role: &str| qlog_directory.as_ref().map(|directory| directory.path().join(role));
    let qlog_options = |role: &str| {
        // A visit takes two connections if the server rejects early data.
        let max_files = 2 * flow.visits.len();
        let qvis = if runner.spec.qlog.qvis { " --qlog-qvis" } else { "" };
        let options = qlog_path(role).map(|path| {
            format!(
                " --qlog {} --qlog-files {max_files} --qlog-size '{MAX_QLOG}'{qvis}",
                word(&path.display().to_string())
            )
        });
        options.unwrap_or_default()
    };
    let [mut server, mut client] = command_lines(flow, settings);
    server.push_str(&qlog_options("server"));
    client.push_str(&qlog_options("client"));
    let mtu = quic_packet(settings.max_mtu);
    let (congestion, receive_buffer, pep) = (None, None, None);
    let stack = ProgramStack { server, client, mtu, congestion, receive_buffer, pep };
    let CommandOutcome { outcome: whole, output, .. } =
        commands(runner, flow, &stack, &flow.visits, port)?;
    let downloads: Vec<Download> = serde_json::from_slice(&output)
        .map(|output: GetOutput| output.downloads)
        .unwrap_or_default();
    let first_start = downloads.first().and_then(|download| download.start_s).unwrap_or_default();
    let (mut qlog, mut limits) = (Vec::new(), Vec::new());
    for role in ["client", "server"] {
        let files = qlog_path(role).map(|path| read_files(&path)).unwrap_or_default();
        // The server sends the data. With other numbers, files belong to no visit.
        if role == "server" && files.len() == flow.visits.len() {
            limits = files.iter().map(|[current, _]| of_qlog(current)).collect();
        }
        qlog.extend(name_qlog(files, flow, role));
        if !runner.spec.qlog.current {
            qlog.iter_mut().for_each(|file: &mut QlogFile| file.current.clear());
        }
    }
    let outcomes = flow.visits.iter().enumerate().map(|(index, visit)| {
        let download = downloads.get(index);
        let client_times = download.and_then(|download| times(download, visit));
        let start_s = download.and_then(|download| download.start_s).unwrap_or(first_start);
        let begin = whole.begin + span(start_s - first_start);
        let outcome = visit_outcome(&whole, begin, client_times, download, visit);
        let qlog = if index == 0 { std::mem::take(&mut qlog) } else { Vec::new() };
        let limits = limits.get_mut(index).map(std::mem::take).unwrap_or_default();
        VisitOutcome { client_times, limits, qlog, ..VisitOutcome::new(port, outcome) }
    });
    Ok(outcomes.collect())
}

/// Returns the command lines of the server and of the client that makes all visits.
fn command_lines(flow: &FlowSpec, settings: &QuicSettings) -> [String; 2] {
    let congestion = &settings.congestion;
    // The path is remembered by the server while it runs, or by the client in a temporary file.
    let (server_store, client_store) = match settings.resume_via {
        ResumeVia::Store => ("--no-store", "--no-tokens"),
        ResumeVia::Token => ("--tokens-only", "--tokens tokens.sqlite"),
    };
    let server = format!(
        "exec {{bentpipe}} serve {{dir}} --listen {{server}}:{{port}} --cert {{cert}} --key \
            {{key}} {server_store} --log none \
         --congestion {} --slow-start {} --loss-filter {} --resume {}",
        congestion.controller, congestion.slow_start, congestion.loss_filter, congestion.resume
    );
    let mut client = format!(
        "exec {{bentpipe}} get --http3-only --insecure {client_store} --json{DISCARDS} {{url}}"
    );
    for index in 1..flow.visits.len() {
        client.push_str(&format!(" https://{{server}}:{{port}}/{index}-{OBJECT}"));
    }
    if let Some(second) = flow.visits.get(1) {
        client.push_str(&format!(
            " --no-reuse --pause '{} ms'",
            second.idle_before.as_millis_f64().round()
        ));
    }
    [server, client]
}

/// Reads the qlog files in `directory`: each trace in the current form and, if it was written, in
/// that of qvis. Their names sort by time.
fn read_files(directory: &Path) -> Vec<[Vec<u8>; 2]> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path()).collect();
    files.retain(|file| !file.to_string_lossy().ends_with(".qvis.sqlog"));
    files.sort();
    let read = |file: &PathBuf| {
        let qvis = fs::read(file.with_extension("qvis.sqlog")).unwrap_or_default();
        Some([fs::read(file).ok()?, qvis])
    };
    files.iter().filter_map(read).collect()
}

/// Names the qlog files of one end as the simulator does: after measured visits.
///
/// If a connection was retried or failed, files cannot be assigned to visits. All are kept then,
/// numbered by connection.
fn name_qlog(files: Vec<[Vec<u8>; 2]>, flow: &FlowSpec, role: &str) -> Vec<QlogFile> {
    let one_per_visit = files.len() == flow.visits.len();
    let what = if one_per_visit { "visit" } else { "connection" };
    let named = files.into_iter().enumerate().map(|(index, [current, qvis])| {
        let name = format!("{}-{what}{}-{role}", flow.name, index + 1);
        (index, QlogFile { name, current, qvis })
    });
    named
        .filter(|(index, _)| !one_per_visit || flow.visits[*index].measured)
        .map(|(_, file)| file)
        .collect()
}

/// Returns the outcome of one visit that starts at `begin`. `whole` is that of the two programs.
fn visit_outcome(
    whole: &TransferOutcome,
    begin: Time,
    client_times: Option<ClientTimes>,
    download: Option<&Download>,
    visit: &Visit,
) -> TransferOutcome {
    let early = download.is_some_and(|download| download.early_data);
    let error = match client_times {
        Some(_) if visit.handshake == Handshake::ZeroRtt && !early => {
            Some("the server rejected the request in 0-RTT data".to_owned())
        }
        Some(_) => None,
        None => Some(
            whole
                .error
                .clone()
                .unwrap_or_else(|| "`bentpipe get` did not report a complete download".to_owned()),
        ),
    };
    let completed = client_times.map(|client| begin + client.completion);
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

/// Returns the times of a download, or `None` if it is incomplete.
fn times(download: &Download, visit: &Visit) -> Option<ClientTimes> {
    let bytes = visit.objects.first().map_or(0, |object| object.bytes.get());
    let complete = (download.bytes == bytes).then_some(download)?;
    Some(ClientTimes {
        handshake: complete.handshake_s.map(span),
        first_byte: span(complete.first_byte_s?),
        completion: span(complete.completion_s?),
        retreated: match complete.path.as_deref() {
            Some("known" | "resumed") => Some(false),
            Some("retreated") => Some(true),
            _ => None,
        },
    })
}

/// Converts seconds. Negative values and NaN give zero.
fn span(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gets_every_part_of_the_congestion_control() {
        let flow = FlowSpec::new("web", bentpipe_sim::Stack::Quic(Box::default()), Vec::new());
        let mut settings = QuicSettings::default();
        settings.congestion.loss_filter = "none".parse().unwrap();
        let [server, _] = command_lines(&flow, &settings);
        assert!(server.contains(" --loss-filter none "), "{server}");
    }

    #[test]
    fn qlog_files_are_named_after_visits_if_each_visit_has_one() {
        let visit = |measured| Visit { measured, ..Visit::default() };
        let stack = bentpipe_sim::Stack::Quic(Box::default());
        let flow = FlowSpec::new("web", stack, vec![visit(false), visit(true)]);
        let names = |files: usize| -> Vec<(String, Vec<u8>)> {
            let files = (0..files as u8).map(|number| [vec![number], vec![]]).collect();
            name_qlog(files, &flow, "server")
                .into_iter()
                .map(|file| (file.name, file.current))
                .collect()
        };
        assert_eq!(names(2), [("web-visit2-server".to_owned(), vec![1])]);
        assert_eq!(names(1), [("web-connection1-server".to_owned(), vec![0])]);
        assert_eq!(names(3)[2].0, "web-connection3-server");
    }

    #[test]
    fn only_a_complete_download_has_times() {
        let text = r#"{
            "url": "x", "bytes": 10, "start_s": 0.1, "handshake_s": 0.5,
            "first_byte_s": 1.0, "completion_s": 2.5
        }"#;
        let visit = |bytes| Visit {
            objects: vec![bentpipe_sim::Object::new("object", Bytes::new(bytes))],
            ..Visit::default()
        };
        let complete = ClientTimes {
            handshake: Some(Span::from_millis(500)),
            first_byte: Span::from_secs(1),
            completion: Span::from_millis(2500),
            retreated: None,
        };
        let download: Download = serde_json::from_str(text).unwrap();
        assert_eq!(times(&download, &visit(10)), Some(complete));
        assert_eq!(times(&download, &visit(11)), None);
        for (path, retreated) in
            [("unknown", None), ("resumed", Some(false)), ("retreated", Some(true))]
        {
            let download: Download =
                serde_json::from_str(&text.replace('}', &format!(r#", "path": "{path}" }}"#)))
                    .unwrap();
            assert_eq!(times(&download, &visit(10)), Some(ClientTimes { retreated, ..complete }));
        }
        let failed: Download =
            serde_json::from_str(r#"{ "url": "x", "error": "refused" }"#).unwrap();
        assert_eq!(times(&failed, &visit(10)), None);
    }
}

//! `bentpipe get`: a file over HTTP/3.

use crate::args::Get;
use crate::{FAILED, NOT_HELD, USAGE, output};
use bentpipe_lab::LabError;
use bentpipe_net::{Client, ClientError, Download, DownloadError, Outcome, TokenFile, Trust, default_tokens, download};
use bentpipe_quic::memory::StoreError;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why there is no file, and the exit status that says so.
type Failed = (String, u8);

/// Downloads each URL in turn, over one connection to each server.
pub fn run(args: &Get) -> Result<u8, LabError> {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Ok(output::refuse(&error.to_string(), FAILED)),
    };
    let done = runtime.block_on(get(args));
    // What still runs is an aborted download's; what has arrived is in its file.
    runtime.shutdown_timeout(Duration::from_secs(1));
    match done {
        Ok(text) => output::print(&text),
        Err((reason, status)) => Ok(output::refuse(&reason, status)),
    }
}

async fn get(args: &Get) -> Result<String, Failed> {
    let usage = |reason: String| (reason, USAGE);
    let mut wanted = Vec::new();
    for url in &args.urls {
        let parsed: http::Uri = url.parse().map_err(|error| usage(format!("`{url}` is no URL: {error}")))?;
        let file = match &args.output {
            Some(file) => file.clone(),
            None => name_of(&parsed).ok_or_else(|| usage(format!("{url} names no file; give one with --output")))?,
        };
        wanted.push(Download { url: parsed, file });
    }
    let client = client(args)?;
    let mut results = Vec::new();
    let ended = tokio::select! {
        ended = all(&client, &wanted, args, &mut results) => ended,
        _ = tokio::signal::ctrl_c() => {
            Err(("interrupted; what has arrived is kept, and the same command goes on from there".to_owned(), FAILED))
        }
    };
    // A server that is told frees what it holds; one that is not finds out by itself.
    let _ = tokio::time::timeout(Duration::from_secs(1), client.disconnect()).await;
    ended?;
    Ok(match args.json {
        true => format!("{}\n", serde_json::to_string_pretty(&json!({ "downloads": results })).unwrap_or_default()),
        false => String::new(),
    })
}

fn client(args: &Get) -> Result<Client, Failed> {
    let mut builder = Client::builder();
    if args.insecure {
        eprintln!("warning: the server's certificate is not looked at: what is received may come from anyone");
        builder = builder.trust(Trust::Anybody);
    } else if let Some(file) = &args.ca {
        let trust = Trust::from_pem(file).map_err(|error| (error.to_string(), USAGE))?;
        builder = builder.trust(trust);
    }
    if let Some(file) = args.tokens.clone().or_else(default_tokens).filter(|_| !args.no_tokens) {
        let tokens = TokenFile::open(&file).map_err(|error: StoreError| (error.to_string(), USAGE))?;
        builder = builder.tokens(tokens);
    }
    builder.build().map_err(|error| (error.to_string(), FAILED))
}

async fn all(
    client: &Client,
    wanted: &[Download],
    args: &Get,
    results: &mut Vec<serde_json::Value>,
) -> Result<(), Failed> {
    for what in wanted {
        let begun = Instant::now();
        let bar = bar(args, what);
        let outcome = download(client, what, |have, total| {
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(have);
        })
        .await;
        bar.finish_and_clear();
        let outcome = outcome.map_err(|error| failed(&error))?;
        let took = begun.elapsed().as_secs_f64();
        if args.json {
            results.push(result(what, &outcome, took));
        } else {
            eprintln!("{}", told(&what.file, &outcome, took));
        }
    }
    Ok(())
}

fn failed(error: &DownloadError) -> Failed {
    let status = match error {
        DownloadError::Status { .. } => NOT_HELD,
        DownloadError::Client(ClientError::Url { .. }) => USAGE,
        _ => FAILED,
    };
    (error.to_string(), status)
}

fn told(file: &Path, outcome: &Outcome, took: f64) -> String {
    let fresh = outcome.bytes - outcome.resumed_at;
    let mbps = fresh as f64 * 8e-6 / took.max(1e-9);
    let early = if outcome.timings.early { ", 0-RTT" } else { "" };
    let resumed = match outcome.resumed_at {
        0 => String::new(),
        at => format!(", resumed at {at}"),
    };
    format!("{}: {} bytes in {took:.3} s, {mbps:.1} Mbps{early}{resumed}", file.display(), outcome.bytes)
}

fn result(what: &Download, outcome: &Outcome, took: f64) -> serde_json::Value {
    json!({
        "url": what.url.to_string(),
        "file": what.file,
        "bytes": outcome.bytes,
        "resumed_at_bytes": outcome.resumed_at,
        "handshake_s": outcome.timings.handshake.map(|span| span.as_secs_f64()),
        "first_byte_s": outcome.timings.first_byte.as_secs_f64(),
        "completion_s": took,
        "early_data": outcome.timings.early,
    })
}

/// On a terminal, unless told otherwise.
fn bar(args: &Get, what: &Download) -> ProgressBar {
    if args.json || args.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length();
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(what.file.display().to_string());
    bar
}

/// The last part of the URL's path, as a file of the present directory.
fn name_of(url: &http::Uri) -> Option<PathBuf> {
    let below = bentpipe_net::http::RequestPath::parse(url.path()).ok()?;
    below.below().file_name().filter(|_| !below.is_directory()).map(PathBuf::from)
}

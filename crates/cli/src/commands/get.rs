//! `bentpipe get`: downloads files over HTTP/3, or older versions where it is missing.

use crate::args::Get;
use crate::output::{self, say};
use crate::status::{FAILED, NOT_MET, OK, USAGE};
use bentpipe_lab::LabError;
use bentpipe_net::get::{Client, ClientError, Download, DownloadError, Outcome, discard, download};
use bentpipe_net::store::{TokenFile, default_tokens};
use bentpipe_net::{LogFormat, PathReport, Trust, write_warnings};
use http::{Uri, Version};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Standard output, by the name that the library expects.
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// What rustls says of a certificate that is not trusted.
const UNTRUSTED: &str = "invalid peer certificate";

/// Error message and exit status.
type Failed = (String, u8);

/// A URL to download, and the file to write, if any.
struct Target {
    url: Uri,
    file: Option<PathBuf>,
}

/// Downloads each URL in turn, over one connection to each server unless `--no-reuse` is given.
pub fn run(args: &Get) -> Result<u8, LabError> {
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Ok(output::refuse(&error.to_string(), FAILED)),
        };
    write_warnings(LogFormat::Text, Box::new(std::io::stderr()));
    let (text, ended) = runtime.block_on(get(args));
    // A task that still runs belongs to an aborted download, whose file has what has arrived.
    runtime.shutdown_timeout(Duration::from_secs(1));
    output::document(&text)?;
    Ok(ended.map_or_else(|(reason, status)| output::refuse(&reason, status), |()| OK))
}

/// Returns the text for standard output, and the result.
async fn get(args: &Get) -> (String, Result<(), Failed>) {
    let (wanted, client) = match wanted(args).and_then(|wanted| Ok((wanted, client(args)?))) {
        Ok(made) => made,
        Err(failed) => return (String::new(), Err(failed)),
    };
    let mut results = Vec::new();
    let ended = tokio::select! {
        ended = all(&client, &wanted, args, &mut results) => ended,
        _ = tokio::signal::ctrl_c() => {
            Err(("interrupted; the same command resumes a partial file".to_owned(), FAILED))
        }
    };
    // Closing the connection lets the server free its resources. Otherwise it waits for a timeout.
    let _ = tokio::time::timeout(Duration::from_secs(1), client.disconnect()).await;
    let text = match args.json {
        true => output::pretty(&json!({ "downloads": results })),
        false => String::new(),
    };
    (text, ended)
}

fn wanted(args: &Get) -> Result<Vec<Target>, Failed> {
    let usage = |reason: String| (reason, USAGE);
    if args.output.is_some() && args.urls.len() > 1 {
        return Err(usage(format!(
            "--output names one file, but there are {} URLs; allowed: one URL",
            args.urls.len()
        )));
    }
    // By convention, `-` is standard output. A file of that name is `./-`.
    let output = args
        .output
        .as_deref()
        .map(|file| if file == "-" { Path::new(STANDARD_OUTPUT) } else { file });
    if args.json && output == Some(Path::new(STANDARD_OUTPUT)) {
        return Err(usage(
            "--json and --output - both write to standard output; allowed: another file".to_owned(),
        ));
    }
    if args.resume && output == Some(Path::new(STANDARD_OUTPUT)) {
        return Err(usage(
            "--continue has no partial file to resume on standard output; allowed: another file"
                .to_owned(),
        ));
    }
    let read = args.urls.iter().map(|url| {
        let parsed: Uri =
            url.parse().ok().filter(|parsed: &Uri| parsed.scheme().is_some()).ok_or_else(|| {
                usage(format!("`{url}` is not a URL; allowed: https://HOST[:PORT]/PATH"))
            })?;
        let file = match output {
            _ if args.discard => None,
            Some(file) => Some(file.to_owned()),
            None => {
                let file = name_of(&parsed);
                Some(file.ok_or_else(|| {
                    usage(format!("{url} does not end in a file name; name the file with --output"))
                })?)
            }
        };
        Ok(Target { url: parsed, file })
    });
    let wanted = read.collect::<Result<Vec<Target>, Failed>>()?;
    match overwritten(&wanted) {
        Some([first, second, name]) => Err(usage(format!(
            "{first} and {second} would both be saved as {name}; download them one by one, with \
             --output"
        ))),
        None => Ok(wanted),
    }
}

/// Returns two URLs whose downloads have one name, and the name. The same URL twice is no such
/// case: the file is the same.
fn overwritten(wanted: &[Target]) -> Option<[String; 3]> {
    let mut named: BTreeMap<&Path, &Uri> = BTreeMap::new();
    wanted.iter().find_map(|Target { url, file }| {
        let file = file.as_deref()?;
        let first = *named.entry(file).or_insert(url);
        (first != url).then(|| [first.to_string(), url.to_string(), file.display().to_string()])
    })
}

fn client(args: &Get) -> Result<Client, Failed> {
    let mut builder = Client::builder().stall_time(args.timeout).tcp_fallback(!args.http3_only);
    if args.insecure {
        say!(
            "warning: the server's certificate is not verified, so anyone may have sent the content"
        );
        builder = builder.trust(Trust::Anybody);
    } else if let Some(file) = &args.ca {
        let trust = Trust::from_pem(file).map_err(|error| (error.to_string(), USAGE))?;
        builder = builder.trust(trust);
    }
    if let Some(file) = args.tokens.clone().or_else(default_tokens).filter(|_| !args.no_tokens) {
        match TokenFile::open(&file) {
            Ok(tokens) => builder = builder.tokens(tokens),
            Err(error) if args.tokens.is_some() => return Err((error.to_string(), USAGE)),
            // A download does not depend on tokens.
            Err(error) => say!("warning: tokens are kept in memory only: {error}"),
        }
    }
    if args.no_tokens {
        builder = builder.no_path_tokens();
    }
    for (host, address) in &args.resolve {
        builder = builder.address(host, *address);
    }
    if let Some(qlog) = args.qlog.qlog() {
        builder = builder.qlog(qlog);
    }
    builder.build().map_err(|error| {
        let status = if matches!(error, ClientError::Qlog { .. }) { USAGE } else { FAILED };
        (error.to_string(), status)
    })
}

async fn all(
    client: &Client,
    wanted: &[Target],
    args: &Get,
    results: &mut Vec<serde_json::Value>,
) -> Result<(), Failed> {
    for (index, what) in wanted.iter().enumerate() {
        if index > 0 {
            if args.no_reuse {
                client.disconnect().await;
            }
            tokio::time::sleep(args.pause.into()).await;
        }
        let outcome = match one(client, what, args).await {
            Ok(outcome) => outcome,
            Err(error) => {
                results.push(json!({ "url": what.url.to_string(), "error": error.to_string() }));
                return Err(failed(&error));
            }
        };
        if args.json {
            results.push(result(what, &outcome));
        } else {
            say!("{}", summary_line(what, &outcome));
        }
    }
    Ok(())
}

async fn one(client: &Client, what: &Target, args: &Get) -> Result<Outcome, DownloadError> {
    let bar = bar(args, what);
    let progress = |have, total| {
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_position(have);
    };
    let outcome = match &what.file {
        Some(file) => {
            let what = Download { url: what.url.clone(), file: file.clone() };
            download(client, &what, progress).await
        }
        None => discard(client, &what.url, progress).await,
    };
    bar.finish_and_clear();
    outcome
}

fn failed(error: &DownloadError) -> Failed {
    let status = match error {
        DownloadError::Status { .. } => NOT_MET,
        DownloadError::Client(ClientError::Url { .. }) | DownloadError::Destination { .. } => USAGE,
        _ => FAILED,
    };
    let mut text = error.to_string();
    if text.contains(UNTRUSTED) {
        text.push_str("; --ca FILE trusts the certificate in FILE, and --insecure any, for tests");
    }
    (text, status)
}

fn summary_line(what: &Target, outcome: &Outcome) -> String {
    let took = outcome.timings.completion.map_or(0.0, |span| span.as_secs_f64());
    let fresh = outcome.bytes - outcome.resumed_at;
    let mbps = fresh as f64 * 8e-6 / took.max(1e-9);
    let early = if outcome.timings.early { ", 0-RTT" } else { "" };
    let version = match http_version(outcome.version) {
        "3" => String::new(),
        older => format!(", HTTP/{older}"),
    };
    let path = if outcome.path == Some(PathReport::Resumed) { ", path resumed" } else { "" };
    let resumed = match outcome.resumed_at {
        0 => String::new(),
        at => format!(", resumed at byte {at}"),
    };
    let name =
        what.file.as_ref().map_or_else(|| what.url.to_string(), |file| file.display().to_string());
    format!(
        "{name}: {} bytes in {took:.3} s, {mbps:.1} Mbps{version}{early}{path}{resumed}",
        outcome.bytes
    )
}

fn result(what: &Target, outcome: &Outcome) -> serde_json::Value {
    let timings = &outcome.timings;
    json!({
        "url": what.url.to_string(),
        "file": what.file,
        "bytes": outcome.bytes,
        "resumed_at_bytes": outcome.resumed_at,
        "start_s": timings.start.as_secs_f64(),
        "handshake_s": timings.handshake.map(|span| span.as_secs_f64()),
        "first_byte_s": timings.first_byte.as_secs_f64(),
        "completion_s": timings.completion.map(|span| span.as_secs_f64()),
        "early_data": timings.early,
        "redirects": outcome.redirects,
        "http": http_version(outcome.version),
        "path": outcome.path.map(PathReport::name),
    })
}

const fn http_version(version: Version) -> &'static str {
    match version {
        Version::HTTP_3 => "3",
        Version::HTTP_2 => "2",
        Version::HTTP_10 => "1.0",
        _ => "1.1",
    }
}

/// Returns a progress bar, hidden if standard error is not a terminal or on request.
fn bar(args: &Get, what: &Target) -> ProgressBar {
    if args.json || args.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length();
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
    );
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let name = what.url.path().rsplit('/').next().unwrap_or_default();
    bar.set_message(output::printable(name));
    bar
}

/// Returns the last segment of the URL's path as a file of the current directory.
fn name_of(url: &Uri) -> Option<PathBuf> {
    let below = bentpipe_net::http::RequestPath::parse(url.path()).ok()?;
    below.below().file_name().filter(|_| !below.is_directory()).map(PathBuf::from)
}

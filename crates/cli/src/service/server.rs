//! What `bentpipe serve`, `proxy` and `front` have in common, from start to end.

use crate::args::{LogStyle, ServerOptions, set_parameters};
use crate::output;
use crate::service::messages::Messages;
use crate::service::notify::ServiceManager;
use crate::service::stop::{ServiceSignal, StopSignals};
use crate::service::successor;
use crate::status::{FAILED, OK, USAGE};
use bentpipe_net::serve::{CertificateResolver, Limits, Server, ServerBuilder, WantedLimits};
use bentpipe_net::store::{default_keys, default_store};
use bentpipe_net::{QlogCounts, raise_descriptor_limit};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_units::Span;
use serde_json::{Value, json};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::oneshot;

/// Open descriptors of a thread: its socket, and its runtime's epoll, eventfd and signal pipe.
const DESCRIPTORS_PER_THREAD: u64 = 4;

/// Why a server ended, and the exit status.
pub type Failure = (String, u8);

/// Returns a failure for which the command line or a file is to blame.
pub fn usage(error: &dyn Display) -> Failure {
    (error.to_string(), USAGE)
}

/// Open descriptors that a server needs in addition to those of its clients.
#[derive(Debug, Clone, Copy)]
pub enum ExtraDescriptors {
    /// Files to send: at most this many, in total and to one client.
    Files {
        /// In total.
        all: Option<usize>,
        /// To one client.
        per_client: Option<usize>,
    },
    /// Connections to an upstream, at most this many.
    Upstream(usize),
}

/// Runs a server, as a future, on threads of its own. Returns the exit status.
pub fn block_on(serve: impl Future<Output = Result<u8, Failure>>) -> u8 {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // These threads read files. More would only wait for the same disk.
        .max_blocking_threads(32)
        .enable_all()
        .build();
    let served = match runtime {
        Ok(runtime) => runtime.block_on(serve),
        Err(error) => Err((error.to_string(), FAILED)),
    };
    served.unwrap_or_else(|(reason, status)| output::refuse(&reason, status))
}

/// Returns the server's limits, within the limit on open descriptors.
///
/// # Errors
/// What is wanted does not fit.
pub fn limits(options: &ServerOptions, opens: ExtraDescriptors) -> Result<Limits, String> {
    let traces = options.qlog.qlog().map_or(0, |qlog| qlog.files as u64);
    let limits = Limits {
        per_client: options.max_per_client,
        request_rate: options.request_rate,
        request_burst: options.request_burst,
        ..Limits::default()
    };
    let others = traces + DESCRIPTORS_PER_THREAD * u64::from(options.threads().get());
    let wanted = WantedLimits { connections: options.max_connections, ..WantedLimits::default() };
    let (limits, others, wanted) = match opens {
        ExtraDescriptors::Files { all, per_client } => {
            (limits, others, WantedLimits { files: all, files_per_client: per_client, ..wanted })
        }
        ExtraDescriptors::Upstream(connections) => {
            (Limits { files: 0, ..limits }, others + connections as u64, wanted)
        }
    };
    let limits = limits.fit(raise_descriptor_limit(), others, wanted);
    limits.map_err(|error| error.to_string())
}

/// Sets what `options` say. `keeps_sessions`: the certificate outlives the program, so sessions of
/// TLS are kept in a file by default.
pub fn configure(
    mut builder: ServerBuilder,
    options: &ServerOptions,
    limits: Limits,
    messages: &Messages,
    keeps_sessions: bool,
) -> ServerBuilder {
    let mut congestion = CongestionConfig {
        controller: options.congestion,
        slow_start: options.slow_start,
        loss_filter: options.loss_filter,
        resume: options.resume,
        ..CongestionConfig::default()
    };
    set_parameters(&mut congestion, &options.parameters);
    builder = builder.limits(limits).congestion(congestion).threads(options.threads());
    builder = builder.error_log(messages.format(), Box::new(std::io::stderr()));
    let stores = !options.no_store && !options.tokens_only;
    if let Some(store) = options.store.clone().or_else(default_store).filter(|_| stores) {
        builder = builder.store(&store);
    }
    if options.tokens_only {
        builder = builder.tokens_only();
    }
    if let Some(file) = sessions(options, keeps_sessions) {
        builder = builder.keys(&file);
    }
    if let Some(address) = options.metrics {
        builder = builder.metrics(address);
    }
    if let Some(qlog) = options.qlog.qlog() {
        builder = builder.qlog(qlog);
    }
    if let Some(format) = options.log.format() {
        let fields: Vec<_> = options.log_fields.iter().map(|name| name.field()).collect();
        builder = builder.access_log(format, Box::new(std::io::stdout())).log_fields(&fields);
    }
    builder
}

/// Returns the file of keys and TLS sessions, if there is one.
fn sessions(options: &ServerOptions, keeps: bool) -> Option<PathBuf> {
    let default = || {
        if options.no_sessions || options.no_store || !keeps {
            return None;
        }
        match &options.store {
            Some(store) => Some(store.with_extension("sessions.sqlite")),
            None => default_keys(),
        }
    };
    options.sessions.clone().or_else(default)
}

/// What a server says once it listens.
pub struct Announcement {
    /// What it serves.
    pub what: String,
    /// The versions of HTTP.
    pub versions: &'static str,
    /// A message after it.
    pub note: Option<String>,
    /// More of it for programs that read the first line.
    pub json: Vec<(&'static str, Value)>,
}

impl Announcement {
    /// If the reader of standard output has gone, it only misses the log.
    fn print(&self, server: &Server, options: &ServerOptions) {
        let url = format!("https://{}", server.address());
        let _ = output::print(&match options.log {
            LogStyle::Json => {
                let mut line = json!({ "listening": server.address(), "url": url });
                for (key, value) in &self.json {
                    line[*key] = value.clone();
                }
                format!("{line}\n")
            }
            _ => format!("serving {} at {url} ({})\n", self.what, self.versions),
        });
    }
}

/// What SIGHUP asks a running server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hangup {
    /// To end, as any program.
    End,
    /// To read its files again.
    Reload,
    /// To hand over to a new process, and to let clients finish for at most this long.
    HandOver(Span),
}

/// Files that a running server reads again.
pub trait Reload {
    /// What SIGHUP asks for.
    fn on_hangup(&self) -> Hangup;

    /// Waits until it is time, without a signal. `certificates` are those in use.
    async fn due(&mut self, certificates: &CertificateResolver);

    /// Reads them.
    fn reload(&mut self, certificates: &CertificateResolver, messages: &Messages);
}

/// Waits until a server has to end at once that lets clients finish for `drain`: by the next
/// signal, or, if `drain` is longer than `usual`, by the one after it. Clients then have `usual`
/// from the first one on, after which `over` is told.
async fn ended_at_once(
    signals: &mut StopSignals,
    (usual, drain): (Span, Span),
    over: oneshot::Sender<()>,
) {
    signals.next().await;
    if drain <= usual {
        return;
    }
    tokio::select! {
        () = signals.next() => return,
        () = tokio::time::sleep(usual.into()) => {}
    }
    // Without a receiver, the server has finished.
    let _ = over.send(());
    signals.next().await;
}

/// Reads `files` again whenever it is time, for as long as clients finish.
async fn keep_reloading(
    files: &mut impl Reload,
    certificates: &CertificateResolver,
    messages: &Messages,
) {
    loop {
        files.due(certificates).await;
        files.reload(certificates, messages);
    }
}

/// Runs the server of `builder` until a signal stops it. Returns the exit status.
///
/// # Errors
/// The server cannot start, or failed.
pub async fn run(
    builder: ServerBuilder,
    options: &ServerOptions,
    messages: &Messages,
    announcement: &Announcement,
    mut files: impl Reload,
) -> Result<u8, Failure> {
    let failed = |error: &dyn Display| (error.to_string(), FAILED);
    let inheritance = successor::inheritance().map_err(|error| failed(&error))?;
    let builder = match inheritance {
        Some(inheritance) => builder.take_over(inheritance),
        None => builder,
    };
    // Handles signals before anybody knows that the server runs, and may stop it or hand it over at
    // once.
    let hangup = files.on_hangup();
    let signals =
        if hangup == Hangup::End { StopSignals::new() } else { StopSignals::with_reload() };
    let mut signals = signals.map_err(|error| failed(&error))?;
    let mut server = builder.start().await.map_err(|error| usage(&error))?;
    announcement.print(&server, options);
    if let Some(address) = server.metrics_address() {
        messages.info(&format!(
            "metrics at http://{address}/metrics, health at http://{address}/health"
        ));
    }
    if let Some(note) = &announcement.note {
        messages.info(note);
    }
    let certificates = server.certificates();
    let mut manager = ServiceManager::from_env();
    manager.ready();
    let drain = loop {
        tokio::select! {
            error = server.failed() => return Err(failed(&error)),
            () = manager.alive() => {}
            () = files.due(&certificates) => files.reload(&certificates, messages),
            signal = signals.stop_or_reload() => match (signal, hangup) {
                (ServiceSignal::Stop, _) => {
                    manager.stopping();
                    messages.stopping(server.connections(), options.drain);
                    break options.drain;
                }
                (ServiceSignal::Reload, Hangup::HandOver(drain)) => {
                    match successor::hand_over(&mut server).await {
                        Ok(process) => {
                            manager.hand_over(process);
                            messages.handed_over(process, server.connections(), drain);
                            break drain;
                        }
                        Err(reason) => {
                            messages.warn(&format!("{reason}; this process continues"));
                            files.reload(&certificates, messages);
                        }
                    }
                }
                (ServiceSignal::Reload, _) => files.reload(&certificates, messages),
            },
        }
    };
    let counts = server.qlog_counts();
    let (time_over, over) = oneshot::channel();
    let (left, served) = tokio::select! {
        finished = finish(server, (drain, over), &manager, messages) => finished,
        () = ended_at_once(&mut signals, (options.drain, drain), time_over) => return Ok(FAILED),
        () = keep_reloading(&mut files, &certificates, messages) => return Ok(FAILED),
    };
    if let Some(counts) = counts {
        report_traces(&counts, messages);
    }
    if left > 0 {
        messages.info(&format!("{left} connections were closed before they finished"));
    }
    // The service manager starts the service again.
    Ok(if served { OK } else { FAILED })
}

fn report_traces(counts: &QlogCounts, messages: &Messages) {
    let [traces, skipped, truncated] =
        [&counts.traces, &counts.skipped, &counts.truncated].map(|count| count.load(Relaxed));
    messages.info(&format!(
        "qlog: {traces} traces, {truncated} of them truncated; {skipped} connections untraced"
    ));
}

/// Lets the clients of a server finish, for `drain` or until the time is `over`, and stops it.
/// Returns the number of connections that were cut off, and false if nobody serves who should.
async fn finish(
    mut server: Server,
    (drain, over): (Span, oneshot::Receiver<()>),
    manager: &ServiceManager,
    messages: &Messages,
) -> (usize, bool) {
    let over = async {
        if over.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let (left, served) = tokio::select! {
        finished = successor::finish(&mut server, drain, manager, messages) => match finished {
            Ok(left) => (left, true),
            Err(reason) => {
                messages.warn(&format!("{reason}; nobody takes new connections"));
                (Span::ZERO, false)
            }
        },
        () = over => (Span::ZERO, true),
    };
    (server.stop(left).await, served)
}

//! Client side of `bentpipe serve` and `bentpipe proxy`, from start to end.

use crate::args::{Front, LogStyle, set_parameters};
use crate::output;
use crate::service::messages::Messages;
use crate::service::stop::{ServiceSignal, StopSignals};
use crate::status::{FAILED, OK, USAGE};
use bentpipe_net::serve::{CertificateResolver, Limits, ServerBuilder, WantedLimits};
use bentpipe_net::store::{default_keys, default_store};
use bentpipe_net::{Certificate, CertificateError, raise_descriptor_limit};
use bentpipe_quic::congestion::CongestionConfig;
use serde_json::json;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Open descriptors of a thread: its socket, and its runtime's epoll, eventfd and signal pipe.
const DESCRIPTORS_PER_THREAD: u64 = 4;

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

/// Runs the server that `begin` builds with the certificate until a signal stops it. `what` names
/// its content in messages. Returns the exit status.
pub fn run(
    args: &Front,
    what: &str,
    opens: ExtraDescriptors,
    begin: impl FnOnce(Certificate) -> ServerBuilder,
) -> u8 {
    let limits = match limits(args, opens) {
        Ok(limits) => limits,
        Err(reason) => return output::refuse(&reason, USAGE),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // These threads read files. More would only wait for the same disk.
        .max_blocking_threads(32)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return output::refuse(&error.to_string(), FAILED),
    };
    let served = runtime.block_on(serve(args, what, limits, begin));
    served.unwrap_or_else(|(reason, status)| output::refuse(&reason, status))
}

/// Returns the server's limits, within the limit on open descriptors.
fn limits(args: &Front, opens: ExtraDescriptors) -> Result<Limits, String> {
    let traces = args.qlog.qlog().map_or(0, |qlog| qlog.files as u64);
    let limits = Limits { per_client: args.max_per_client, ..Limits::default() };
    let others = traces + DESCRIPTORS_PER_THREAD * u64::from(args.threads().get());
    let wanted = WantedLimits { connections: args.max_connections, ..WantedLimits::default() };
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

async fn serve(
    args: &Front,
    what: &str,
    limits: Limits,
    begin: impl FnOnce(Certificate) -> ServerBuilder,
) -> Result<u8, (String, u8)> {
    let usage = |error: &dyn std::fmt::Display| (error.to_string(), USAGE);
    let failed = |error: &dyn std::fmt::Display| (error.to_string(), FAILED);
    let messages = Messages::new(args.log);
    let certificate = match (&args.cert, &args.key) {
        (Some(chain), Some(key)) => load(chain, key, &messages),
        _ if args.self_signed => Certificate::self_signed(&names(args.listen.ip(), &args.name)),
        _ => {
            return Err((
                "no certificate is given; allowed: --cert FILE with --key FILE, or --self-signed \
                 for tests"
                    .to_owned(),
                USAGE,
            ));
        }
    }
    .map_err(|error| usage(&error))?;
    let fingerprint = certificate.fingerprint();
    if let Some(file) = &args.save_cert {
        bentpipe_files::write(file, certificate.pem().as_bytes())
            .map_err(|error| (format!("{}: {error}", file.display()), USAGE))?;
    }
    let mut congestion = CongestionConfig {
        controller: args.congestion,
        slow_start: args.slow_start,
        loss_filter: args.loss_filter,
        resume: args.resume,
        ..CongestionConfig::default()
    };
    set_parameters(&mut congestion, &args.parameters);
    let mut builder = begin(certificate).listen(args.listen).limits(limits).congestion(congestion);
    builder = builder.threads(args.threads());
    builder = builder.error_log(messages.format(), Box::new(std::io::stderr()));
    if let Some(store) =
        args.store.clone().or_else(default_store).filter(|_| !args.no_store && !args.tokens_only)
    {
        builder = builder.store(&store);
    }
    if args.tokens_only {
        builder = builder.tokens_only();
    }
    if let Some(file) = sessions(args) {
        builder = builder.keys(&file);
    }
    if let Some(address) = args.metrics {
        builder = builder.metrics(address);
    }
    if let Some(qlog) = args.qlog.qlog() {
        builder = builder.qlog(qlog);
    }
    if let Some(format) = args.log.format() {
        builder = builder.access_log(format, Box::new(std::io::stdout()));
    }
    let mut server = builder.start().await.map_err(|error| usage(&error))?;
    // Handles signals before printing the address, because a reader may then stop the server at
    // once.
    let reloads = args.cert.is_some();
    let signals = if reloads { StopSignals::with_reload() } else { StopSignals::new() };
    let mut signals = signals.map_err(|error| failed(&error))?;
    let url = format!("https://{}", server.address());
    // If the reader of standard output has gone, it only misses the log.
    let _ = output::print(&match args.log {
        LogStyle::Json => format!("{}\n", json!({ "listening": server.address(), "url": url })),
        _ => format!("serving {what} at {url} (HTTP/3, HTTP/2, HTTP/1.1)\n"),
    });
    if let Some(address) = server.metrics_address() {
        messages.info(&format!(
            "metrics at http://{address}/metrics, health at http://{address}/health"
        ));
    }
    if args.self_signed {
        messages.info(&format!("self-signed certificate, SHA-256 {fingerprint}"));
    }
    let certificates = server.certificates();
    loop {
        tokio::select! {
            error = server.failed() => return Err(failed(&error)),
            signal = signals.stop_or_reload() => match signal {
                ServiceSignal::Stop => break,
                ServiceSignal::Reload => reload(args, &certificates, &messages),
            },
        }
    }
    let counts = server.qlog_counts();
    messages.stopping(server.connections(), args.drain);
    let left = tokio::select! {
        left = server.stop(args.drain) => left,
        () = signals.next() => return Ok(FAILED),
    };
    if let Some(counts) = counts {
        let [traces, skipped, truncated] =
            [&counts.traces, &counts.skipped, &counts.truncated].map(|count| count.load(Relaxed));
        messages.info(&format!(
            "qlog: {traces} traces, {truncated} of them truncated; {skipped} connections untraced"
        ));
    }
    if left > 0 {
        messages.info(&format!("{left} connections were closed before they finished"));
    }
    Ok(OK)
}

/// Returns the file of keys and TLS sessions, if there is one. By default, a server whose
/// certificate ends with it keeps none.
fn sessions(args: &Front) -> Option<PathBuf> {
    let default = || {
        if args.no_sessions || args.no_store || args.self_signed {
            return None;
        }
        match &args.store {
            Some(store) => Some(store.with_extension("sessions.sqlite")),
            None => default_keys(),
        }
    };
    args.sessions.clone().or_else(default)
}

/// Loads the certificate, and warns if other users may read its private key. That is no error:
/// some systems hand out keys with mode 0644 in a directory that only the server may enter.
fn load(chain: &Path, key: &Path, messages: &Messages) -> Result<Certificate, CertificateError> {
    let certificate = Certificate::from_pem(chain, key)?;
    if let Some(warning) = certificate.warning() {
        messages.warn(warning);
    }
    Ok(certificate)
}

/// Reads the certificate again. If that fails, the server continues with the one that it has.
fn reload(args: &Front, certificates: &CertificateResolver, messages: &Messages) {
    let (Some(chain), Some(key)) = (&args.cert, &args.key) else { return };
    let loaded = load(chain, key, messages).map_err(|error| error.to_string());
    let replaced = loaded.and_then(|certificate| {
        let fingerprint = certificate.fingerprint();
        certificates.replace(&certificate).map_err(|error| error.to_string())?;
        Ok(fingerprint)
    });
    match replaced {
        Ok(fingerprint) => messages.info(&format!("new certificate, SHA-256 {fingerprint}")),
        Err(reason) => messages.warn(&format!("the certificate stays as it was: {reason}")),
    }
}

/// Names of a self-signed certificate: the address, the loopback's names, and those given.
fn names(address: IpAddr, given: &[String]) -> Vec<String> {
    let mut names = given.to_vec();
    names.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()]);
    if !address.is_unspecified() && !address.is_loopback() {
        names.push(address.to_string());
    }
    names
}

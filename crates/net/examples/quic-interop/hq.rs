//! HTTP/0.9 over QUIC streams, as the runner uses it: `GET /path`, and the file until the end of
//! the stream.

use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::qlog::{Form, Forms, QlogSink};
use bentpipe_quic::{Clock, Conn, ConnectionConfig, FlowControlRule, QuicSettings, RawStream};
use bentpipe_units::{Bytes, Span};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest request, bytes. Our choice: the runner's are shorter than 300.
const MAX_REQUEST: usize = 4096;

/// Returns the configuration of a connection, and its trace if there is a folder for it.
///
/// The windows of a stream and of a connection begin small, so that a transfer needs updates.
pub fn connection(clock: Clock, qlog: Option<&Path>) -> Result<(ConnectionConfig, Trace), String> {
    let settings = QuicSettings {
        congestion: CongestionConfig::default(),
        stream_window: Bytes::new(256 * 1024),
        connection_window: Bytes::new(512 * 1024),
        flow_control: FlowControlRule::tuned(),
        initial_mtu: 1200,
        max_mtu: 1452,
        idle_timeout: Span::from_secs(60),
        ..QuicSettings::default()
    };
    let config = ConnectionConfig::new(settings, clock).map_err(|error| error.to_string())?;
    let sink = qlog.map(|_| QlogSink::new("bentpipe interop", Forms::CURRENT));
    let trace = Trace { sink: sink.clone(), folder: qlog.map(Path::to_owned) };
    Ok((config.with_qlog(sink), trace))
}

/// The trace of a connection.
#[derive(Debug)]
pub struct Trace {
    sink: Option<QlogSink>,
    folder: Option<PathBuf>,
}

impl Trace {
    /// Writes the trace of a connection that has ended.
    pub fn write(&self, side: &str) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (Some(sink), Some(folder)) = (&self.sink, &self.folder) else { return };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("{side}-{}-{number:04}.sqlog", std::process::id()));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, sink.take(Form::Current)));
        if let Err(error) = written {
            eprintln!("{}: {error}", file.display());
        }
    }
}

/// Requests `path` over a stream of its own. `first`: called when the first bytes arrive.
pub async fn get(conn: &Conn, path: &str, first: impl FnOnce()) -> Result<Vec<u8>, String> {
    let mut stream = RawStream::open(conn).await?;
    stream.write_all(format!("GET {path}\r\n").as_bytes()).await?;
    stream.finish()?;
    let (mut content, mut first) = (Vec::new(), Some(first));
    while let Some(bytes) = stream.read().await? {
        if let Some(first) = first.take() {
            first();
        }
        content.extend_from_slice(&bytes);
    }
    Ok(content)
}

/// Responds to a request with a file of `www`. A request that is not understood, or whose file
/// cannot be read, gets its stream reset.
pub async fn respond(mut stream: RawStream, www: PathBuf) {
    let mut request = Vec::new();
    while !request.contains(&b'\n') && request.len() <= MAX_REQUEST {
        match stream.read().await {
            Ok(Some(bytes)) => request.extend_from_slice(&bytes),
            Ok(None) => break,
            Err(_) => return,
        }
    }
    let file = file_name(&request).and_then(|name| std::fs::read(www.join(name)).ok());
    let Some(content) = file else { return stream.abandon(1) };
    // The client may have gone.
    if stream.write_all(&content).await.is_ok() {
        let _ = stream.finish();
    }
}

/// Returns the name of the file that is requested: one in the folder itself, and not a hidden one.
fn file_name(request: &[u8]) -> Option<&str> {
    let line = request.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let name = std::str::from_utf8(line).ok()?.strip_prefix("GET /")?;
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    (plain && line.len() <= MAX_REQUEST).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_itself_are_served() {
        assert_eq!(file_name(b"GET /a-file\r\n"), Some("a-file"));
        assert_eq!(file_name(b"GET /a-file"), Some("a-file"));
        for wrong in ["GET /\r\n", "GET /../x\r\n", "GET /.x\r\n", "GET x\r\n", "POST /x\r\n", ""] {
            assert_eq!(file_name(wrong.as_bytes()), None, "{wrong}");
        }
    }
}

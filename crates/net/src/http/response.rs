//! The response to a request for a file.

use super::body::Body;
use super::cache_control::CacheControl;
use super::coding;
use super::conditional::Condition;
use super::content_type;
use super::path::RequestPath;
use super::range::{ByteRange, Selected};
use super::root::{Found, OpenFile, Root};
use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, DATE, ETAG, LAST_MODIFIED, LOCATION, RANGE, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use nix::errno::Errno;
use std::io;
use std::time::SystemTime;

/// `Retry-After` of a 503, in seconds. Our choice.
pub const RETRY: HeaderValue = HeaderValue::from_static("2");

/// Files that are served.
#[derive(Debug, Clone)]
pub struct Files {
    /// The directory that they are in.
    pub root: Root,
    /// Cache-Control of responses with a file, or a part of one, and of 304 (RFC 9110 §15.4.5).
    pub cache_control: Option<CacheControl>,
}

/// A response whose content is read while it is sent.
#[derive(Debug)]
pub struct FileResponse {
    /// Status and header fields.
    pub head: Response<()>,
    /// Content, empty for HEAD.
    pub body: Body,
    /// Why the file cannot be read although it may exist. The response does not say so.
    pub failure: Option<io::Error>,
}

/// Responds to a request for one of `files`. `now` is the value of Date. Blocks while it opens
/// the file and reads its first piece.
pub fn respond<T>(files: &Files, request: &Request<T>, now: SystemTime) -> FileResponse {
    respond_if(files, request, now, |_| true)
}

/// As [`respond`], but asks `read` whether to read the first piece, with the number of bytes that
/// are to be sent. Content that is not read takes no memory.
pub fn respond_if<T>(
    files: &Files,
    request: &Request<T>,
    now: SystemTime,
    read: impl FnOnce(u64) -> bool,
) -> FileResponse {
    let mut response = find(files, request, read);
    let headers = response.head.headers_mut();
    headers.insert(DATE, value(&httpdate::fmt_http_date(now)));
    if *request.method() == Method::HEAD {
        response.body = Body::default();
    }
    response
}

fn find<T>(files: &Files, request: &Request<T>, read: impl FnOnce(u64) -> bool) -> FileResponse {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = status_text(StatusCode::METHOD_NOT_ALLOWED);
        response.head.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri().path();
    let Ok(wanted) = RequestPath::parse(path) else { return status_text(StatusCode::NOT_FOUND) };
    match files.root.find(&wanted, &coding::accepted(request.headers())) {
        Ok(Found::File(opened)) => file(opened, request, files.cache_control.as_ref(), read),
        Ok(Found::Directory) => redirect(path),
        Err(error) => unreadable(error),
    }
}

/// Responds for a file that cannot be opened or read. The client does not learn the reason, and a
/// hidden file looks absent (404). A failure of the system is a 503 (RFC 9110 §15.6.4).
fn unreadable(error: io::Error) -> FileResponse {
    if is_absence(&error) {
        return status_text(StatusCode::NOT_FOUND);
    }
    let mut response = status_text(StatusCode::SERVICE_UNAVAILABLE);
    response.head.headers_mut().insert(RETRY_AFTER, RETRY);
    FileResponse { failure: Some(error), ..response }
}

/// Returns whether an error means that there is no such file to serve.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
    };
    let absent =
        [NotFound, PermissionDenied, NotADirectory, IsADirectory, InvalidFilename, InvalidInput];
    // Circular links, links out of the directory, sockets, and devices without a driver.
    let others = [Errno::ELOOP, Errno::EXDEV, Errno::ENXIO, Errno::ENODEV, Errno::ENAMETOOLONG];
    absent.contains(&error.kind())
        || error.raw_os_error().is_some_and(|raw| others.contains(&Errno::from_raw(raw)))
}

/// Redirects to the same directory with a final slash, which relative links in it need (RFC 9110
/// §15.4.2).
fn redirect(path: &str) -> FileResponse {
    let mut response = status_text(StatusCode::MOVED_PERMANENTLY);
    // Two slashes in front would start a host (RFC 3986 §4.2).
    let to = format!("/{}/", path.trim_matches('/'));
    response.head.headers_mut().insert(LOCATION, value(&to));
    response
}

fn file<T>(
    opened: OpenFile,
    request: &Request<T>,
    cache_control: Option<&CacheControl>,
    read: impl FnOnce(u64) -> bool,
) -> FileResponse {
    let OpenFile { file, length, validators, stored, content_type, coding } = opened;
    let condition = validators.check(request.headers());
    let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
    // Ranges apply to GET only (RFC 9110 §14.2).
    let range = range
        .filter(|_| *request.method() == Method::GET && validators.allows_range(request.headers()));
    let selected = range.map_or(Selected::Whole, |range| Selected::of(range, length));
    let (mut response, whole) = match (condition, selected) {
        (Condition::NotModified, _) => (empty(StatusCode::NOT_MODIFIED), None),
        (Condition::Failed, _) => return status_text(StatusCode::PRECONDITION_FAILED),
        (Condition::Holds, Selected::Unsatisfiable) => {
            let mut response = status_text(StatusCode::RANGE_NOT_SATISFIABLE);
            response.head.headers_mut().insert(CONTENT_RANGE, value(&format!("bytes */{length}")));
            return response;
        }
        (Condition::Holds, Selected::Whole) => {
            (empty(StatusCode::OK), Some(ByteRange { first: 0, length }))
        }
        (Condition::Holds, Selected::Part(part)) => {
            let mut response = empty(StatusCode::PARTIAL_CONTENT);
            let last = part.first + part.length - 1;
            response
                .head
                .headers_mut()
                .insert(CONTENT_RANGE, value(&format!("bytes {}-{last}/{length}", part.first)));
            (response, Some(part))
        }
    };
    let headers = response.head.headers_mut();
    headers.insert(ETAG, value(&validators.etag));
    headers.insert(LAST_MODIFIED, value(&httpdate::fmt_http_date(validators.modified)));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if content_type::is_compressible(content_type) {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    headers.extend(cache_control.map(|control| (CACHE_CONTROL, control.value())));
    let Some(range) = whole else { return response };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_LENGTH, range.length.into());
    if *request.method() == Method::HEAD {
        return response;
    }
    let mut body = Body::unread(stored, range);
    match if read(range.length) { body.read_first(file) } else { Ok(()) } {
        Ok(()) => FileResponse { body, ..response },
        // The file became shorter after it was opened.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            status_text(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Err(error) => unreadable(error),
    }
}

fn empty(status: StatusCode) -> FileResponse {
    let mut head = Response::new(());
    *head.status_mut() = status;
    FileResponse { head, body: Body::default(), failure: None }
}

/// Returns a response whose content is the status in words.
pub fn status_text(status: StatusCode) -> FileResponse {
    let mut response = empty(status);
    response.body = Body::text(status.canonical_reason().unwrap_or_default());
    let headers = response.head.headers_mut();
    headers.insert(CONTENT_LENGTH, response.body.left().into());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn value(text: &str) -> HeaderValue {
    // All values are digits, dates, or the path of a request, which was a header itself.
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::MAX_PIECE;
    use std::time::UNIX_EPOCH;

    fn files(directory: &std::path::Path) -> Files {
        Files { root: Root::open(directory).unwrap(), cache_control: None }
    }

    async fn ask(
        files: &Files,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (u16, http::HeaderMap, Vec<u8>) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let FileResponse { head, mut body, .. } =
            respond(files, &request.body(()).unwrap(), UNIX_EPOCH);
        let mut content = Vec::new();
        while let Some(piece) = body.next(MAX_PIECE).await.unwrap() {
            content.extend_from_slice(&piece);
        }
        (head.status().as_u16(), head.headers().clone(), content)
    }

    #[tokio::test]
    async fn requests_get_the_file_range_or_status_that_they_select() {
        let directory = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..600_000u32).map(|index| (index % 251) as u8).collect();
        std::fs::write(directory.path().join("f.bin"), &content).unwrap();
        std::fs::write(directory.path().join("empty"), "").unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        let root = files(directory.path());

        let (status, headers, body) = ask(&root, "GET", "/f.bin?x=1", &[]).await;
        assert_eq!((status, body), (200, content.clone()));
        assert_eq!(headers[CONTENT_LENGTH], "600000");
        assert_eq!(headers[DATE], "Thu, 01 Jan 1970 00:00:00 GMT");
        let etag = headers[ETAG].to_str().unwrap().to_owned();

        let (status, headers, body) =
            ask(&root, "GET", "/f.bin", &[("range", "bytes=100-400099")]).await;
        assert_eq!((status, &body[..]), (206, &content[100..400_100]));
        assert_eq!(headers[CONTENT_RANGE], "bytes 100-400099/600000");
        let (status, _, body) =
            ask(&root, "GET", "/f.bin", &[("range", "bytes=1-2"), ("if-range", "\"old\"")]).await;
        assert_eq!((status, body.len()), (200, 600_000), "another version is sent whole");
        let (status, headers, _) = ask(&root, "GET", "/f.bin", &[("range", "bytes=600000-")]).await;
        assert_eq!((status, headers[CONTENT_RANGE].to_str().unwrap()), (416, "bytes */600000"));

        let (status, headers, body) = ask(&root, "HEAD", "/f.bin", &[]).await;
        assert_eq!(
            (status, headers[CONTENT_LENGTH].to_str().unwrap(), body.len()),
            (200, "600000", 0)
        );
        let (status, headers, body) =
            ask(&root, "GET", "/f.bin", &[("if-none-match", &etag)]).await;
        assert_eq!((status, body.len(), headers.get(CONTENT_LENGTH)), (304, 0, None));
        assert_eq!(ask(&root, "GET", "/f.bin", &[("if-match", "\"old\"")]).await.0, 412);

        let (status, _, body) = ask(&root, "GET", "/empty", &[]).await;
        assert_eq!((status, body.len()), (200, 0));
        let (status, headers, _) = ask(&root, "GET", "//d", &[]).await;
        assert_eq!((status, headers[LOCATION].to_str().unwrap()), (301, "/d/"));
        assert_eq!(ask(&root, "GET", "/d/", &[]).await.0, 404, "no directory listing");
        assert_eq!(ask(&root, "GET", "/..%2f..%2fetc/passwd", &[]).await.0, 404);
        let (status, headers, _) = ask(&root, "POST", "/f.bin", &[]).await;
        assert_eq!((status, headers[ALLOW].to_str().unwrap()), (405, "GET, HEAD"));
    }

    #[tokio::test]
    async fn compressed_files_are_sent_to_clients_that_accept_them() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str, age: u64| {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 - age);
            std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        write("page.html", "plain", 100);
        write("page.html.br", "small", 100);
        write("page.html.gz", "stale", 200);
        write("film.mp4", "film", 100);
        write("film.mp4.gz", "film.gz", 100);
        let root = files(directory.path());
        let accepts = |coding| [("accept-encoding", coding)];

        let (status, headers, body) = ask(&root, "GET", "/page.html", &accepts("gzip, br")).await;
        assert_eq!((status, &body[..]), (200, &b"small"[..]));
        assert_eq!(headers[CONTENT_ENCODING], "br");
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(headers[VARY], "accept-encoding");
        let coded = headers[ETAG].to_str().unwrap().to_owned();

        for (coding, why) in [("gzip", "older than the file"), ("br;q=0", "refused")] {
            let (_, headers, body) = ask(&root, "GET", "/page.html", &accepts(coding)).await;
            assert_eq!((&body[..], headers.get(CONTENT_ENCODING)), (&b"plain"[..], None), "{why}");
            assert_eq!(headers[VARY], "accept-encoding");
            assert_ne!(headers[ETAG].to_str().unwrap(), coded);
        }
        let (_, headers, body) = ask(&root, "GET", "/film.mp4", &accepts("gzip")).await;
        assert_eq!((&body[..], headers.get(VARY)), (&b"film"[..], None));
        // Which compressed files there are is no secret: they are files like others.
        let (_, headers, body) = ask(&root, "GET", "/page.html.br", &[]).await;
        assert_eq!((&body[..], headers.get(CONTENT_ENCODING)), (&b"small"[..], None));
    }

    #[tokio::test]
    async fn only_files_and_parts_of_them_have_a_cache_control() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("f"), "content").unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        let cache_control = Some("public, max-age=3600".parse().unwrap());
        let files = Files { cache_control, ..files(directory.path()) };
        for (method, path, field, expected) in [
            ("GET", "/f", None, 200),
            ("HEAD", "/f", None, 200),
            ("GET", "/f", Some(("range", "bytes=1-2")), 206),
            ("GET", "/f", Some(("if-none-match", "*")), 304),
            ("GET", "/d", None, 301),
            ("GET", "/absent", None, 404),
            ("POST", "/f", None, 405),
            ("GET", "/f", Some(("if-match", "\"old\"")), 412),
            ("GET", "/f", Some(("range", "bytes=99-")), 416),
        ] {
            let fields: Vec<_> = field.into_iter().collect();
            let (status, headers, _) = ask(&files, method, path, &fields).await;
            assert_eq!(status, expected, "{method} {path}");
            let sent = headers.get(CACHE_CONTROL).map(|value| value.to_str().unwrap());
            let wanted = matches!(status, 200 | 206 | 304).then_some("public, max-age=3600");
            assert_eq!(sent, wanted, "{method} {path}: {status}");
        }
    }

    #[test]
    fn a_failure_of_the_system_is_not_an_absent_file() {
        let unread = |errno: Errno| unreadable(io::Error::from_raw_os_error(errno as i32));
        for absent in
            [Errno::ENOENT, Errno::EACCES, Errno::ENOTDIR, Errno::ELOOP, Errno::EXDEV, Errno::ENXIO]
        {
            let response = unread(absent);
            assert_eq!(
                (response.head.status().as_u16(), response.failure.is_none()),
                (404, true),
                "{absent}"
            );
        }
        for failure in [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::EIO] {
            let response = unread(failure);
            assert_eq!(
                (response.head.status().as_u16(), response.failure.is_some()),
                (503, true),
                "{failure}"
            );
            assert_eq!(response.head.headers()[RETRY_AFTER], "2");
        }
    }

    #[tokio::test]
    async fn a_file_that_shrinks_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("f");
        std::fs::write(&name, vec![7; 600_000]).unwrap();
        let root = files(directory.path());
        let mut body = respond(&root, &Request::get("/f").body(()).unwrap(), UNIX_EPOCH).body;
        assert_eq!(body.next(MAX_PIECE).await.unwrap().unwrap().len(), 32_768);
        assert_eq!(body.next(10_000).await.unwrap().unwrap().len(), 10_000);
        std::fs::File::options().write(true).open(&name).unwrap().set_len(200_000).unwrap();
        assert_eq!(
            body.next(MAX_PIECE).await.unwrap_err().kind(),
            std::io::ErrorKind::UnexpectedEof
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_file_is_open_only_while_it_is_sent_and_stays_the_same_version() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("f");
        let replace = |byte: u8| {
            let new = directory.path().join("new");
            std::fs::write(&new, vec![byte; 100_000 + usize::from(byte)]).unwrap();
            std::fs::rename(new, &name).unwrap();
        };
        // Descriptors of this process that lead to the file, whether it still has a name or not.
        let open = || {
            let paths = std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            paths.filter(|path| path.to_string_lossy().starts_with(name.to_str().unwrap())).count()
        };
        replace(1);
        let root = files(directory.path());
        let request = Request::get("/f").body(()).unwrap();
        let mut body = respond(&root, &request, UNIX_EPOCH).body;
        assert_eq!(open(), 0, "before anything is sent");
        body.next(MAX_PIECE).await.unwrap();
        assert_eq!(open(), 0, "the first piece is sent");
        body.next(10_000).await.unwrap();
        assert_eq!(open(), 1);
        replace(2);
        assert_eq!(body.next(10_000).await.unwrap().unwrap(), [1; 10_000][..], "it stays open");
        while body.next(MAX_PIECE).await.unwrap().is_some() {}
        assert_eq!(open(), 0, "all of it was read");

        let mut unread = respond_if(&root, &request, UNIX_EPOCH, |_| false).body;
        assert_eq!((unread.left(), unread.next(10).await.unwrap().unwrap().len()), (100_002, 10));
        let mut body = respond(&root, &request, UNIX_EPOCH).body;
        body.next(MAX_PIECE).await.unwrap();
        replace(3);
        let error = body.next(MAX_PIECE).await.unwrap_err();
        assert_eq!(error.to_string(), "the file was replaced while it was sent");
    }
}

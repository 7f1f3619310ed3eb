//! From a request's head to a response's.

use super::conditional::Condition;
use super::root::{Found, Opened};
use super::{Body, ByteRange, RequestPath, Root, Selected};
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, LAST_MODIFIED,
    LOCATION, RANGE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use nix::errno::Errno;
use std::io;
use std::time::SystemTime;

/// When to ask again after a 503, in seconds: our choice, about as long as a request waits here.
pub const RETRY: HeaderValue = HeaderValue::from_static("2");

/// A response whose content is read as it is sent.
#[derive(Debug)]
pub struct Answer {
    /// Status and headers.
    pub head: Response<()>,
    /// Content; nothing for HEAD.
    pub body: Body,
    /// Why the file cannot be read, though it may be there: the response does not say.
    pub failure: Option<io::Error>,
}

/// Answers a request for a file below `root` at `now`. Blocks while the file is found and its first
/// piece read.
pub fn answer<T>(root: &Root, request: &Request<T>, now: SystemTime) -> Answer {
    let mut answer = found(root, request);
    let headers = answer.head.headers_mut();
    headers.insert(DATE, value(&httpdate::fmt_http_date(now)));
    if *request.method() == Method::HEAD {
        answer.body = Body::default();
    }
    answer
}

fn found<T>(root: &Root, request: &Request<T>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED);
        answer.head.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    let path = request.uri().path();
    let Ok(wanted) = RequestPath::parse(path) else { return plain(StatusCode::NOT_FOUND) };
    match root.find(&wanted) {
        Ok(Found::File(opened)) => file(opened, request),
        Ok(Found::Directory) => moved(path),
        Err(error) => unreadable(error),
    }
}

/// Answers for a file that cannot be opened or read. Why not is nobody's business, and what is
/// hidden is not there; but a failure of the system says nothing about the file (RFC 9110 §15.6.4).
fn unreadable(error: io::Error) -> Answer {
    if is_absence(&error) {
        return plain(StatusCode::NOT_FOUND);
    }
    let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE);
    answer.head.headers_mut().insert(RETRY_AFTER, RETRY);
    Answer { failure: Some(error), ..answer }
}

/// Whether an error means that there is no such file to serve.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
    };
    let absent =
        [NotFound, PermissionDenied, NotADirectory, IsADirectory, InvalidFilename, InvalidInput];
    // Links in a circle or out of the directory, and sockets and devices without a driver.
    let others = [Errno::ELOOP, Errno::EXDEV, Errno::ENXIO, Errno::ENODEV, Errno::ENAMETOOLONG];
    absent.contains(&error.kind())
        || error.raw_os_error().is_some_and(|raw| others.contains(&Errno::from_raw(raw)))
}

/// To the same directory, with the slash that its links need (RFC 9110 §15.4.2).
fn moved(path: &str) -> Answer {
    let mut answer = plain(StatusCode::MOVED_PERMANENTLY);
    // One slash in front: two would name a host (RFC 3986 §4.2).
    let to = format!("/{}/", path.trim_matches('/'));
    answer.head.headers_mut().insert(LOCATION, value(&to));
    answer
}

fn file<T>(opened: Opened, request: &Request<T>) -> Answer {
    let Opened { file, length, validators, content_type } = opened;
    let condition = validators.check(request.headers());
    let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
    // RFC 9110 §14.2: a range counts for GET only.
    let range = range
        .filter(|_| *request.method() == Method::GET && validators.allows_range(request.headers()));
    let selected = range.map_or(Selected::Whole, |range| Selected::of(range, length));
    let (mut answer, whole) = match (condition, selected) {
        (Condition::NotModified, _) => (empty(StatusCode::NOT_MODIFIED), None),
        (Condition::Failed, _) => return plain(StatusCode::PRECONDITION_FAILED),
        (Condition::Holds, Selected::Unsatisfiable) => {
            let mut answer = plain(StatusCode::RANGE_NOT_SATISFIABLE);
            answer.head.headers_mut().insert(CONTENT_RANGE, value(&format!("bytes */{length}")));
            return answer;
        }
        (Condition::Holds, Selected::Whole) => {
            (empty(StatusCode::OK), Some(ByteRange { first: 0, length }))
        }
        (Condition::Holds, Selected::Part(part)) => {
            let mut answer = empty(StatusCode::PARTIAL_CONTENT);
            let last = part.first + part.length - 1;
            answer
                .head
                .headers_mut()
                .insert(CONTENT_RANGE, value(&format!("bytes {}-{last}/{length}", part.first)));
            (answer, Some(part))
        }
    };
    let headers = answer.head.headers_mut();
    headers.insert(ETAG, value(&validators.etag));
    headers.insert(LAST_MODIFIED, value(&httpdate::fmt_http_date(validators.modified)));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let Some(range) = whole else { return answer };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_LENGTH, range.length.into());
    if *request.method() == Method::HEAD {
        return answer;
    }
    match Body::file(file, range) {
        Ok(body) => Answer { body, ..answer },
        // It became shorter since it was opened.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            plain(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Err(error) => unreadable(error),
    }
}

fn empty(status: StatusCode) -> Answer {
    let mut head = Response::new(());
    *head.status_mut() = status;
    Answer { head, body: Body::default(), failure: None }
}

/// The status in words.
pub fn plain(status: StatusCode) -> Answer {
    let mut answer = empty(status);
    answer.body = Body::text(status.canonical_reason().unwrap_or_default());
    let headers = answer.head.headers_mut();
    headers.insert(CONTENT_LENGTH, answer.body.left().into());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn value(text: &str) -> HeaderValue {
    // Everything here is digits, dates, or the path of a request that was a header itself.
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::PIECE;
    use std::time::UNIX_EPOCH;

    async fn ask(
        root: &Root,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (u16, http::HeaderMap, Vec<u8>) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Answer { head, mut body, .. } = answer(root, &request.body(()).unwrap(), UNIX_EPOCH);
        let mut content = Vec::new();
        while let Some(piece) = body.next(PIECE).await.unwrap() {
            content.extend_from_slice(&piece);
        }
        (head.status().as_u16(), head.headers().clone(), content)
    }

    #[tokio::test]
    async fn requests_are_answered_with_what_they_ask_for() {
        let place = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..600_000u32).map(|index| (index % 251) as u8).collect();
        std::fs::write(place.path().join("f.bin"), &content).unwrap();
        std::fs::write(place.path().join("empty"), "").unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        let root = Root::open(place.path()).unwrap();

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
        assert_eq!(ask(&root, "GET", "/d/", &[]).await.0, 404, "no list of what is in it");
        assert_eq!(ask(&root, "GET", "/..%2f..%2fetc/passwd", &[]).await.0, 404);
        let (status, headers, _) = ask(&root, "POST", "/f.bin", &[]).await;
        assert_eq!((status, headers[ALLOW].to_str().unwrap()), (405, "GET, HEAD"));
    }

    #[test]
    fn a_failure_of_the_system_is_not_taken_for_an_absent_file() {
        let answer = |errno: Errno| unreadable(io::Error::from_raw_os_error(errno as i32));
        for absent in
            [Errno::ENOENT, Errno::EACCES, Errno::ENOTDIR, Errno::ELOOP, Errno::EXDEV, Errno::ENXIO]
        {
            let answer = answer(absent);
            assert_eq!(
                (answer.head.status().as_u16(), answer.failure.is_none()),
                (404, true),
                "{absent}"
            );
        }
        for failure in [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::EIO] {
            let answer = answer(failure);
            assert_eq!(
                (answer.head.status().as_u16(), answer.failure.is_some()),
                (503, true),
                "{failure}"
            );
            assert_eq!(answer.head.headers()[RETRY_AFTER], "2");
        }
    }

    #[tokio::test]
    async fn a_file_that_shrinks_ends_in_an_error_and_not_in_less() {
        let place = tempfile::tempdir().unwrap();
        let name = place.path().join("f");
        std::fs::write(&name, vec![7; 600_000]).unwrap();
        let root = Root::open(place.path()).unwrap();
        let mut body = answer(&root, &Request::get("/f").body(()).unwrap(), UNIX_EPOCH).body;
        std::fs::File::options().write(true).open(&name).unwrap().set_len(200_000).unwrap();
        assert_eq!(body.next(PIECE).await.unwrap().unwrap().len(), 32_768);
        assert_eq!(body.next(PIECE).await.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    }
}

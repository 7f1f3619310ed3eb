//! Answers to requests.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

/// An answer with its whole content.
pub type FullResponse = Response<Full<Bytes>>;

/// What the studio's page may do: run what it contains, ask this server, and show its reports.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'self'; style-src \
    'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'; frame-src 'self'; \
    worker-src blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// What pages of reports may do, in a frame or alone: run what they contain, and create blobs to
/// save them. The sandbox makes them a page of nobody, whose requests no server takes for its own.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads allow-modals; default-src \
    'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src \
    data:; worker-src blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// Returns the studio's page.
pub fn page(html: impl Into<Bytes>) -> FullResponse {
    html_page(html, PAGE_POLICY)
}

/// Returns the page of a report, which may come from anybody.
pub fn report(html: impl Into<Bytes>) -> FullResponse {
    html_page(html, REPORT_POLICY)
}

fn html_page(html: impl Into<Bytes>, policy: &'static str) -> FullResponse {
    let mut response = content(StatusCode::OK, "text/html; charset=utf-8", html);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// Returns a script.
pub fn script(text: &'static str) -> FullResponse {
    content(StatusCode::OK, "text/javascript; charset=utf-8", text)
}

/// Returns a JSON document.
pub fn json(value: &impl Serialize) -> FullResponse {
    match serde_json::to_vec(value) {
        Ok(bytes) => content(StatusCode::OK, "application/json", bytes),
        Err(error) => failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Returns a text.
pub fn text(text: String) -> FullResponse {
    content(StatusCode::OK, "text/plain; charset=utf-8", text)
}

/// Returns an answer with the digest of the text that a file has now.
pub fn tagged(digest: String, mut response: FullResponse) -> FullResponse {
    // Of hexadecimal digits, so that the value is one.
    if let Ok(value) = HeaderValue::from_str(&format!("\"{digest}\"")) {
        response.headers_mut().insert(ETAG, value);
    }
    response
}

/// Returns the text that a file has instead of the one to be replaced; `None` if it was removed.
pub fn conflict(text: Option<String>) -> FullResponse {
    let body = serde_json::json!({ "error": "the file has changed", "text": text }).to_string();
    content(StatusCode::PRECONDITION_FAILED, "application/json", body)
}

/// Returns an answer that leads a browser to `url`.
pub fn redirect(url: &str) -> FullResponse {
    let mut response = content(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    if let Ok(value) = HeaderValue::from_str(url) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

/// Returns an error as `{"error": reason}`.
pub fn failure(status: StatusCode, reason: &str) -> FullResponse {
    let body = serde_json::json!({ "error": reason }).to_string();
    content(status, "application/json", body)
}

/// Returns an answer after which the connection is closed.
pub fn closing(mut response: FullResponse) -> FullResponse {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns a file of JSON.
pub fn json_file(bytes: Vec<u8>) -> FullResponse {
    content(StatusCode::OK, "application/json", bytes)
}

/// Returns an answer without content.
pub fn done() -> FullResponse {
    content(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", "")
}

fn content(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> FullResponse {
    let mut response = Response::new(Full::new(bytes.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The address has the secret.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

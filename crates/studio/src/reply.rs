//! Answers to requests.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

/// An answer with its whole content.
pub type Reply = Response<Full<Bytes>>;

/// What pages may do: run what they contain and ask this server. Reports create blobs to save them.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'self'; style-src \
    'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'; frame-src 'self'; \
    worker-src blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// Returns a page.
pub fn page(html: impl Into<Bytes>) -> Reply {
    let mut reply = content(StatusCode::OK, "text/html; charset=utf-8", html);
    reply.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    reply
}

/// Returns a JSON document.
pub fn json(value: &impl Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(bytes) => content(StatusCode::OK, "application/json", bytes),
        Err(error) => failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Returns a text.
pub fn text(text: String) -> Reply {
    content(StatusCode::OK, "text/plain; charset=utf-8", text)
}

/// Returns an error as `{"error": reason}`.
pub fn failure(status: StatusCode, reason: &str) -> Reply {
    let body = serde_json::json!({ "error": reason }).to_string();
    content(status, "application/json", body)
}

/// Returns a file of JSON.
pub fn json_file(bytes: Vec<u8>) -> Reply {
    content(StatusCode::OK, "application/json", bytes)
}

/// Returns an answer without content.
pub fn done() -> Reply {
    content(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", "")
}

fn content(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(bytes.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The address has the secret.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    reply
}

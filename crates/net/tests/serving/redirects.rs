//! Redirects of downloads.

use super::scripted::{Scripted, ScriptedResponse};
use bentpipe_net::get::{Download, DownloadError, Outcome, download};
use std::fs;
use tempfile::TempDir;

async fn get(server: &Scripted, path: &str, directory: &TempDir) -> Result<Outcome, DownloadError> {
    let what = Download { url: server.url(path), file: directory.path().join("copy") };
    let client = server.client();
    let outcome = download(&client, &what, |_, _| {}).await;
    client.disconnect().await;
    outcome
}

/// Starts a server whose `/1` redirects to `/2`, and so on up to `/9`. `/loop` redirects to itself,
/// and `/plain` to another scheme.
fn server() -> Scripted {
    Scripted::new(|request| match request.uri().path() {
        "/9" => ScriptedResponse::whole(200, &[("etag", "\"v\"")], b"content"),
        "/loop" => ScriptedResponse::whole(302, &[("location", "/loop")], b"moved"),
        "/plain" => ScriptedResponse::whole(301, &[("location", "http://127.0.0.1/9")], b""),
        path => {
            let number: u32 = path.trim_start_matches('/').parse().unwrap();
            ScriptedResponse::whole(307, &[("location", &(number + 1).to_string())], b"moved")
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_are_followed_to_the_content() {
    let (server, directory) = (server(), tempfile::tempdir().unwrap());
    let outcome = get(&server, "/1", &directory).await.unwrap();
    assert_eq!((outcome.bytes, outcome.redirects), (7, 8));
    assert_eq!(fs::read(directory.path().join("copy")).unwrap(), b"content");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_redirects_and_those_to_other_schemes_are_errors() {
    let (server, directory) = (server(), tempfile::tempdir().unwrap());
    let error = get(&server, "/loop", &directory).await.unwrap_err().to_string();
    assert!(error.contains("more than 20 redirects"), "{error}");
    assert_eq!(server.requests().len(), 21);
    let error = get(&server, "/plain", &directory).await.unwrap_err().to_string();
    assert!(error.contains("redirects to `http://127.0.0.1/9`; allowed: https"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_file_from_another_place_is_not_continued() {
    let server = Scripted::new(|request| {
        let partial = request.headers().contains_key("range");
        match request.uri().path() {
            "/f" => ScriptedResponse::whole(302, &[("location", "/mirror")], b""),
            _ if partial => ScriptedResponse::whole(
                206,
                &[("content-range", "bytes 3-6/7"), ("etag", "\"v\"")],
                b"tent",
            ),
            _ => ScriptedResponse::whole(200, &[("etag", "\"v\"")], b"CONTENT"),
        }
    });
    for (location, expected) in [("/mirror", &b"content"[..]), ("/elsewhere", b"CONTENT")] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("copy.part"), "con").unwrap();
        let record = serde_json::json!({
            "url": server.url("/f").to_string(),
            "location": server.url(location).to_string(),
            "etag": "\"v\"",
            "length": 7,
        });
        fs::write(directory.path().join("copy.part.json"), record.to_string()).unwrap();
        get(&server, "/f", &directory).await.unwrap();
        assert_eq!(fs::read(directory.path().join("copy")).unwrap(), expected, "{location}");
    }
}

//! Downloads that are resumed, concurrent, incomplete or inconsistent.

use super::kit::until;
use super::scripted::{Scripted, ScriptedResponse, Step};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bentpipe_net::get::{Download, DownloadError, Outcome, download};
use http::{Request, Uri};
use ring::digest::{SHA256, SHA512, digest};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Returns the content of a version of the file.
fn version(number: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|index| (index.wrapping_mul(number + 7) >> 3) as u8).collect()
}

/// Returns the first byte of the requested range, if there is one.
fn first_byte(request: &Request<()>) -> Option<usize> {
    let range = request.headers().get("range")?.to_str().unwrap();
    Some(range.strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap())
}

/// A directory with the download `copy`, its partial file and its record.
struct DownloadDir(TempDir);

impl DownloadDir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the directory that an interrupted download of version "v1" leaves.
    fn interrupted(url: &Uri, content: &[u8], length: Option<usize>) -> Self {
        let downloads = Self::new();
        fs::write(downloads.path("copy.part"), content).unwrap();
        let url = url.to_string();
        let record = serde_json::json!({
            "url": url,
            "location": url,
            "etag": "\"v1\"",
            "length": length,
        });
        fs::write(downloads.path("copy.part.json"), record.to_string()).unwrap();
        downloads
    }

    async fn get(&self, server: &Scripted, path: &str) -> Result<Outcome, DownloadError> {
        let what = Download { url: server.url(path), file: self.path("copy") };
        let client = server.client();
        let outcome = timeout(Duration::from_secs(30), download(&client, &what, |_, _| {})).await;
        client.disconnect().await;
        outcome.expect("the download neither ends nor fails")
    }

    fn copy(&self) -> Vec<u8> {
        fs::read(self.path("copy")).unwrap()
    }

    /// Asserts that the directory has only the complete file.
    fn assert_only(&self, expected: &[u8]) {
        let copy = self.copy();
        assert!(copy == expected, "{} bytes, expected: {}", copy.len(), expected.len());
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), 1, "other files are left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_download_into_the_same_file_fails_at_once_and_the_first_is_whole() {
    let content = version(1, 4_000_000);
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = {
        let (content, gate) = (content.clone(), gate.clone());
        Scripted::new(move |request| {
            let begin = first_byte(request).unwrap_or(0);
            let (half, length) = (content.len().midpoint(begin), content.len().to_string());
            let mut steps = vec![Step::Send(content[begin..half].to_vec())];
            if asked.fetch_add(1, Relaxed) == 0 {
                steps.push(Step::Wait(gate.clone()));
            }
            steps.push(Step::Send(content[half..].to_vec()));
            let range = format!("bytes {begin}-{}/{length}", content.len() - 1);
            match begin {
                0 => ScriptedResponse::new(
                    200,
                    &[("content-length", &length), ("etag", "\"v1\"")],
                    steps,
                ),
                _ => ScriptedResponse::new(
                    206,
                    &[("content-range", &range), ("etag", "\"v1\"")],
                    steps,
                ),
            }
        })
    };
    let (server, downloads) = (Arc::new(server), Arc::new(DownloadDir::new()));
    let first = tokio::spawn({
        let (server, downloads) = (server.clone(), downloads.clone());
        async move { downloads.get(&server, "/file").await }
    });
    let part = downloads.path("copy.part");
    until("the first half", || fs::metadata(&part).is_ok_and(|part| part.len() == 2_000_000)).await;
    // Through a link as well.
    std::os::unix::fs::symlink("copy", downloads.path("link")).unwrap();
    for name in ["copy", "link"] {
        let what = Download { url: server.url("/file"), file: downloads.path(name) };
        let second = timeout(Duration::from_secs(10), download(&server.client(), &what, |_, _| {}))
            .await
            .unwrap();
        let message = second.unwrap_err().to_string();
        assert!(message.contains("copy.part") && message.contains("another download"), "{message}");
    }
    fs::remove_file(downloads.path("link")).unwrap();
    gate.add_permits(1);
    let outcome = first.await.unwrap().unwrap();
    assert_eq!(outcome.bytes, content.len() as u64);
    downloads.assert_only(&content);
    // The lock ends with the download.
    downloads.get(&server, "/file").await.unwrap();
    downloads.assert_only(&content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_of_another_version_is_not_appended() {
    let (old, new) = (version(1, 300_000), version(2, 400_000));
    let (range, total) = ("bytes 100000-399999/400000", "bytes 100000-299999/300000");
    let answers: [(&str, Vec<(&'static str, &str)>); 8] = [
        ("another entity tag", vec![("content-range", range), ("etag", "\"v2\"")]),
        ("another entity tag, the same length", vec![("content-range", total), ("etag", "\"v2\"")]),
        ("a weak entity tag", vec![("content-range", total), ("etag", "W/\"v1\"")]),
        ("no entity tag", vec![("content-range", total)]),
        ("another length", vec![("content-range", range), ("etag", "\"v1\"")]),
        ("no length", vec![("content-range", "bytes 100000-299999/*"), ("etag", "\"v1\"")]),
        ("another beginning", vec![("content-range", "bytes 0-299999/300000"), ("etag", "\"v1\"")]),
        ("no range", vec![("etag", "\"v1\"")]),
    ];
    for (case, headers) in answers {
        let server = {
            let new = new.clone();
            let headers: Vec<(&'static str, String)> =
                headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            Scripted::new(move |request| match first_byte(request) {
                Some(first) => {
                    let headers: Vec<_> =
                        headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    ScriptedResponse::whole(206, &headers, &new[first..])
                }
                None => ScriptedResponse::whole(
                    200,
                    &[("content-length", "400000"), ("etag", "\"v2\"")],
                    &new,
                ),
            })
        };
        let downloads =
            DownloadDir::interrupted(&server.url("/file"), &old[..100_000], Some(300_000));
        let outcome =
            downloads.get(&server, "/file").await.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!((outcome.bytes, outcome.resumed_at), (400_000, 0), "{case}");
        downloads.assert_only(&new);
        let ranges: Vec<_> =
            server.requests().iter().map(|fields| fields.contains_key("range")).collect();
        assert_eq!(ranges, [true, false], "{case}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_that_ends_before_the_file_is_incomplete() {
    let content = version(1, 300_000);
    let served = content.clone();
    let server = Scripted::new(move |request| {
        let first = first_byte(request).unwrap();
        // At most 150 kB in each response.
        let end = (first + 150_000).min(served.len());
        let range = format!("bytes {first}-{}/{}", end - 1, served.len());
        ScriptedResponse::whole(
            206,
            &[("content-range", &range), ("etag", "\"v1\"")],
            &served[first..end],
        )
    });
    let downloads =
        DownloadDir::interrupted(&server.url("/file"), &content[..100_000], Some(300_000));
    let message = downloads.get(&server, "/file").await.unwrap_err().to_string();
    assert!(message.contains("250000") && message.contains("300000"), "{message}");
    assert!(!downloads.path("copy").exists());
    // The content stays, and the next download requests the rest.
    let outcome = downloads.get(&server, "/file").await.unwrap();
    assert_eq!((outcome.bytes, outcome.resumed_at), (300_000, 250_000));
    downloads.assert_only(&content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_of_another_length_than_announced_is_an_error() {
    let content = version(1, 300_000);
    let served = content.clone();
    let server = Scripted::new(move |request| {
        let announced =
            |length: &str| [("content-length", length.to_owned()), ("etag", "\"v1\"".to_owned())];
        let [length, etag] = match request.uri().path() {
            "/short" => announced("300001"),
            "/long" => announced("299999"),
            "/negative" => announced("-5"),
            _ => announced("300000"),
        };
        let headers = [(length.0, length.1.as_str()), (etag.0, etag.1.as_str())];
        let mut steps = vec![Step::Send(served.clone())];
        match request.uri().path() {
            "/reset" => {
                steps.push(Step::Reset);
                ScriptedResponse::new(200, &[], steps)
            }
            "/unannounced" => ScriptedResponse::new(200, &[], steps),
            "/twice" => {
                ScriptedResponse::new(200, &[headers[0], ("content-length", "300001")], steps)
            }
            _ => ScriptedResponse::new(200, &headers, steps),
        }
    });
    for (path, reason) in [
        ("/short", "300001"),
        ("/long", "299999"),
        ("/negative", "`-5`"),
        ("/twice", "300001"),
        ("/reset", "127.0.0.1"),
    ] {
        let downloads = DownloadDir::new();
        let message = downloads
            .get(&server, path)
            .await
            .map_or_else(|error| error.to_string(), |outcome| panic!("{path}: {outcome:?}"));
        assert!(message.contains(reason), "{path}: {message}");
        assert!(!downloads.path("copy").exists(), "{path}");
    }
    let downloads = DownloadDir::new();
    downloads.get(&server, "/unannounced").await.unwrap();
    downloads.assert_only(&content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_length_of_the_partial_file_has_precedence_over_the_record() {
    let content = version(1, 300_000);
    let served = content.clone();
    let server = Scripted::new(move |request| match first_byte(request) {
        Some(first) if first < served.len() => {
            let range = format!("bytes {first}-{}/{}", served.len() - 1, served.len());
            ScriptedResponse::whole(
                206,
                &[("content-range", &range), ("etag", "\"v1\"")],
                &served[first..],
            )
        }
        Some(_) => ScriptedResponse::whole(416, &[], b""),
        None => ScriptedResponse::whole(
            200,
            &[("content-length", "300000"), ("etag", "\"v1\"")],
            &served,
        ),
    });
    let url = server.url("/file");
    let longer = [&content[..], &[0; 1000]].concat();
    for (case, part, length, resumed_at) in [
        ("a part", &content[..100_000], Some(300_000), 100_000),
        ("a part of unknown length", &content[..100_000], None, 100_000),
        ("nothing", &content[..0], Some(300_000), 0),
        ("more than the file", &longer, Some(300_000), 0),
        ("more than a file of unknown length", &longer, None, 0),
        ("more than was announced then", &content[..100_000], Some(50_000), 0),
    ] {
        let downloads = DownloadDir::interrupted(&url, part, length);
        let outcome =
            downloads.get(&server, "/file").await.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!((outcome.bytes, outcome.resumed_at), (300_000, resumed_at), "{case}");
        downloads.assert_only(&content);
    }
    let downloads = DownloadDir::interrupted(&url, &content[..100_000], None);
    fs::write(downloads.path("copy.part.json"), "{\"url\": \"http").unwrap();
    let torn = downloads.get(&server, "/file").await.unwrap_err().to_string();
    assert!(torn.contains("copy.part.json: it is no record"), "{torn}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_without_an_entity_tag_that_was_interrupted_starts_over() {
    let content = version(1, 300_000);
    let served = content.clone();
    let asked = AtomicUsize::new(0);
    let server = Scripted::new(move |request| {
        assert_eq!(first_byte(request), None);
        let sent = if asked.fetch_add(1, Relaxed) == 0 { &served[..100_000] } else { &served };
        ScriptedResponse::whole(200, &[("content-length", "300000")], sent)
    });
    let downloads = DownloadDir::new();
    assert!(downloads.get(&server, "/file").await.is_err());
    assert_eq!(fs::metadata(downloads.path("copy.part")).unwrap().len(), 100_000);
    assert_eq!(downloads.get(&server, "/file").await.unwrap().resumed_at, 0);
    downloads.assert_only(&content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_file_of_another_program_is_left_alone_and_nothing_is_requested() {
    let server = Scripted::new(|_| panic!("a request"));
    let downloads = DownloadDir::new();
    fs::write(downloads.path("copy.part"), "theirs").unwrap();
    let refused = downloads.get(&server, "/file").await.unwrap_err().to_string();
    assert!(refused.contains("copy.part: no record"), "{refused}");
    assert_eq!(fs::read(downloads.path("copy.part")).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(downloads.0.path()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_digest_is_checked_before_the_file_is_published() {
    let (content, other) = (version(1, 300_000), version(2, 300_000));
    let of = |what: &[u8]| format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, what)));
    let of512 = format!("md5=:AAAA:, sha-512=:{}:;q=1", STANDARD.encode(digest(&SHA512, &content)));
    let (right, wrong, rest) = (of(&content), of(&other), of(&content[100_000..]));
    let served = content.clone();
    let field = move |path: &str| match path {
        "/right" | "/trailer" => ("repr-digest", right.clone()),
        "/sha-512" => ("repr-digest", of512.clone()),
        "/content" => ("content-digest", rest.clone()),
        "/unknown" => ("repr-digest", "unixsum=:AAAA:".to_owned()),
        "/malformed" => ("repr-digest", "sha-256=AAAA".to_owned()),
        "/wrong-content" => ("content-digest", wrong.clone()),
        _ => ("repr-digest", wrong.clone()),
    };
    let server = Scripted::new(move |request| {
        let path = request.uri().path();
        let (name, value) = field(path);
        let Some(first) = first_byte(request) else {
            return ScriptedResponse::whole(200, &[("etag", "\"v1\"")], &served);
        };
        let range = format!("bytes {first}-{}/{}", served.len() - 1, served.len());
        let mut headers = vec![("content-range", range.as_str()), ("etag", "\"v1\"")];
        let trailing = path.ends_with("trailer");
        if !trailing {
            headers.push((name, &value));
        }
        let reply = ScriptedResponse::whole(206, &headers, &served[first..]);
        if trailing { reply.trailers(&[(name, &value)]) } else { reply }
    });
    for path in ["/right", "/trailer", "/sha-512", "/content", "/unknown", "/malformed"] {
        let downloads =
            DownloadDir::interrupted(&server.url(path), &content[..100_000], Some(300_000));
        let outcome =
            downloads.get(&server, path).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(outcome.resumed_at, 100_000, "{path}");
        downloads.assert_only(&content);
    }
    for path in ["/wrong", "/wrong-trailer", "/wrong-content"] {
        let downloads =
            DownloadDir::interrupted(&server.url(path), &content[..100_000], Some(300_000));
        let message = downloads
            .get(&server, path)
            .await
            .map_or_else(|error| error.to_string(), |_| panic!("{path}"));
        assert!(message.contains("sha-256") && message.contains("-digest"), "{path}: {message}");
        // Wrong content is not kept, and so not resumed.
        assert_eq!(fs::read_dir(downloads.0.path()).unwrap().count(), 0, "{path}");
        assert_eq!(downloads.get(&server, path).await.unwrap().resumed_at, 0, "{path}");
        downloads.assert_only(&content);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_by_other_programs_are_detected() {
    let content = version(1, 300_000);
    for meddle in ["exchange the partial file", "extend it", "occupy the name"] {
        let gate = Arc::new(Semaphore::new(0));
        let (served, held) = (content.clone(), gate.clone());
        let server = Arc::new(Scripted::new(move |_| {
            let (first, second) = served.split_at(100_000);
            let steps = vec![
                Step::Send(first.to_vec()),
                Step::Wait(held.clone()),
                Step::Send(second.to_vec()),
            ];
            ScriptedResponse::new(200, &[("content-length", "300000"), ("etag", "\"v1\"")], steps)
        }));
        let downloads = Arc::new(DownloadDir::new());
        let getting = tokio::spawn({
            let (server, downloads) = (server.clone(), downloads.clone());
            async move { downloads.get(&server, "/file").await }
        });
        let part = downloads.path("copy.part");
        until("the first piece", || fs::metadata(&part).is_ok_and(|part| part.len() == 100_000))
            .await;
        match meddle {
            "exchange the partial file" => {
                fs::rename(&part, downloads.path("aside")).unwrap();
                fs::write(&part, "planted").unwrap();
            }
            "extend it" => {
                fs::File::options().write(true).open(&part).unwrap().set_len(400_000).unwrap()
            }
            _ => {
                nix::unistd::mkfifo(&downloads.path("copy"), nix::sys::stat::Mode::S_IRWXU).unwrap()
            }
        }
        gate.add_permits(1);
        let message =
            getting.await.unwrap().map_or_else(|error| error.to_string(), |_| panic!("{meddle}"));
        assert!(message.contains("copy.part"), "{meddle}: {message}");
        assert!(!downloads.path("copy").is_file(), "{meddle}");
    }
}

//! A studio on a socket, asked as a browser and as others would.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod limits;
mod runs;

use bentpipe_studio::{Studio, StudioConfig};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Stands for the simulator of exported reports.
const ENGINE: &str = "<script>\"engine\"</script>";

const SCENARIO: &str = "\
name = \"small\"
[path]
profile = \"geo-50-10\"
[workload]
download = \"200 kB\"
[output]
time_series = \"none\"
";

/// A studio of a directory with one scenario.
struct TestStudio {
    directory: Arc<TempDir>,
    /// `127.0.0.1:port`.
    host: String,
    /// The path with the secret.
    base: String,
    /// The path that leads to it once.
    opening: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl TestStudio {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("small.toml"), SCENARIO).unwrap();
        Self::of(Arc::new(directory)).await
    }

    /// Another studio of a directory.
    async fn of(directory: Arc<TempDir>) -> Self {
        let config = StudioConfig {
            directory: directory.path().to_owned(),
            jobs: NonZeroUsize::MIN,
            store: None,
            reuse: true,
            engine: || Ok(ENGINE.to_owned()),
        };
        let opened = Studio::open(config, 0).await.unwrap();
        let url = opened.url();
        let (host, secret) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let opening = opened.opening_url();
        assert!(!opening.contains(secret.trim_end_matches('/')));
        let opening = opening.strip_prefix(&format!("http://{host}")).unwrap().to_owned();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(opened.serve(async {
            let _ = stopped.await;
        }));
        let (host, base) = (host.to_owned(), format!("/{secret}"));
        Self { directory, host, base, opening, stop, served }
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        content: &str,
    ) -> (StatusCode, String) {
        let response = self.answer(method, path, fields, content).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Asks as a browser that follows to the address of a report. Returns that, too.
    async fn report(&self, path: &str) -> (String, Response<Incoming>) {
        let asked = self.answer("GET", &format!("{}{path}", self.base), &[], "").await;
        assert_eq!(asked.status(), StatusCode::SEE_OTHER);
        let address = asked.headers()["location"].to_str().unwrap().to_owned();
        let report = self.answer("GET", &address, &[], "").await;
        (address, report)
    }

    async fn answer(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        content: &str,
    ) -> Response<Incoming> {
        let stream = TcpStream::connect(&self.host).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        if !fields.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", &self.host);
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let content = Full::new(Bytes::from(content.to_owned()));
        sender.send_request(request.body(content).unwrap()).await.unwrap()
    }

    async fn api(&self, method: &str, path: &str, content: &str) -> (StatusCode, Value) {
        let (status, text) = self.ask(method, &format!("{}{path}", self.base), &[], content).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Waits until a run has ended.
    async fn ended(&self, id: u64) -> Value {
        loop {
            let (_, state) = self.api("GET", &format!("api/runs/{id}"), "").await;
            if !["waiting", "running"].contains(&state["phase"].as_str().unwrap()) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn close(self) {
        self.stop.send(()).unwrap();
        self.served.await.unwrap();
    }
}

#[tokio::test]
async fn a_scenario_is_listed_read_checked_changed_and_saved() {
    let studio = TestStudio::new().await;
    let (_, list) = studio.api("GET", "api/scenarios", "").await;
    assert_eq!(list["scenarios"], json!(["small.toml"]));
    assert_eq!(list["titles"], json!([""]));
    let (_, names) = studio.api("GET", "api/names", "").await;
    assert!(names["constellations"].as_array().unwrap().contains(&json!("iridium")));
    assert!(names["cities"].as_array().unwrap().contains(&json!("London")));
    let (_, text) = studio.api("GET", "api/scenarios/small.toml", "").await;
    assert_eq!(text, SCENARIO);
    let (_, checked) = studio.api("POST", "api/check?file=small.toml", SCENARIO).await;
    assert_eq!(checked["plan"]["runs"], 1, "{checked}");
    let wrong = SCENARIO.replace("geo-50-10", "geo");
    let (_, checked) = studio.api("POST", "api/check?file=small.toml", &wrong).await;
    assert_eq!(checked["error"]["line"], 3, "{checked}");
    let change = json!({ "text": SCENARIO, "key": "workload.download", "value": "1 MB" });
    let (_, edited) = studio.api("POST", "api/edit", &change.to_string()).await;
    let edited = edited["text"].as_str().unwrap();
    assert_eq!(edited, SCENARIO.replace("200 kB", "1 MB"));
    let file = format!("{}api/scenarios/small.toml", studio.base);
    let (status, _) = studio.ask("PUT", &file, &[], edited).await;
    assert_eq!(status, StatusCode::PRECONDITION_REQUIRED, "which text it replaces is not said");
    let (status, _) = studio.ask("PUT", &file, &[("if-none-match", "*")], edited).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "it is not new");
    let fields = [("if-match", &*etag(SCENARIO))];
    assert_eq!(studio.ask("PUT", &file, &fields, edited).await.0, StatusCode::NO_CONTENT);
    let saved = std::fs::read_to_string(studio.directory.path().join("small.toml")).unwrap();
    assert_eq!(saved, edited);
    studio.close().await;
}

/// The `ETag` of a text.
fn etag(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

#[tokio::test]
async fn two_pages_do_not_overwrite_each_other() {
    let studio = TestStudio::new().await;
    let file = format!("{}api/scenarios/small.toml", studio.base);
    let opened = [("if-match", &*etag(SCENARIO))];
    let (first, second) = (SCENARIO.replace("200", "300"), SCENARIO.replace("200", "400"));
    assert_eq!(studio.ask("PUT", &file, &opened, &first).await.0, StatusCode::NO_CONTENT);
    let (status, answer) = studio.ask("PUT", &file, &opened, &second).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["text"], first.as_str(), "the page shows both texts");
    let seen = [("if-match", &*etag(&first))];
    assert_eq!(studio.ask("PUT", &file, &seen, &second).await.0, StatusCode::NO_CONTENT);
    let new = format!("{}api/scenarios/new.toml", studio.base);
    let nothing = [("if-none-match", "*")];
    assert_eq!(studio.ask("PUT", &new, &nothing, &first).await.0, StatusCode::NO_CONTENT);
    assert_eq!(studio.ask("PUT", &new, &nothing, &second).await.0, 412);
    let kept = std::fs::read_to_string(studio.directory.path().join("new.toml")).unwrap();
    assert_eq!(kept, first);
    studio.close().await;
}

#[tokio::test]
async fn the_outlook_tells_time_and_path() {
    let studio = TestStudio::new().await;
    let (_, outlook) = studio.api("POST", "api/outlook?file=small.toml", SCENARIO).await;
    assert_eq!((&outlook["to_run"], &outlook["paths"]), (&json!(1), &Value::Null), "{outlook}");
    assert!(outlook["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    let hostile = "</script><img src=x>";
    let changing = SCENARIO.replace(
        "profile",
        "forward.rate.schedule = [{ at = \"0 s\", rate = \"1 Mbps\" }, \
         { at = \"9 s\", rate = \"2 Mbps\" }]\nprofile",
    );
    let changing = changing.replacen('\n', &format!("\ntitle = '{hostile}'\n"), 1);
    let (status, outlook) = studio.api("POST", "api/outlook?file=small.toml", &changing).await;
    let paths = outlook["paths"].as_str().unwrap_or_default();
    assert!(status.is_success() && paths.contains("bentpipe-traces"), "{outlook}");
    assert!(!paths.contains(hostile));
    let wrong = SCENARIO.replace("geo-50-10", "geo");
    let (status, _) = studio.api("POST", "api/outlook?file=small.toml", &wrong).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let (status, _) = studio.api("GET", "globe.js", "").await;
    assert_eq!(status, StatusCode::OK);
    studio.close().await;
}

#[tokio::test]
async fn a_sweep_too_large_to_plan_while_typing_is_refused_at_once() {
    let studio = TestStudio::new().await;
    let axis = |unit| (1..=300).map(|value| format!("{value} {unit}")).collect::<Vec<_>>();
    let (sizes, delays) = (axis("kB"), axis("ms"));
    let sweep = format!("\"workload.download\" = {sizes:?}\n\"path.rtt\" = {delays:?}\n");
    let text = format!("{SCENARIO}[sweep]\n{sweep}");
    let (_, checked) = studio.api("POST", "api/check?file=small.toml", &text).await;
    let message = checked["error"]["message"].as_str().unwrap();
    assert!(message.contains("90000 sweep points"), "{message}");
    let (status, _) = studio.api("POST", "api/runs?file=small.toml", &text).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    studio.close().await;
}

#[tokio::test]
async fn a_browser_of_this_user_is_led_to_the_secret_once() {
    let studio = TestStudio::new().await;
    let stranger = [("host", "evil.example")];
    assert_eq!(studio.ask("GET", &studio.opening, &stranger, "").await.0, 421);
    assert_eq!(studio.ask("GET", &studio.opening, &[], "").await.0, StatusCode::SEE_OTHER);
    assert_eq!(studio.ask("GET", &studio.opening, &[], "").await.0, StatusCode::NOT_FOUND);
    studio.close().await;
}

#[tokio::test]
async fn others_get_nothing() {
    let studio = TestStudio::new().await;
    let path = format!("{}api/scenarios", studio.base);
    let put = format!("{}api/scenarios/small.toml", studio.base);
    for (field, status) in [
        (("host", "evil.example"), StatusCode::MISDIRECTED_REQUEST),
        (("origin", "http://evil.example"), StatusCode::FORBIDDEN),
        (("origin", "null"), StatusCode::FORBIDDEN),
        (("sec-fetch-site", "cross-site"), StatusCode::FORBIDDEN),
    ] {
        let (got, text) = studio.ask("GET", &path, &[field], "").await;
        assert_eq!(got, status, "{field:?}");
        assert!(!text.contains("small"), "{text}");
        assert_eq!(studio.ask("PUT", &put, &[field], "x").await.0, status, "{field:?}");
    }
    for path in ["/", "/api/scenarios", "/00000000000000000000000000000000/api/scenarios"] {
        assert_eq!(studio.ask("GET", path, &[], "").await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let kept = std::fs::read_to_string(studio.directory.path().join("small.toml")).unwrap();
    assert_eq!(kept, SCENARIO);
    studio.close().await;
}

#[tokio::test]
async fn names_outside_the_directory_and_large_texts_are_refused() {
    let studio = TestStudio::new().await;
    for name in ["..%2Fx.toml", "%2Fetc%2Fx.toml", "../x.toml", "x.txt", ".hidden.toml"] {
        let path = format!("api/scenarios/{name}");
        assert_eq!(studio.api("PUT", &path, "x").await.0, StatusCode::FORBIDDEN, "{name}");
        assert_eq!(studio.api("GET", &path, "").await.0, StatusCode::FORBIDDEN, "{name}");
        let path = format!("api/runs?file={name}");
        assert_eq!(studio.api("POST", &path, SCENARIO).await.0, StatusCode::FORBIDDEN, "{name}");
    }
    let large = "#".repeat(7 << 20);
    let path = "api/check?file=small.toml";
    assert_eq!(studio.api("POST", path, &large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    studio.close().await;
}

/// Returns the path and the content of an import of `files` as the directory `to`.
fn import_of(to: &str, options: &Value, files: &[(&str, &str)]) -> (String, String) {
    let named: Vec<Value> = files
        .iter()
        .map(|(name, content)| json!({ "name": name, "bytes": content.len(), "direction": null }))
        .collect();
    let mut asked = json!({ "to": to, "files": named });
    asked.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let encoded: String = asked.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let contents = files.iter().map(|(_, content)| *content).collect();
    (format!("api/import?request={encoded}"), contents)
}

#[tokio::test]
async fn measurements_become_a_scenario_that_runs() {
    let studio = TestStudio::new().await;
    let samples =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recordings");
    let sample = |name: &str| std::fs::read_to_string(samples.join(name)).unwrap();
    let (ping, iperf3) = (sample("ping.txt"), sample("iperf3.json"));
    let files = [("ping.txt", ping.as_str()), ("iperf3.json", iperf3.as_str())];
    // A rate of the other direction is missing, and nothing is made.
    let (path, content) = import_of("path", &json!({}), &files);
    let (status, answer) = studio.api("POST", &path, &content).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("`--rate RATE`"), "{answer}");
    assert!(!studio.directory.path().join("path").exists());
    let rate = json!({ "rate": "15 Mbps" });
    let (path, content) = import_of("path", &rate, &files);
    let (status, answer) = studio.api("POST", &path, &content).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["file"], "path/scenario.toml");
    assert_eq!(answer["summary"][0][0], "measured");
    let (_, list) = studio.api("GET", "api/scenarios", "").await;
    assert_eq!(list["scenarios"], json!(["path/scenario.toml", "small.toml"]));
    let (_, text) = studio.api("GET", "api/scenarios/path/scenario.toml", "").await;
    let text =
        text.as_str().unwrap().replace("10 MB", "100 kB").replace("repeat = 10", "repeat = 1");
    let (_, started) = studio.api("POST", "api/runs?file=path/scenario.toml", &text).await;
    let ended = studio.ended(started["id"].as_u64().unwrap()).await;
    assert_eq!(ended["phase"], "done", "{ended}");
    // What is there stays.
    let (status, answer) = studio.api("POST", &path, &content).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(answer["error"].as_str().unwrap().contains("`path` exists"), "{answer}");
    studio.close().await;
}

#[tokio::test]
async fn an_import_whose_client_has_left_ends_before_the_next_begins() {
    let studio = TestStudio::new().await;
    let rate = json!({ "rate": "15 Mbps" });
    let pings = |count: u32| -> String {
        let line = |n| format!("64 bytes from x: icmp_seq={n} ttl=50 time={}.5 ms\n", 20 + n % 7);
        (0..count).map(line).collect()
    };
    let (path, content) = import_of("large", &rate, &[("ping.txt", pings(60_000).as_str())]);
    let mut leaving = TcpStream::connect(&studio.host).await.unwrap();
    let request = format!(
        "POST {}{path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n{content}",
        studio.base,
        studio.host,
        content.len()
    );
    leaving.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(leaving);
    let (path, content) = import_of("small", &rate, &[("ping.txt", pings(30).as_str())]);
    let (status, answer) = studio.api("POST", &path, &content).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(studio.directory.path().join("large/scenario.toml").exists());
    studio.close().await;
}

#[tokio::test]
async fn an_import_that_cannot_be_says_why_and_makes_nothing() {
    let studio = TestStudio::new().await;
    let rate = json!({ "rate": "15 Mbps" });
    let pings: String = (0..30)
        .map(|n| format!("[{n}.5] 64 bytes from x: icmp_seq={n} ttl=50 time={}.5 ms\n", 20 + n % 7))
        .collect();
    let broken = pings.replace("time=22.5", "time=-22.5");
    let few: String = pings.lines().take(4).map(|line| format!("{line}\n")).collect();
    let up_only = [("ping.txt", pings.as_str())];
    for (to, options, files, words) in [
        ("a", &rate, &[("ping.txt", broken.as_str())][..], "ping.txt, line 3: "),
        ("a", &rate, &[("ping.txt", few.as_str())][..], "it has 4 values; allowed: 20"),
        ("a", &rate, &[("x.bin", "\u{1}\u{2}")][..], "x.bin"),
        ("a", &rate, &[("a/b.txt", "1")][..], "is no name; allowed: "),
        ("a", &rate, &[("a\n9,9", "1")][..], "is no name; allowed: "),
        ("a", &rate, &[][..], "0 files; allowed: 1 to 16"),
        ("a", &rate, &[("a", ""); 17][..], "17 files; allowed: 1 to 16"),
        ("a", &json!({ "rate": "fast" }), &up_only[..], "`--rate`: "),
        ("a", &json!({ "phase": "61 s" }), &up_only[..], "`--phase`: allowed: "),
        ("a", &json!({ "out": "/tmp/x" }), &up_only[..], "unknown field"),
        ("../a", &rate, &up_only[..], "allowed: the name of a new directory"),
        (".a", &rate, &up_only[..], "allowed: the name of a new directory"),
        ("small.toml", &rate, &up_only[..], "exists; allowed: "),
    ] {
        let (path, content) = import_of(to, options, files);
        let (status, answer) = studio.api("POST", &path, &content).await;
        assert!(status.is_client_error(), "{words}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(words), "{words}: {answer}");
    }
    // Contents and sizes do not agree.
    let (path, content) = import_of("a", &rate, &up_only);
    for content in [&content[1..], &format!("{content}x")] {
        let (status, answer) = studio.api("POST", &path, content).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    }
    // Too large, which no other request may be either.
    let large = "x".repeat((64 << 20) + 1);
    let (status, answer) = studio.api("POST", &path, &large).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{answer}");
    let names = std::fs::read_dir(studio.directory.path()).unwrap().count();
    assert_eq!(names, 1, "something was made");
    studio.close().await;
}

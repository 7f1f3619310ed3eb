//! What nobody can do: keep others out, let it compute for nobody, or ask as a report.

use super::*;
use std::fmt::Write as _;
use std::time::Instant;

#[tokio::test]
async fn a_report_can_ask_the_studio_for_nothing() {
    let studio = TestStudio::new().await;
    let (_, started) = studio.api("POST", "api/runs?file=small.toml", SCENARIO).await;
    let id = started["id"].as_u64().unwrap();
    studio.ended(id).await;
    let (address, report) = studio.report(&format!("runs/{id}/report.html")).await;
    assert_eq!(report.status(), StatusCode::OK);
    // Alone, too, it has no origin of its own, and may connect to nothing.
    let policy = report.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("sandbox allow-scripts"), "{policy}");
    assert!(!policy.contains("allow-same-origin") && !policy.contains("'self'; connect"));
    assert!(policy.contains("default-src 'none'") && !policy.contains("connect-src"), "{policy}");
    // Nor does its address, which its scripts can read and tell others, lead to more.
    let secret = address.split('/').nth(1).unwrap();
    assert_ne!(secret, studio.base.trim_matches('/'));
    for path in ["", "api/scenarios", "api/runs", "globe.js", "runs/1/results.json"] {
        let (status, _) = studio.ask("GET", &format!("/{secret}/{path}"), &[], "").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
    for (method, path) in [("POST", "api/runs"), ("PUT", "api/scenarios/small.toml")] {
        let (status, _) = studio.ask(method, &format!("/{secret}/{path}"), &[], SCENARIO).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
    studio.close().await;
}

#[tokio::test]
async fn connections_without_the_secret_keep_nobody_out() {
    let studio = TestStudio::new().await;
    let request = format!("GET /x HTTP/1.1\r\nhost: {}\r\n\r\n", studio.host);
    let mut held = Vec::new();
    for index in 0..200 {
        let mut stream = TcpStream::connect(&studio.host).await.unwrap();
        // Those that ask, too, take nothing of the answers.
        if index % 2 == 1 {
            let _ = stream.try_write(request.repeat(500).as_bytes());
            let _ = stream.flush().await;
        }
        held.push(stream);
    }
    let listed = studio.api("GET", "api/scenarios", "");
    let listed = tokio::time::timeout(Duration::from_secs(5), listed).await;
    assert_eq!(listed.expect("it answers at once").0, StatusCode::OK);
    drop(held);
    studio.close().await;
}

/// A scenario whose 1000 cases take a minute to plan.
fn large() -> String {
    let mut text = "name = \"leo\"\n[path.orbit]\nconstellation = \"kuiper-630\"\n\
        links.all = { rate = \"10 Mbps\" }\n[workload]\nfrom = \"Toronto\"\n\
        to = \"Washington\"\nupload = \"1 MB\"\n[sweep]\n\"path.orbit.links.all.rate\" = ["
        .to_owned();
    for rate in 0..1000 {
        write!(text, "\"{} kbps\", ", 5000 + rate).unwrap();
    }
    text + "]\n"
}

/// The end of a runtime waits for all that it computes.
#[test]
fn a_request_whose_client_has_left_computes_no_further() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let studio = TestStudio::new().await;
        let text = large();
        for path in ["api/check", "api/outlook", "api/runs"] {
            let path = format!("{path}?file=x.toml");
            let asked = studio.api("POST", &path, &text);
            let answered = tokio::time::timeout(Duration::from_millis(500), asked).await;
            assert!(answered.is_err(), "it computes");
        }
        let (status, _) = studio.api("GET", "api/scenarios", "").await;
        assert_eq!(status, StatusCode::OK);
        studio.close().await;
    });
    let asked = Instant::now();
    drop(runtime);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

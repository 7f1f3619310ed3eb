//! The metrics, and what is made for those who watch them.

use super::kit::{LogBuffer, scrape};
use super::{TestServer, content};
use bentpipe_net::get::{Client, discard};
use bentpipe_net::serve::ServerBuilder;
use bentpipe_net::{LogFormat, PathReport};
use bentpipe_units::Ratio;
use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/bentpipe.json");
const CHAPTER: &str = include_str!("../../../../docs/src/guides/operate.md");

/// Returns the names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    // Not the name of the Debian package, in which a version follows.
    let named = |word: &&str| {
        word.strip_prefix("bentpipe_").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    words.filter(named).map(str::to_owned).collect()
}

/// Returns the names of the series in what a server responds to a scrape.
fn series(scraped: &str) -> BTreeSet<String> {
    let lines = scraped.lines().filter(|line| line.starts_with("bentpipe_"));
    lines.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_are_counted_when_their_connections_end() {
    let site = TestServer::with(|builder| builder.metrics(([127, 0, 0, 1], 0).into())).await;
    let address = site.server.metrics_address().unwrap();
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    client.disconnect().await;
    let (mut scraped, counted) = (String::new(), "\nbentpipe_quic_min_rtt_seconds_count 1\n");
    for _ in 0..500 {
        scraped = scrape(address).await;
        if scraped.contains(counted) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(scraped.contains(counted), "{scraped}");
    // Over the loopback.
    let line = "\nbentpipe_quic_min_rtt_seconds_bucket{le=\"2\"} 1\n";
    assert!(scraped.contains(line), "{scraped}");
    let line = "\nbentpipe_quic_resumptions_total{outcome=\"unknown\"} 1\n";
    assert!(scraped.contains(line), "{scraped}");
    let name = "bentpipe_quic_packets_sent_total ";
    let sent = scraped.lines().find_map(|line| line.strip_prefix(name));
    assert!(sent.unwrap().parse::<u64>().unwrap() > 0, "{scraped}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dashboard_and_the_chapter_name_metrics_that_exist() {
    let share = Ratio::new(0.05).unwrap();
    let all = |builder: ServerBuilder| builder.metrics(([127, 0, 0, 1], 0).into()).holdback(share);
    let site = TestServer::with(all).await;
    let series = series(&scrape(site.server.metrics_address().unwrap()).await);
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let shown: String = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| target["expr"].as_str().unwrap().to_owned() + "\n")
        .collect();
    let (shown, explained) = (names(&shown), names(CHAPTER));
    assert!(shown.len() > 20 && explained.len() > 10, "{shown:?} {explained:?}");
    assert!(shown.is_subset(&series), "unknown: {:?}", shown.difference(&series));
    assert!(explained.is_subset(&series), "unknown: {:?}", explained.difference(&series));
    // All are shown. Grafana computes from the buckets of a histogram.
    let other = ["_sum", "_count"];
    let left: Vec<&String> = series
        .difference(&shown)
        .filter(|name| !other.iter().any(|suffix| name.ends_with(suffix)))
        .collect();
    assert!(left.is_empty(), "not on the dashboard: {left:?}");
}

/// Downloads 20 MB twice from a server that holds `share` of its clients back. Returns what the
/// server did with its memory the second time, its metrics, and its access log.
async fn twice(share: f64) -> (Option<PathReport>, String, Vec<serde_json::Value>) {
    let log = LogBuffer::default();
    let sink = Box::new(log.clone());
    let site = TestServer::with(|builder| {
        builder
            .holdback(Ratio::new(share).unwrap())
            .metrics(([127, 0, 0, 1], 0).into())
            .access_log(LogFormat::Json, sink)
    })
    .await;
    site.file("large.bin", 20_000_000);
    let mut report = None;
    for visit in 1..=2 {
        let client = Client::builder().trust(site.trust.clone()).no_path_tokens().build().unwrap();
        let outcome = discard(&client, &site.url("/large.bin"), |_, _| {}).await.unwrap();
        report = outcome.path;
        // The line is written when the client has acknowledged all, unless it leaves before.
        log.lines(visit).await;
        client.disconnect().await;
    }
    let lines = log.lines(2).await;
    let scraped = scrape(site.server.metrics_address().unwrap()).await;
    (report, scraped, lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_are_held_back_have_no_memory_and_their_deliveries_are_counted() {
    let (report, scraped, lines) = twice(1.0).await;
    assert_eq!(report, None, "there is no memory to report on");
    let classes = "group=\"holdback\",size=\">=1.5MB\",rtt=\"<100ms\"";
    let count = |scraped: &str, classes: &str| {
        let name = format!("bentpipe_delivery_seconds_count{{{classes}}} ");
        scraped.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_owned()
    };
    assert!(lines.iter().all(|line| line["group"] == "holdback"), "{lines:?}");
    assert_eq!(count(&scraped, classes), "2");
    for line in &lines {
        let [rtt, delivered, seconds] =
            ["rtt_s", "delivered_s", "seconds"].map(|key| line[key].as_f64().unwrap());
        assert!(rtt > 0.0 && rtt < 0.1 && delivered >= seconds, "{line}");
    }

    let (report, scraped, lines) = twice(0.0).await;
    // What a visit over the loopback teaches is too little to be used; a memory is there.
    assert!(report.is_some(), "the server has a memory of paths");
    assert!(lines.iter().all(|line| line["group"] == "treatment"), "{lines:?}");
    assert_eq!(count(&scraped, classes), "0");
    assert_eq!(count(&scraped, &classes.replace("holdback", "treatment")), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_has_the_host_and_what_the_path_showed() {
    let log = LogBuffer::default();
    let sink = Box::new(log.clone());
    let site = TestServer::with(|builder| builder.access_log(LogFormat::Json, sink)).await;
    site.file("large.bin", 5_000_000);
    let client = site.client();
    discard(&client, &site.url("/large.bin?secret=x"), |_, _| {}).await.unwrap();
    let lines = log.lines(1).await;
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    let host = site.server.address().to_string();
    assert_eq!((&line["host"], &line["protocol"]), (&host.into(), &"HTTP/3".into()), "{line}");
    let [rtt, delivered, seconds] =
        ["rtt_s", "delivered_s", "seconds"].map(|key| line[key].as_f64().unwrap());
    assert!(rtt > 0.0 && rtt < 0.5 && delivered >= seconds, "{line}");
    assert_eq!(line["resumption"], "unknown", "{line}");
    assert!(line["packets_lost"].is_u64() && line.get("group").is_none(), "{line}");
    assert!(!lines[0].contains("secret"), "{line}");
    client.disconnect().await;
}

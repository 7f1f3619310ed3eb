//! The metrics, and what is made for those who watch them.

use super::kit::scrape;
use super::{TestServer, content};
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
    let site = TestServer::with(|builder| builder.metrics(([127, 0, 0, 1], 0).into())).await;
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

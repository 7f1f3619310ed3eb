//! Runs, their reports and their directories.

use super::*;

#[tokio::test]
async fn results_are_not_written_through_a_link() {
    for linked in ["out", "out/studio"] {
        let studio = TestStudio::new().await;
        let outside = tempfile::tempdir().unwrap();
        let place = studio.directory.path().join(linked);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), &place).unwrap();
        let (_, started) = studio.api("POST", "api/runs?file=small.toml", SCENARIO).await;
        let state = studio.ended(started["id"].as_u64().unwrap()).await;
        assert_eq!(state["phase"], "failed", "{state}");
        assert!(state["error"].as_str().unwrap().contains("symbolic link"), "{state}");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "{linked}");
        studio.close().await;
    }
}

#[tokio::test]
async fn a_scenario_runs_and_its_report_is_served() {
    let studio = TestStudio::new().await;
    let (_, started) = studio.api("POST", "api/runs?file=small.toml", SCENARIO).await;
    let id = started["id"].as_u64().unwrap();
    let state = studio.ended(id).await;
    assert_eq!((&state["phase"], &state["done"]), (&json!("done"), &json!(1)), "{state}");
    let completion = state["summary"][0]["median"].as_f64().unwrap();
    assert!((1.2..3.0).contains(&completion), "{completion}");
    let (_, report) = studio.report(&format!("runs/{id}/report.html")).await;
    let status = report.status();
    let report = report.into_body().collect().await.unwrap().to_bytes();
    assert!(status.is_success() && report.windows(5).any(|part| part == b"<html"), "{status}");
    let (_, results) = studio.api("GET", &format!("runs/{id}/results.json"), "").await;
    assert_eq!(results["runs"].as_array().unwrap().len(), 1);
    let (status, data) = studio.api("GET", &format!("api/runs/{id}/data"), "").await;
    let data = data.as_str().unwrap();
    assert!(status.is_success() && data.contains("id=\"bentpipe-report\""), "{status}");
    assert!(!data.contains("<html"), "only the data");
    assert_eq!(studio.api("GET", "api/runs/99/data", "").await.0, StatusCode::NOT_FOUND);
    let (_, editable) = studio.report(&format!("runs/{id}/editable.html")).await;
    let status = editable.status();
    let editable = editable.into_body().collect().await.unwrap().to_bytes();
    let editable = String::from_utf8_lossy(&editable);
    if status.is_success() {
        assert!(editable.contains("bentpipe-scenario") && editable.contains("engine"));
    } else {
        // A build without the page.
        assert!(editable.contains("make build"), "{status} {editable}");
    }
    for path in [format!("runs/{id}/manifest.json"), format!("runs/{id}/../../small.toml")] {
        assert_eq!(studio.api("GET", &path, "").await.0, StatusCode::NOT_FOUND, "{path}");
    }
    studio.close().await;
}

#[tokio::test]
async fn runs_are_cancelled_and_replaced_by_later_ones() {
    let studio = TestStudio::new().await;
    let long = format!(
        "repeat = 100000\n{}",
        SCENARIO.replace("[path]", "[path]\nforward = { loss = 0.01 }")
    );
    let (_, first) = studio.api("POST", "api/runs?file=small.toml", &long).await;
    let (_, second) = studio.api("POST", "api/runs?file=small.toml", &long).await;
    let (first, second) = (first["id"].as_u64().unwrap(), second["id"].as_u64().unwrap());
    assert_eq!(studio.api("DELETE", &format!("api/runs/{second}"), "").await.0, 204);
    assert_eq!(studio.ended(second).await["phase"], "cancelled");
    let passing = "api/runs?file=small.toml&latest=1";
    let (_, third) = studio.api("POST", passing, &long).await;
    let (_, fourth) = studio.api("POST", passing, SCENARIO).await;
    let (third, fourth) = (third["id"].as_u64().unwrap(), fourth["id"].as_u64().unwrap());
    assert_eq!(studio.ended(first).await["phase"], "cancelled");
    assert_eq!(studio.ended(third).await["phase"], "cancelled");
    assert_eq!(studio.ended(fourth).await["phase"], "done");
    let (_, listed) = studio.api("GET", "api/runs", "").await;
    let listed = listed.as_array().unwrap().iter().map(|run| run["id"].as_u64().unwrap());
    assert_eq!(listed.collect::<Vec<_>>(), [fourth, second, first], "a slider passed the third");
    let larger = SCENARIO.replace("200 kB", "300 kB");
    let (_, fifth) = studio.api("POST", "api/runs?file=small.toml", &larger).await;
    studio.ended(fifth["id"].as_u64().unwrap()).await;
    let (_, listed) = studio.api("GET", "api/runs", "").await;
    let change = json!([{ "key": "workload.download", "from": "200 kB", "to": "300 kB" }]);
    assert_eq!(listed[0]["changes"], change);
    assert_eq!(studio.api("DELETE", "api/runs/99", "").await.0, StatusCode::NOT_FOUND);
    // A stop cancels what runs.
    studio.api("POST", "api/runs?file=small.toml", &long).await;
    studio.close().await;
}

/// Starts a run of the scenario, waits for it, and returns its number.
async fn ran(studio: &TestStudio, text: &str) -> u64 {
    let (_, started) = studio.api("POST", "api/runs?file=small.toml", text).await;
    let id = started["id"].as_u64().unwrap();
    let state = studio.ended(id).await;
    assert_eq!(state["phase"], "done", "{state}");
    id
}

#[tokio::test]
async fn studios_of_one_directory_do_not_replace_each_others_runs() {
    let first = TestStudio::new().await;
    let second = TestStudio::of(first.directory.clone()).await;
    let larger = SCENARIO.replace("200 kB", "2 MB");
    let (a, b) = (ran(&first, SCENARIO).await, ran(&second, &larger).await);
    assert_ne!(a, b);
    let mut sizes = Vec::new();
    for (studio, id) in [(&first, a), (&second, b)] {
        let (_, results) = studio.api("GET", &format!("runs/{id}/results.json"), "").await;
        sizes.push(results["runs"].to_string());
    }
    assert_ne!(sizes[0], sizes[1]);
    second.close().await;
    first.close().await;
}

#[tokio::test]
async fn the_last_runs_of_all_starts_are_kept() {
    let studio = TestStudio::new().await;
    let results = studio.directory.path().join("out/studio");
    for number in 1..=60 {
        let directory = results.join(format!("{number:04}-earlier"));
        std::fs::create_dir_all(&directory).unwrap();
        let manifest = r#"{ "version": "0.1.0", "clock": "virtual" }"#;
        std::fs::write(directory.join("manifest.json"), manifest).unwrap();
    }
    let id = ran(&studio, SCENARIO).await;
    assert_eq!(id, 61, "numbers go on");
    let kept = || {
        let entries = std::fs::read_dir(&results).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    };
    // The run has ended a moment before.
    while kept().len() > 50 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((kept().first().unwrap().as_str(), kept().len()), ("0012-earlier", 50));
    assert_eq!(kept().last().unwrap(), "0061-small");
    // A run that another studio has removed has no report any more.
    std::fs::remove_dir_all(results.join("0061-small")).unwrap();
    let (_, state) = studio.api("GET", &format!("api/runs/{id}"), "").await;
    assert_eq!(state["has_report"], false, "{state}");
    studio.close().await;
}

use super::*;
use proptest::prelude::*;

/// As Chromium writes a request of HTTP/3, and Firefox one over a new connection.
const ARCHIVE: &str = r#"{ "log": { "version": "1.2",
    "creator": { "name": "WebInspector", "version": "537.36" },
    "pages": [{ "startedDateTime": "2026-11-28T19:00:00.000Z", "id": "page_1" }],
    "entries": [
      { "_priority": "Low", "startedDateTime": "2026-11-28T20:00:00.250+01:00", "time": 700.5,
        "request": { "method": "GET", "url": "https://h/b", "httpVersion": "h3", "headers": [
          { "name": "a", "value": "b" }], "headersSize": -1, "bodySize": 0 },
        "response": { "status": 200, "httpVersion": "h3", "headersSize": -1, "bodySize": -1,
          "_transferSize": 1234, "content": { "size": 5000, "mimeType": "text/html",
          "text": "<html>" } },
        "cache": {}, "timings": { "blocked": 0.5, "dns": -1, "connect": -1, "ssl": -1, "send": 0,
          "wait": 600, "receive": 100, "_blocked_queueing": 0.4 },
        "connection": "443", "serverIPAddress": "192.0.2.1", "pageref": "page_1" },
      { "startedDateTime": "2026-11-28T19:00:00.000Z", "time": 1900,
        "request": { "method": "GET", "url": "https://h/a", "httpVersion": "HTTP/2" },
        "response": { "status": 404, "headersSize": 100, "bodySize": 12, "content": {} },
        "timings": { "blocked": 0, "dns": 1, "connect": "1200", "ssl": 600, "send": 0,
          "wait": 650, "receive": 49 } }
    ] } }"#;

#[test]
fn requests_have_their_phases_and_sizes_in_the_order_of_their_starts() {
    let log = HarLog::parse(ARCHIVE.as_bytes()).unwrap();
    assert_eq!((log.creator.as_str(), log.notes.len()), ("WebInspector 537.36", 0));
    let [first, second] = &log.requests[..] else { panic!("{log:?}") };
    let ms = Span::from_millis;
    assert_eq!((first.started, second.started), (Time::ZERO, Time::ZERO + ms(250)));
    let phases = HarPhases {
        blocked: Some(Span::ZERO),
        dns: Some(ms(1)),
        connect: Some(ms(1200)),
        ssl: Some(ms(600)),
        send: Some(Span::ZERO),
        wait: Some(ms(650)),
        receive: Some(ms(49)),
    };
    assert_eq!(first.phases, phases);
    assert_eq!((first.total, first.status), (ms(1900), Some(404)));
    assert_eq!((first.transfer_bytes, first.content_bytes), (Some(112), None));
    let expected = HarRequest {
        started: second.started,
        method: "GET".to_owned(),
        url: "https://h/b".to_owned(),
        version: "h3".to_owned(),
        status: Some(200),
        total: Span::from_micros(700_500),
        phases: HarPhases {
            blocked: Some(Span::from_micros(500)),
            send: Some(Span::ZERO),
            wait: Some(ms(600)),
            receive: Some(ms(100)),
            ..HarPhases::default()
        },
        transfer_bytes: Some(1234),
        content_bytes: Some(5000),
        connection: Some("443".to_owned()),
        server: Some("192.0.2.1".to_owned()),
    };
    assert_eq!(second, &expected);
}

#[test]
fn an_archive_that_is_cut_off_has_the_requests_before() {
    let end = ARCHIVE.find("\"time\": 1900").unwrap();
    let text = format!("\u{feff}{}", &ARCHIVE[..end]);
    assert!(HarLog::is_har(text.as_bytes()));
    let log = HarLog::parse(text.as_bytes()).unwrap();
    assert_eq!(log.requests[1].url, "https://h/b", "the other has its start alone");
    assert!(log.notes[0].contains("cut off"), "{:?}", log.notes);
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (text, reason) in [
        ("{\"log\":{\"entries\":[]}}", "no requests"),
        ("{\"log\":{\"entries\":[{\"time\":1}]}}", "no requests"),
        ("PK", "expected value"),
    ] {
        let error = HarLog::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("allowed: HAR"), "{error}");
    }
    for text in
        ["{\"qlog_version\":\"0.3\",\"traces\":[]}", "{\"traceEvents\":[{\"log\":{}}]}", "{"]
    {
        assert!(!HarLog::is_har(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_number_of_requests_and_the_length_of_texts_are_bounded() {
    let entry = format!(
        r#"{{"startedDateTime":"2026-11-28T19:00:00Z","request":{{"url":"{}"}}}}"#,
        "é".repeat(2000)
    );
    let entries = vec![entry; MAX_REQUESTS + 1].join(",");
    let log = HarLog::parse(format!("{{\"log\":{{\"entries\":[{entries}]}}}}").as_bytes()).unwrap();
    assert_eq!(log.requests.len(), MAX_REQUESTS);
    assert_eq!(log.requests[0].url.len(), 2048);
    assert!(log.notes[0].contains("the first"), "{:?}", log.notes);
}

proptest! {
    #[test]
    fn hostile_archives_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = ARCHIVE.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(log) = HarLog::parse(&bytes) {
            prop_assert!(log.requests.is_sorted_by_key(|request| request.started));
        }
    }
}

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
        hints: HarHints {
            entry: 1,
            page: Some("page_1".to_owned()),
            priority: Some("Low".to_owned()),
            content_type: Some("text/html".to_owned()),
            ..HarHints::default()
        },
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

/// An entry: its URL, its start in ms, how long it took, its bytes, and other fields.
fn entry(url: &str, start: u64, took: u64, bytes: u64, more: &str) -> String {
    format!(
        r#"{{ "startedDateTime": "2026-11-28T19:00:{:02}.{:03}Z", "time": {took}, {more}
            "request": {{ "url": "{url}" }},
            "response": {{ "status": 200, "_transferSize": {bytes} }},
            "timings": {{ "wait": {} }} }}"#,
        start / 1000,
        start % 1000,
        took / 2
    )
}

fn page_of(entries: &[String]) -> Result<HarPage, HarPageError> {
    let page = r#"{"id": "p", "startedDateTime": "2026-11-28T19:00:00Z",
        "pageTimings": {"onLoad": 2000}}"#;
    let text =
        format!("{{\"log\": {{ \"pages\": [{page}], \"entries\": [{}] }} }}", entries.join(","));
    HarPage::of(&HarLog::parse(text.as_bytes()).unwrap())
}

const ROOT: &str = r#""_resourceType": "document", "_priority": "VeryHigh","#;

#[test]
fn a_page_has_parents_delays_origins_and_what_rendering_waits_for() {
    let by = |url: &str, kind: &str, priority: &str| {
        format!(
            r#""_initiator": {{ "type": "parser", "url": "{url}" }}, "_resourceType": "{kind}",
               "_priority": "{priority}","#
        )
    };
    let script = r#""_initiator": { "type": "script", "stack": { "callFrames": [],
        "parent": { "callFrames": [{ "url": "https://cdn.b/app.js" }] } } },
        "_resourceType": "fetch", "serverIPAddress": "192.0.2.1", "#;
    let entries = [
        entry("https://a/", 0, 400, 10_000, &format!("{ROOT} \"serverIPAddress\": \"192.0.2.1\",")),
        entry("https://cdn.b/s.css", 420, 100, 2_000, &by("https://a/", "stylesheet", "VeryHigh")),
        entry("https://cdn.b/app.js", 430, 200, 9_000, &by("https://a/", "script", "High")),
        entry("https://cdn.b/late.js", 431, 90, 500, &by("https://a/", "script", "Low")),
        entry("https://a2/data", 700, 150, 700, script),
        entry("https://cdn.b/i.png", 300, 50, 800, r#""_priority": "Low", "#),
        entry("https://cdn.b/ping", 2_500, 50, 80, ""),
    ];
    let page = page_of(&entries).unwrap();
    assert_eq!(page.origins, ["a", "cdn.b"], "a2 has the address of a");
    let of = |name: &str| page.objects.iter().find(|one| one.name == name).unwrap();
    let index = |name: &str| page.objects.iter().position(|one| one.name == name).unwrap();
    let ms = Span::from_millis;
    let root = of("a/");
    assert_eq!((root.after, root.delay, root.blocks_render), (None, Span::ZERO, true));
    // Its wait of 200 ms is more than the shortest to that origin, 75 ms.
    assert_eq!((root.server_time, root.kind, root.urgency), (ms(125), HarKind::Document, Some(0)));
    let style = of("cdn.b/s.css");
    assert_eq!((style.after, style.delay, style.origin), (Some(0), ms(20), 1));
    let blocking = |name: &str| of(name).blocks_render;
    assert!(blocking("cdn.b/s.css") && blocking("cdn.b/app.js") && !blocking("cdn.b/late.js"));
    let data = of("a2/data");
    assert_eq!((data.after, data.delay), (Some(index("cdn.b/app.js")), ms(70)));
    assert_eq!((data.origin, data.kind, data.blocks_render), (0, HarKind::Data, false));
    // Requested while the root arrived, and named by nothing: it waits for the root.
    assert_eq!((of("cdn.b/i.png").after, of("cdn.b/i.png").delay), (Some(0), Span::ZERO));
    assert!(of("cdn.b/ping").after_load && !data.after_load);
}

#[test]
fn a_redirect_leads_to_the_root_and_names_are_unique() {
    let redirect = entry("http://a/", 0, 100, 200, ROOT).replace("200, \"_tr", "301, \"_tr");
    let entries = [
        redirect,
        entry("https://a/", 101, 100, 5_000, ROOT),
        entry("https://a/x", 300, 10, 1, ""),
        entry("https://a/x", 350, 10, 1, ""),
    ];
    let page = page_of(&entries).unwrap();
    let names: Vec<_> = page.objects.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a/", "a/ (2)", "a/x", "a/x (2)"]);
    assert!(page.objects[1].blocks_render);
    assert_eq!((page.objects[1].after, page.objects[1].delay), (Some(0), Span::from_millis(1)));
}

#[test]
fn what_is_no_page_is_refused_with_the_entry_and_what_is_allowed() {
    let root = || entry("https://a/", 0, 1, 1, "");
    let cases = [
        (vec![root(), root().replace("startedDateTime", "x")], "entry 2", "startedDateTime"),
        (vec![entry("about-this", 0, 1, 1, "")], "entry 1: `about-this`", "https://"),
        (
            vec![root(), entry("https://a/b", 5, 1, 2_000_000_000, "")],
            "entry 2 has 2000000000",
            "at most",
        ),
        (vec![entry("data:text/css,a", 0, 1, 1, "")], "no request", "at least one"),
    ];
    for (entries, place, allowed) in cases {
        let error = page_of(&entries).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(allowed), "{error}");
        assert!(error.contains("allowed:"), "{error}");
    }
    let origins: Vec<_> =
        (0..201).map(|host| entry(&format!("https://h{host}/"), host, 1, 1, "")).collect();
    assert_eq!(page_of(&origins), Err(HarPageError::TooManyOrigins(201)));
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
            if let Ok(page) = HarPage::of(&log) {
                for (index, object) in page.objects.iter().enumerate() {
                    prop_assert!(object.after.map_or(index == 0, |parent| parent < index));
                    prop_assert!(object.origin < page.origins.len());
                }
            }
        }
    }
}

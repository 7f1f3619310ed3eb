//! `bentpipe run --clock real`: HTTP over the kernel's TCP, and proxies on the path.
//!
//! Proxies need root, nft, ip and sysctl. Without what they need, the tests print the reason and
//! pass.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

use crate::clock;

use clock::{cannot_run, command, results, run, stderr};
use serde_json::Value;

const HOPS: &str = "name = \"real\"\nrepeat = 1\ntime_limit = \"60 s\"\n\
     [[path.hop]]\nname = \"lan\"\n\
     forward = { rate = \"1 Gbps\", delay = \"1 ms\" }\n\
     return = { rate = \"1 Gbps\", delay = \"1 ms\" }\n\
     [[path.hop]]\nname = \"satellite\"\n\
     forward = { rate = \"50 Mbps\", delay = \"60 ms\", loss = \"0.5 %\" }\n\
     return = { rate = \"20 Mbps\", delay = \"60 ms\" }\n\
     [[path.hop]]\nname = \"internet\"\n\
     forward = { rate = \"1 Gbps\", delay = \"2 ms\" }\n\
     return = { rate = \"1 Gbps\", delay = \"2 ms\" }\n\
     [path.pep]\nbuffer = \"2 BDP\"\ncongestion = \"newreno\"\n";
const HEAD: &str = "name = \"real\"\nrepeat = 1\ntime_limit = \"20 s\"\n[path]\n\
     forward = { rate = \"20 Mbps\", delay = \"50 ms\" }\n\
     return = { rate = \"5 Mbps\", delay = \"50 ms\" }\n[workload]\ndownload = \"300 kB\"\n";
const NEWRENO: &str = "congestion = \"newreno\"\nslow_start = \"standard\"\n";

/// Returns the first flow of each run.
fn flows(document: &Value) -> Vec<&Value> {
    document["runs"].as_array().expect("runs").iter().map(|run| &run["flows"][0]).collect()
}

fn second(flow: &Value, key: &str) -> f64 {
    flow[key].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn http_over_kernel_tcp_has_the_handshakes_and_the_bytes_of_a_simulation() {
    let text = format!(
        "{HOPS}[workload]\ndownload = \"1 MB\"\n[defaults]\n{NEWRENO}\
         [[variant]]\nname = \"h1\"\nhttp = \"h1\"\n\
         [[variant]]\nname = \"h2\"\nhttp = \"h2\"\n"
    );
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (emulated, simulated) = (results(&output), results(&run("virtual", &text)));
    for (real, model) in flows(&emulated).into_iter().zip(flows(&simulated)) {
        assert_eq!(
            (real["completed"].as_bool(), real["bytes"].as_u64()),
            (Some(true), Some(1_000_000))
        );
        assert_eq!(real["connections"].as_u64(), model["connections"].as_u64(), "{real}");
        assert!(real["connections"].as_u64() >= Some(1), "{real}");
        // TCP and TLS take an RTT of 126 ms each, and the request another.
        let handshake = second(real, "handshake_s");
        assert!((0.252..0.4).contains(&handshake), "{real}");
        assert!(second(real, "first_byte_s") >= handshake + 0.126, "{real}");
        // 691 segments of 1448 bytes and what repairs losses; in a simulation the same.
        let (sent, model) = (real["packets_sent"].as_u64(), model["packets_sent"].as_u64());
        assert!(sent.zip(model).is_some_and(|(sent, model)| sent.abs_diff(model) < 60), "{real}");
        assert!(real["rtt_min_ms"].as_f64() >= Some(126.0), "{real}");
        assert!(real["packets_lost_channel"].as_u64() > Some(0), "{real}");
    }
}

#[test]
fn a_page_over_http_1_takes_several_connections_and_waits_for_its_objects() {
    let page = "[workload]\nobjects = [\n{ name = \"page\", size = \"20 kB\" },\n\
         { name = \"a\", size = \"60 kB\", after = [\"page\"] },\n\
         { name = \"b\", size = \"60 kB\", after = [\"page\"] },\n\
         { name = \"c\", size = \"30 kB\", after = [\"a\"], delay = \"200 ms\" },\n]\n";
    let text = format!(
        "{HOPS}{page}[defaults]\n{NEWRENO}\
         [[variant]]\nname = \"h1\"\nhttp = \"h1\"\n\
         [[variant]]\nname = \"h2\"\nhttp = \"h2\"\n"
    );
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for flow in flows(&results(&output)) {
        let object = |name: &str, key: &str| {
            let objects = flow["objects"].as_array().expect("objects");
            let found = objects.iter().find(|object| object["name"] == name).expect("object");
            found[key].as_f64().unwrap_or(f64::NAN)
        };
        assert!(object("a", "start_s") >= object("page", "completion_s"), "{flow}");
        assert!(object("b", "start_s") < object("a", "completion_s"), "side by side: {flow}");
        assert!(object("c", "start_s") >= object("a", "completion_s") + 0.2, "{flow}");
        assert_eq!(flow["bytes"].as_u64(), Some(170_000), "{flow}");
    }
}

#[test]
fn an_upload_over_http_reaches_the_server_whole() {
    let text =
        format!("{HOPS}[workload]\nupload = \"300 kB\"\n[defaults]\nhttp = \"h2\"\n{NEWRENO}");
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = results(&output);
    let flow = flows(&document)[0];
    assert_eq!(
        (flow["completed"].as_bool(), flow["direction"].as_str(), flow["bytes"].as_u64()),
        (Some(true), Some("upload"), Some(300_000)),
        "{flow}"
    );
    assert!(flow["packets_declared_lost"].as_u64().is_some(), "the client's socket: {flow}");
}

#[test]
fn a_download_through_two_proxies_with_loss_is_split_and_complete() {
    let text = format!(
        "{HOPS}[workload]\ndownload = \"2 MB\"\n[defaults]\n{NEWRENO}tcp.pep = \"both\"\n\
         [[variant]]\nname = \"h1\"\nhttp = \"h1\"\n\
         [[variant]]\nname = \"h2\"\nhttp = \"h2\"\n\
         [[variant]]\nname = \"raw\"\ntransport = \"tcp\"\nhttp = \"raw\"\n\
         [[variant]]\nname = \"gateway\"\nhttp = \"h1\"\ntcp.pep = \"gateway\"\n"
    );
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = results(&output);
    for run in document["runs"].as_array().expect("runs") {
        let flow = &run["flows"][0];
        assert_eq!(
            (flow["completed"].as_bool(), flow["bytes"].as_u64()),
            (Some(true), Some(2_000_000)),
            "{flow}"
        );
        assert!(flow["packets_lost_channel"].as_u64() > Some(0), "{flow}");
        let proxies = run["emulation"]["proxies"].as_array().expect("proxies");
        let names: Vec<_> = proxies.iter().map(|proxy| proxy["name"].as_str()).collect();
        let gateway_only = run["variant"] == "gateway";
        assert_eq!(
            names,
            if gateway_only {
                vec![Some("gateway")]
            } else {
                vec![Some("terminal"), Some("gateway")]
            }
        );
        for proxy in proxies {
            assert_eq!(
                (proxy["connections"].as_u64(), proxy["incomplete"].as_u64()),
                (Some(1), Some(0)),
                "{proxy}"
            );
            assert!(proxy["bytes_to_client"].as_u64() >= Some(2_000_000), "{proxy}");
        }
        // The server's own RTT is that to the gateway, 4 ms instead of 126.
        let rtt = flow["rtt_min_ms"].as_f64().unwrap_or(0.0);
        assert!((4.0..60.0).contains(&rtt), "{flow}");
    }
}

#[test]
fn external_programs_go_through_proxies_and_quic_passes_them() {
    let fetch = "python3 -c \"import sys, urllib.request as u; \
        sys.stdout.buffer.write(u.urlopen('http://{server}:{port}/{file}').read())\"";
    let server = "cd {dir} && exec python3 -m http.server {port} --bind {server}";
    let text = format!(
        "{HOPS}[workload]\nexternal.size = \"300 kB\"\n[defaults]\ntcp.pep = \"both\"\n\
         congestion = \"newreno\"\ntcp.receive_buffer = \"6 MiB\"\n\
         [[variant]]\nname = \"http\"\n\
         external = {{ server = '''{server}''', client = '''{fetch}''' }}\n\
         [[variant]]\nname = \"quic\"\n\
         external.server = \"exec '{{bentpipe}}' serve {{dir}} --listen {{server}}:{{port}} \
             --cert {{cert}} --key {{key}} --no-store --log none\"\n\
         external.client = \"'{{bentpipe}}' get --insecure --no-tokens -o {{output}} {{url}}\"\n"
    );
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = results(&output);
    let runs = document["runs"].as_array().expect("runs");
    for (run, connections) in runs.iter().zip([1, 0]) {
        assert_eq!(run["flows"][0]["completed"].as_bool(), Some(true), "{run}");
        for proxy in run["emulation"]["proxies"].as_array().expect("proxies") {
            assert_eq!(proxy["connections"].as_u64(), Some(connections), "{proxy}");
        }
    }
}

#[test]
fn a_client_can_report_its_own_times() {
    let report = |bytes: u64| {
        format!(
            "[defaults]\nexternal.server = \"cd {{dir}} && exec python3 -m http.server {{port}} \
             --bind {{server}}\"\nexternal.client = '''echo '{{\"bytes\": {bytes}, \
             \"handshake_s\": null, \"first_byte_s\": 0.5, \"completion_s\": 1.25}}' > \
             {{times}}'''\n"
        )
    };
    let head = format!("{HOPS}[workload]\nexternal.size = \"300 kB\"\n");
    let output = run("real", &format!("{head}{}", report(300_000)));
    if cannot_run(&output) {
        return;
    }
    let document = results(&output);
    let flow = flows(&document)[0];
    assert_eq!(flow["completion_s"].as_f64(), Some(1.25), "{flow}");
    assert_eq!(flow["first_byte_s"].as_f64(), Some(0.5), "{flow}");
    let output = run("real", &format!("{head}{}", report(4)));
    let error = results(&output)["runs"][0]["flows"][0]["error"].to_string();
    assert!(error.contains("4 of 300000 bytes"), "{error}");
}

#[test]
fn proxies_that_cannot_be_real_are_refused() {
    let tcp = "[workload]\ndownload = \"1 MB\"\n[defaults]\nhttp = \"h1\"\ncongestion = \"cubic\"\n\
         slow_start = \"hystart\"\n";
    let pep = |keys: &str, mode: &str| {
        format!(
            "{}{keys}{tcp}tcp.pep = \"{mode}\"\n",
            HOPS.replace("congestion = \"newreno\"\n", "")
        )
    };
    for (text, words) in [
        (pep("", "both"), "`path.pep.congestion`: the kernel has no `fixed-rate`"),
        (pep("congestion = \"cubic\"\n", "both"), "`path.pep.slow_start`"),
        (pep("congestion = \"bbr1\"\ninitial_window = 32\n", "both"), "`path.pep.initial_window`"),
        (pep("congestion = \"bbr1\"\nack = \"1:1\"\n", "both"), "`path.pep.ack`"),
        (
            pep("congestion = \"bbr1\"\nack_filter = \"10 ms\"\n", "gateway"),
            "`path.pep.ack_filter`",
        ),
        (pep("congestion = \"bbr1\"\nack_filter = \"10 ms\"\n", "filter"), "`tcp.pep`"),
        (pep("congestion = \"bbr1\"\nfails_at = \"1 s\"\n", "both"), "`path.pep.fails_at`"),
        (
            pep("congestion = \"bbr1\"\n", "both").replace("[workload]\ndownload = \"1 MB\"\n", "")
                + "[[flow]]\nname = \"a\"\ndownload = \"1 MB\"\n\
                   [[flow]]\nname = \"b\"\ndownload = \"1 MB\"\ntcp.pep = \"none\"\n",
            "flow `b`: `tcp.pep`",
        ),
    ] {
        let output = run("real", &text);
        let errors = stderr(&output);
        assert!(
            output.status.code() == Some(2) && errors.contains(words) && errors.contains("allowed"),
            "{words}: {errors}"
        );
    }
    let other = "[workload]\nexternal = { size = \"1 MB\", server = \"true\", client = \"true\" }\n\
         [defaults]\ncongestion = \"copa\"\n";
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = command(dir.path(), "real", &format!("{HOPS}{other}")).output().expect("runs");
    let errors = stderr(&output);
    assert!(errors.contains("the kernel has no `copa`"), "{errors}");
}

/// Returns the times of the first two packets of a little-endian pcapng file, in ns.
fn first_two(file: &[u8]) -> u64 {
    const ENHANCED_PACKET: u32 = 6;
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("4 bytes"));
    let mut times = Vec::new();
    let mut at = 0;
    while times.len() < 2 {
        if word(at) == ENHANCED_PACKET {
            times.push(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
        }
        at += usize::try_from(word(at + 4)).expect("a length");
    }
    times[1] - times[0]
}

#[test]
fn a_capture_has_the_times_of_the_end_that_the_scenario_names() {
    for (end, least, most) in [("client", 100_000_000, 150_000_000), ("server", 0, 50_000_000)] {
        let output = format!("[output]\ncapture = \"access\"\ncapture_at = \"{end}\"\n");
        let text = format!("{HEAD}[defaults]\ntransport = \"tcp\"\nhttp = \"raw\"\n{output}");
        let dir = tempfile::tempdir().expect("creates a directory");
        let output = command(dir.path(), "real", &text).output().expect("command runs");
        if cannot_run(&output) {
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let files = std::fs::read_dir(dir.path().join("out/captures")).expect("captures");
        let file = files.flatten().next().expect("a capture").path();
        // SYN and SYN, ACK: an RTT of 100 ms apart where the client is.
        let gap = first_two(&std::fs::read(file).expect("a capture"));
        assert!((least..most).contains(&gap), "{end}: {gap} ns");
    }
}

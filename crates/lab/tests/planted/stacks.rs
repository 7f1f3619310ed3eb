//! Causes that lie in settings of stacks, proxies and applications, and losses that are few.

use super::{AFTER_LOSS, Draw, Kind, OPEN, OPEN_TCP, kind};

const FLOW_CONTROL: &[&str] = &["flow_control_s"];
/// A single loss in slow start costs what follows it, too.
const OF_START: &[&str] = &["congestion_window_s", "loss_detection_s", "slow_start_s"];

pub const KINDS: &[Kind] = &[
    kind("windows of a program", FLOW_CONTROL, "", true, windows_of_program),
    kind("one stream of several", FLOW_CONTROL, "", true, one_stream),
    kind("upload beside ACKs", &["return_link_s"], "", true, upload_beside),
    kind("upload in frames", &["capacity_s"], "", true, upload_in_frames),
    kind("small burst of a policer", AFTER_LOSS, "at the policer", true, small_burst),
    kind("queue of milliseconds", AFTER_LOSS, "at a full queue", true, short_queue),
    kind("buffer of a proxy", &["flow_control_s", "proxy_s"], "", true, proxy_buffer),
    kind("rate of a proxy", &["pacing_s"], "", true, proxy_rate),
    kind("video over QUIC", &["application_s"], "", false, quic_video),
    kind("source in pieces", &["application_s"], "", true, pieces),
    kind("thoughts between requests", &["application_s"], "", true, thoughts),
    kind("lost request", &["timeout_s"], "", true, lost_request),
    kind("one early loss", OF_START, "on the channel", true, early_loss),
    kind("other flow on a middle hop", &["other_flows_s"], "", true, middle_hop),
    kind("one connection of HTTP/1", &["request_s"], "", true, one_connection),
    kind("TCP with delayed ACKs", &["held_acks_s"], "", true, delayed_tcp),
    kind("page on demand over QUIC", &["return_link_s"], "", true, quic_page),
    kind("losses of a wireless hop", AFTER_LOSS, "on the channel", true, wireless_hop),
];

fn windows_of_program(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(250.0, 300.0);
    draw.mbps = draw.between(40.0, 80.0);
    // Its windows hold a fraction of 2.5 to 6 MB: 64 kB for each stream, or 512 kB.
    draw.quic = false;
    let preset = draw.choice("rfc", "nginx");
    let preset = if draw.planted { preset } else { "auto" };
    let keys = format!(
        "http = \"h2\"\nflow_control.preset = \"{preset}\"\nflow_control.send_buffer = \"200 MB\"\n\
         {OPEN_TCP}"
    );
    let (up, bytes) = ("upload", draw.bytes(0.5));
    let work = if preset == "nginx" { up } else { "download" };
    draw.plain(&format!("[workload]\n{work} = \"{bytes:.0} B\"\n{}", draw.stack(&keys)))
}

fn one_stream(draw: &mut Draw) -> String {
    draw.quic = true;
    draw.at_least_ms(60.0);
    let window = draw.between(0.1, 0.4) * draw.bdp();
    let window = draw.or(window, 2e8);
    let seconds = draw.between(3.0, 6.0);
    let bytes = draw.bytes(seconds).max(12.0 * draw.bdp());
    let keys = format!(
        "flow_control.stream_window = \"{window:.0} B\"\n\
         flow_control.connection_window = \"200 MB\"\nflow_control.send_buffer = \"200 MB\"\n"
    );
    draw.plain(&format!(
        "[workload]\nobjects = [{{ name = \"a\", size = \"{bytes:.0} B\" }}, \
         {{ name = \"b\", size = \"20 kB\" }}, {{ name = \"c\", size = \"9 kB\" }}]\n{}",
        draw.stack(&keys)
    ))
}

fn upload_beside(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(20.0, 60.0);
    let back = draw.between(0.4, 1.0);
    let duration = draw.or(60.0, 0.01);
    let reverse = format!(
        "{{ rate = \"{back:.3} Mbps\", delay = \"{:.2} ms\", queue = \"200 ms\" }}",
        draw.delay_ms
    );
    let seconds = draw.between(1.0, 2.0);
    let bytes = draw.bytes(seconds);
    let rest = format!(
        "[[flow]]\nname = \"main\"\nstart_time = \"4 s\"\ndownload = \"{bytes:.0} B\"\n\
         [[flow]]\nname = \"up\"\nbulk = {{ duration = \"{duration} s\", \
         direction = \"upload\" }}\n{}",
        draw.open("slow_start = \"standard\"\n")
    );
    draw.path(&draw.link(""), &reverse, &rest)
}

fn upload_in_frames(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 60.0);
    let frame = draw.between(300.0, 900.0);
    let frame = draw.or(frame, 0.0);
    let seconds = draw.between(0.2, 0.8);
    let bytes = draw.bytes(seconds);
    let work = format!("[workload]\nupload = \"{bytes:.0} B\"\n{}", draw.open(""));
    draw.path(&draw.link(""), &draw.link(&format!(", frame = \"{frame:.0} ms\"")), &work)
}

fn small_burst(draw: &mut Draw) -> String {
    draw.at_least_ms(40.0);
    let rate = draw.mbps * draw.between(0.2, 0.6);
    let rate = draw.or(rate, 1000.0);
    let burst = draw.between(6.0, 20.0);
    let more = format!(", policer = {{ rate = \"{rate:.3} Mbps\", burst = \"{burst:.0} kB\" }}");
    let keys = draw.open("slow_start = \"standard\"\nloss_filter = \"none\"\n");
    draw.forward(&draw.link(&more), &format!("{}{keys}", draw.download(3.0)))
}

fn short_queue(draw: &mut Draw) -> String {
    draw.at_least_ms(60.0);
    let queue = draw.between(3.0, 8.0);
    let queue = draw.or(queue, 5000.0);
    let keys = draw.open("congestion = \"newreno\"\nslow_start = \"standard\"\n");
    let link = draw.link_with(&format!("{queue:.1} ms"), "");
    draw.forward(&link, &format!("{}{keys}", draw.download(6.0)))
}

/// A path of three hops with proxies around the middle one, which have these keys.
fn behind_proxies(draw: &Draw, keys: &str, download: &str) -> String {
    let link = draw.link("");
    format!(
        "[[path.hop]]\nname = \"lan\"\nforward = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
         return = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
         [[path.hop]]\nname = \"sat\"\nforward = {link}\nreturn = {link}\n\
         [[path.hop]]\nname = \"far\"\nforward = {{ rate = \"1 Gbps\", delay = \"10 ms\" }}\n\
         return = {{ rate = \"1 Gbps\", delay = \"10 ms\" }}\n\
         [path.pep]\nhop = \"sat\"\n{keys}{download}{}",
        draw.stack("tcp.pep = \"both\"\n")
    )
}

fn proxy_buffer(draw: &mut Draw) -> String {
    draw.quic = false;
    draw.at_least_ms(100.0);
    let buffer = draw.between(0.1, 0.5) * draw.bdp();
    let buffer = draw.or(buffer, 1e8);
    let download = draw.download(4.0);
    behind_proxies(draw, &format!("buffer = \"{buffer:.0} B\"\n"), &download)
}

fn proxy_rate(draw: &mut Draw) -> String {
    draw.quic = false;
    let rate = draw.mbps * draw.between(0.2, 0.6);
    let rate = draw.or(rate, 0.97 * draw.mbps);
    let download = draw.download(4.0);
    behind_proxies(draw, &format!("parameters.fixed-rate.mbps = {rate:.3}\n"), &download)
}

fn quic_video(draw: &mut Draw) -> String {
    draw.quic = true;
    let share = draw.between(0.5, 1.0);
    let segment = draw.bytes(share);
    draw.plain(&format!(
        "[workload]\nvideo = {{ segment = \"{segment:.0} B\", interval = \"4 s\", \
         segments = 6 }}\n{}",
        draw.open("")
    ))
}

fn pieces(draw: &mut Draw) -> String {
    draw.quic = true;
    draw.delay_ms = draw.delay_ms.min(100.0);
    let interval = draw.between(50.0, 400.0);
    let share = draw.between(0.1, 0.3);
    let piece = draw.bytes(share * interval / 1e3);
    let bytes = piece * (6e3 / interval).floor();
    let source = if draw.planted {
        format!(", pieces = {{ size = \"{piece:.0} B\", interval = \"{interval:.0} ms\" }}")
    } else {
        String::new()
    };
    draw.plain(&format!(
        "[workload]\nobjects = [{{ name = \"a\", size = \"{bytes:.0} B\"{source} }}]\n{}",
        draw.open("http = \"raw\"\n")
    ))
}

fn thoughts(draw: &mut Draw) -> String {
    draw.delay_ms = draw.delay_ms.min(120.0);
    let count = draw.between(4.0, 8.0) as u64;
    let objects: Vec<String> = (0..count)
        .map(|number| {
            let (bytes, delay) = (draw.between(5e3, 1e5), draw.between(0.8, 2.0));
            let delay = draw.or(delay, 0.0);
            let after = match number {
                0 => String::new(),
                number => format!(", after = [\"o{}\"], delay = \"{delay:.2} s\"", number - 1),
            };
            format!("{{ name = \"o{number}\", size = \"{bytes:.0} B\"{after} }}")
        })
        .collect();
    let objects = objects.join(", ");
    draw.plain(&format!("[workload]\nobjects = [{objects}]\n{}", draw.open("")))
}

/// The client's second flight is lost, which has its request.
fn lost_request(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 120.0);
    let http = if draw.quic { "http = \"raw\"\n" } else { "http = \"h2\"\n" };
    let rtt = 2.0 * draw.delay_ms;
    // QUIC asks after one round trip, TCP with TLS after two.
    let asked = if draw.quic { rtt } else { 2.0 * rtt };
    let (from, to) = (asked - 0.3 * rtt, draw.or(asked + 0.5 * rtt, asked - 0.29 * rtt));
    let reverse = draw.link(&format!(
        ", loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"{from:.1} ms\", to = \"{to:.1} ms\" }}] }}"
    ));
    let bytes = draw.between(2000.0, 10_000.0);
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.stack(http));
    draw.path(&draw.link(""), &reverse, &work)
}

fn early_loss(draw: &mut Draw) -> String {
    draw.at_least_ms(80.0);
    let place = draw.between(30.0, 90.0);
    let place = draw.or(place, 900_000.0);
    let loss = format!(", loss = {{ model = \"periodic\", every = 1000000, offset = {place:.0} }}");
    let seconds = draw.between(0.5, 2.0);
    let bytes = draw.bytes(seconds).max(3.0 * draw.bdp());
    let keys =
        draw.open("congestion = \"newreno\"\nslow_start = \"standard\"\nloss_filter = \"none\"\n");
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{keys}");
    draw.forward(&draw.link(&loss), &work)
}

fn middle_hop(draw: &mut Draw) -> String {
    let rate = draw.mbps * draw.between(0.5, 0.8);
    let rate = draw.or(rate, 0.05);
    let seconds = draw.between(4.0, 8.0);
    let (link, bytes) = (draw.link(""), draw.bytes(seconds));
    let hop = |name: &str, link: &str| {
        format!("[[path.hop]]\nname = \"{name}\"\nforward = {link}\nreturn = {link}\n")
    };
    let side = "{ rate = \"1 Gbps\", delay = \"3 ms\" }";
    format!(
        "{}{}{}[[flow]]\nname = \"main\"\nstart_time = \"1 s\"\ndownload = \"{bytes:.0} B\"\n\
         [[flow]]\nname = \"other\"\nfrom_hop = \"sat\"\nto_hop = \"sat\"\n\
         cbr = {{ rate = \"{rate:.3} Mbps\", duration = \"60 s\" }}\n{}",
        hop("lan", side),
        hop("sat", &link),
        hop("far", side),
        draw.open("")
    )
}

fn one_connection(draw: &mut Draw) -> String {
    draw.quic = false;
    draw.at_least_ms(100.0);
    let count = draw.between(12.0, 24.0) as u64;
    let objects: Vec<String> = (0..count)
        .map(|number| {
            let bytes = draw.between(1000.0, 8000.0);
            format!("{{ name = \"o{number}\", size = \"{bytes:.0} B\" }}")
        })
        .collect();
    let connections = draw.or(1.0, 24.0);
    let keys = format!("http = \"h1\"\ntcp.connections = {connections}\n");
    draw.plain(&format!("[workload]\nobjects = [{}]\n{}", objects.join(", "), draw.stack(&keys)))
}

fn delayed_tcp(draw: &mut Draw) -> String {
    draw.quic = false;
    draw.delay_ms = draw.between(10.0, 35.0);
    let (share, delay) = (draw.between(0.5, 0.9), draw.between(100.0, 400.0));
    let seconds = draw.between(1.5, 4.0);
    let bytes = draw.bytes(seconds);
    let acks = if draw.planted { "1:1000" } else { "1:1" };
    let keys = draw.open(&format!(
        "max_window = \"{share:.2} BDP\"\nslow_start = \"standard\"\nack = \"{acks}\"\n\
         max_ack_delay = \"{delay:.0} ms\"\n"
    ));
    draw.plain(&format!("[workload]\ndownload = \"{bytes:.0} B\"\n{keys}"))
}

fn quic_page(draw: &mut Draw) -> String {
    draw.quic = true;
    draw.delay_ms = draw.between(220.0, 300.0);
    let (count, interval) = (draw.between(5.0, 12.0) as u64, draw.between(0.6, 1.2));
    let allocation =
        draw.allocated(&format!("{{ rbdc = \"2 Mbps\", request_interval = \"{interval:.2} s\" }}"));
    let reverse =
        format!("{{ rate = \"2 Mbps\", delay = \"{:.2} ms\"{allocation} }}", draw.delay_ms);
    let work = format!("{}{}", super::waits::page(draw, count), draw.stack(""));
    draw.path(&draw.link(""), &reverse, &work)
}

fn wireless_hop(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(100.0, 250.0);
    let ratio = draw.between(0.003, 0.01);
    let ratio = draw.or(ratio, 0.0);
    let seconds = draw.between(2.0, 4.0);
    let (link, bytes) = (draw.link(""), draw.bytes(seconds));
    let wireless = "rate = \"200 Mbps\", delay = \"2 ms\"";
    format!(
        "[[path.hop]]\nname = \"wifi\"\nforward = {{ {wireless}, loss = {ratio:.5} }}\n\
         return = {{ {wireless} }}\n\
         [[path.hop]]\nname = \"sat\"\nforward = {link}\nreturn = {link}\n\
         [workload]\ndownload = \"{bytes:.0} B\"\n[defaults]\ntransport = \"{}\"\n\
         congestion = \"cubic\"\nslow_start = \"standard\"\nloss_filter = \"none\"\n{OPEN}{}",
        if draw.quic { "quic" } else { "tcp" },
        if draw.quic { "" } else { OPEN_TCP }
    )
}

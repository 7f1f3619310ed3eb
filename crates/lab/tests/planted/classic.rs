//! Causes of all kinds: windows, losses, outages, other flows, proxies, capacity on demand.

use super::{AFTER_LOSS, Draw, Kind, OPEN, OPEN_TCP, kind};

pub const KINDS: &[Kind] = &[
    kind("slow start", &["slow_start_s"], "", true, slow_start),
    kind("receive window", &["flow_control_s"], "", true, receive_window),
    kind("send buffer", &["flow_control_s"], "", true, send_buffer),
    kind("return rate", &["return_link_s"], "", true, return_rate),
    kind("random loss", AFTER_LOSS, "on the channel", true, random_loss),
    kind("small queue", AFTER_LOSS, "at a full queue", true, small_queue),
    kind("policer", AFTER_LOSS, "at the policer", true, policer),
    kind("outage", &["outage_s"], "", true, outage),
    kind("return outage", &["outage_s"], "", true, return_outage),
    kind("early outage", &["outage_s"], "", true, early_outage),
    kind("blockage", &["outage_s", "timeout_s"], "", true, blockage),
    kind("opportunities", &["outage_s"], "", true, opportunities),
    kind("handover", &["outage_s"], "", false, handover),
    kind("pauses", &["application_s"], "", true, pauses),
    kind("video", &["application_s"], "", false, video),
    kind("competitor", &["other_flows_s"], "", true, competitor),
    kind("cross traffic", &["other_flows_s"], "", true, cross_traffic),
    kind("proxy", &["proxy_s"], "", true, proxy),
    kind("on-demand upload", &["capacity_s"], "", true, on_demand_upload),
    kind("constant share", &["capacity_s"], "", true, constant_share),
    kind("on-demand ACKs", &["return_link_s"], "", true, on_demand_acks),
    kind("pacing", &["pacing_s"], "", true, pacing),
    kind("window", &["congestion_window_s"], "", true, window),
    kind("handshake", &["handshake_s"], "", false, handshake),
    kind("initial window", &["slow_start_s"], "", true, initial_window),
    kind("HTTP/2 window", &["flow_control_s"], "", true, http2_window),
    kind("CoDel", AFTER_LOSS, "", false, codel),
    kind("bursts of others", &["other_flows_s"], "", true, bursts),
    kind("chain of requests", &["request_s"], "", false, request_chain),
    kind("lost answer", &["timeout_s"], "", true, lost_answer),
    kind("slow network behind a proxy", &["proxy_s", "flow_control_s"], "", true, slow_lan),
    kind("lost SYN", &["timeout_s"], "", true, lost_syn),
    kind("lost tail", AFTER_LOSS, "on the channel", true, lost_tail),
    kind(
        "reordering",
        &["congestion_window_s", "duplicates_s", "slow_start_s"],
        "",
        false,
        reordering,
    ),
];

fn slow_start(draw: &mut Draw) -> String {
    draw.at_least_ms(80.0);
    let bytes = draw.between(0.5, 3.0) * draw.bdp();
    let first = if draw.planted { "" } else { "initial_window = 10000\n" };
    draw.plain(&format!(
        "[workload]\ndownload = \"{bytes:.0} B\"\n{}",
        draw.open(&format!("slow_start = \"standard\"\n{first}"))
    ))
}

fn receive_window(draw: &mut Draw) -> String {
    let window = draw.between(0.1, 0.6) * draw.bdp();
    let window = draw.or(window, 1e8);
    let keys = if draw.quic {
        format!(
            "flow_control.stream_window = \"{window:.0} B\"\n\
             flow_control.connection_window = \"{window:.0} B\"\n"
        )
    } else {
        let buffer = 2.0 * window;
        format!("{OPEN}tcp.receive_autotune = false\ntcp.receive_buffer = \"{buffer:.0} B\"\n")
    };
    let seconds = draw.between(4.0, 9.0);
    draw.plain(&format!("{}{}", draw.download(seconds), draw.stack(&keys)))
}

fn send_buffer(draw: &mut Draw) -> String {
    let buffer = draw.between(0.1, 0.6) * draw.bdp();
    let buffer = draw.or(buffer, 2e8);
    let seconds = draw.between(4.0, 9.0);
    let keys = draw
        .open("")
        .replace("send_buffer = \"200 MB\"", &format!("send_buffer = \"{buffer:.0} B\""));
    draw.plain(&format!("{}{keys}", draw.download(seconds)))
}

fn return_rate(draw: &mut Draw) -> String {
    draw.mbps = draw.between(20.0, 60.0);
    let kbps = draw.mbps * draw.between(3.0, 8.0);
    let kbps = draw.or(kbps, 1e3 * draw.mbps);
    let reverse = format!(
        "{{ rate = \"{kbps:.0} kbps\", delay = \"{:.2} ms\", queue = \"1 MB\" }}",
        draw.delay_ms
    );
    let seconds = draw.between(4.0, 9.0);
    let rest = format!("{}{}", draw.download(seconds), draw.open("ack = \"1:2\"\n"));
    draw.path(&draw.link(""), &reverse, &rest)
}

fn random_loss(draw: &mut Draw) -> String {
    draw.at_least_ms(60.0);
    let loss = draw.between(0.002, 0.02);
    let loss = draw.or(loss, 0.0);
    let controller = if draw.random.unit() < 0.5 { "cubic" } else { "newreno" };
    let keys = format!("congestion = \"{controller}\"\nslow_start = \"standard\"\n");
    let rest = format!("{}{}", draw.download(3.0), draw.open(&keys));
    draw.forward(&draw.link(&format!(", loss = {loss:.5}")), &rest)
}

fn small_queue(draw: &mut Draw) -> String {
    draw.at_least_ms(60.0);
    let packets = draw.between(4.0, 12.0);
    let packets = draw.or(packets, 1e5);
    let keys = draw.open("congestion = \"newreno\"\nslow_start = \"standard\"\n");
    let queue = format!("{packets:.0} packets");
    draw.forward(&draw.link_with(&queue, ""), &format!("{}{keys}", draw.download(6.0)))
}

fn policer(draw: &mut Draw) -> String {
    draw.at_least_ms(60.0);
    let rate = draw.mbps * draw.between(0.2, 0.6);
    let rate = draw.or(rate, 1000.0);
    let burst = draw.between(30.0, 200.0);
    let more = format!(", policer = {{ rate = \"{rate:.3} Mbps\", burst = \"{burst:.0} kB\" }}");
    draw.forward(&draw.link(&more), &format!("{}{}", draw.download(6.0), draw.open("")))
}

fn outage(draw: &mut Draw) -> String {
    let from = draw.between(2.0, 6.0);
    let span = draw.between(4.0, 15.0);
    let to = from + draw.or(span, 1e-3);
    let forward = draw.schedule(&[(0.0, 1.0), (from, 0.0), (to, 1.0)], "");
    draw.forward(&forward, &format!("{}{}", draw.download(8.0), draw.open("")))
}

fn return_outage(draw: &mut Draw) -> String {
    let from = draw.between(1.0, 4.0);
    let span = draw.between(6.0, 15.0);
    let to = from + draw.or(span, 1e-3);
    let reverse = draw.schedule(&[(0.0, 1.0), (from, 0.0), (to, 1.0)], "");
    let rest = format!("{}{}", draw.download(6.0), draw.open(""));
    draw.path(&draw.link(""), &reverse, &rest)
}

fn early_outage(draw: &mut Draw) -> String {
    let to = draw.between(3.0, 8.0);
    let to = draw.or(to, 1e-3);
    let outage = draw.schedule(&[(0.0, 0.0), (to, 1.0)], "");
    let bytes = draw.between(10_000.0, 500_000.0);
    let rest = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.open(""));
    if draw.random.unit() < 0.5 {
        draw.forward(&outage, &rest)
    } else {
        draw.path(&draw.link(""), &outage, &rest)
    }
}

fn blockage(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 100.0);
    let from = draw.between(2.0, 5.0);
    let span = draw.between(4.0, 10.0);
    let to = from + draw.or(span, 1e-3);
    let link = draw.link(&format!(
        ", loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"{from:.3} s\", to = \"{to:.3} s\" }}] }}"
    ));
    draw.path(&link, &link, &format!("{}{}", draw.download(8.0), draw.open("")))
}

fn opportunities(draw: &mut Draw) -> String {
    let repeat = draw.between(0.5, 1.0);
    let repeat = draw.or(repeat, 0.2001);
    let forward =
        draw.schedule(&[(0.0, 1.0), (0.2, 0.0)], &format!(", repeat = \"{repeat:.4} s\""));
    draw.forward(&forward, &format!("{}{}", draw.download(3.0), draw.open("")))
}

fn handover(draw: &mut Draw) -> String {
    let at = draw.between(0.0, 50.0);
    let outage = draw.between(3.0, 6.0);
    format!(
        "[path.orbit]\nconstellation = \"starlink-550\"\nat = \"{at:.0} min\"\nisl = \"none\"\n\
         satellite_selection = \"slots\"\nhandover_outage = \"{outage:.2} s\"\n\
         handover_loss = \"queued\"\nlinks.all = {{ rate = \"{:.2} Mbps\", queue = \"100 ms\" }}\n\
         links.fibre = {{ rate = \"10 Gbps\" }}\n\
         [[path.orbit.station]]\nname = \"terminal\"\nlatitude_deg = 50.67\nlongitude_deg = 4.61\n\
         [[path.orbit.station]]\nname = \"gateway\"\nlatitude_deg = 50.33\nlongitude_deg = 8.53\n\
         satellite_selection = \"all\"\nforwards = true\n\
         [[path.orbit.fibre]]\nfrom = \"gateway\"\nto = \"London\"\n\
         [workload]\nfrom = \"terminal\"\nto = \"London\"\nbulk.duration = \"118 s\"\n{}",
        draw.mbps / 4.0,
        draw.open("")
    )
}

fn pauses(draw: &mut Draw) -> String {
    let share = draw.between(0.2, 1.0);
    let (object, pause) = (draw.bytes(share), draw.between(3.0, 8.0));
    let pause = draw.or(pause, 0.0);
    draw.plain(&format!(
        "[workload]\nobjects = [{{ name = \"a\", size = \"{object:.0} B\" }}, \
         {{ name = \"b\", size = \"{object:.0} B\", after = [\"a\"], \
         delay = \"{pause:.2} s\" }}]\n{}",
        draw.open("")
    ))
}

fn video(draw: &mut Draw) -> String {
    draw.quic = false;
    let share = draw.between(0.5, 1.0);
    let segment = draw.bytes(share);
    draw.plain(&format!(
        "[workload]\nvideo = {{ segment = \"{segment:.0} B\", interval = \"4 s\", \
         segments = 6 }}\n{}",
        draw.open("")
    ))
}

/// A download beside another flow with this workload.
fn beside(draw: &mut Draw, start_s: u32, other: &str) -> String {
    let seconds = draw.between(5.0, 9.0);
    let bytes = draw.bytes(seconds);
    draw.plain(&format!(
        "[[flow]]\nname = \"main\"\nstart_time = \"{start_s} s\"\ndownload = \"{bytes:.0} B\"\n\
         [[flow]]\nname = \"other\"\n{other}\n{}",
        draw.open("")
    ))
}

fn competitor(draw: &mut Draw) -> String {
    let duration = draw.or(40.0, 0.01);
    beside(draw, 4, &format!("bulk = {{ duration = \"{duration} s\" }}"))
}

fn cross_traffic(draw: &mut Draw) -> String {
    let rate = draw.mbps * draw.between(0.5, 0.8);
    let rate = draw.or(rate, 0.1);
    beside(draw, 1, &format!("cbr = {{ rate = \"{rate:.3} Mbps\", duration = \"60 s\" }}"))
}

fn proxy(draw: &mut Draw) -> String {
    draw.quic = false;
    let slow = draw.mbps * draw.between(0.1, 0.5);
    let slow = draw.or(slow, 1000.0);
    let (link, download) = (draw.link(""), draw.download(4.0));
    format!(
        "[[path.hop]]\nname = \"lan\"\nforward = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
         return = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
         [[path.hop]]\nname = \"sat\"\nforward = {link}\nreturn = {link}\n\
         [[path.hop]]\nname = \"far\"\n\
         forward = {{ rate = \"{slow:.3} Mbps\", delay = \"2 ms\" }}\n\
         return = {{ rate = \"{slow:.3} Mbps\", delay = \"2 ms\" }}\n\
         [path.pep]\nhop = \"sat\"\n{download}{}",
        draw.stack("tcp.pep = \"both\"\n")
    )
}

/// An upload of some megabytes over this return link.
fn upload(draw: &mut Draw, rate: &str, megabytes: f64, allocation: &str) -> String {
    let allocation = draw.allocated(allocation);
    let reverse =
        format!("{{ rate = \"{rate}\", delay = \"{:.2} ms\"{allocation} }}", draw.delay_ms);
    let work = format!("[workload]\nupload = \"{megabytes:.3} MB\"\n{}", draw.stack(""));
    draw.path(&draw.link(""), &reverse, &work)
}

fn on_demand_upload(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(200.0, 300.0);
    let megabytes = draw.between(0.3, 2.0);
    upload(draw, "4 Mbps", megabytes, "\"dama\"")
}

fn constant_share(draw: &mut Draw) -> String {
    let (megabytes, share) = (draw.between(2.0, 6.0), draw.between(1.0, 4.0));
    upload(draw, "10 Mbps", megabytes, &format!("{{ cra = \"{share:.2} Mbps\" }}"))
}

fn on_demand_acks(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(200.0, 300.0);
    let allocation = draw.allocated("\"dama\"");
    let reverse =
        format!("{{ rate = \"2 Mbps\", delay = \"{:.2} ms\"{allocation} }}", draw.delay_ms);
    let work = format!("[workload]\ndownload = \"20 kB\"\n{}", draw.stack(""));
    draw.path(&draw.link(""), &reverse, &work)
}

fn pacing(draw: &mut Draw) -> String {
    let rate = draw.mbps * draw.between(0.2, 0.6);
    let rate = draw.or(rate, 0.97 * draw.mbps);
    let keys = format!(
        "slow_start = \"standard\"\ncongestion = \"fixed-rate\"\n\
         parameters.fixed-rate.mbps = {rate:.3}\n"
    );
    draw.plain(&format!("{}{}", draw.download(5.0), draw.open(&keys)))
}

fn window(draw: &mut Draw) -> String {
    let share = draw.between(0.15, 0.6);
    let most = draw.or(share, 1.5) * draw.bdp();
    let keys = format!("max_window = \"{most:.0} B\"\nslow_start = \"standard\"\n");
    draw.plain(&format!("{}{}", draw.download(5.0), draw.open(&keys)))
}

fn handshake(draw: &mut Draw) -> String {
    draw.at_least_ms(50.0);
    draw.quic = false;
    let bytes = draw.between(500.0, 4000.0);
    draw.plain(&format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.stack("")))
}

fn initial_window(draw: &mut Draw) -> String {
    draw.at_least_ms(80.0);
    let segments = draw.between(1.0, 3.0);
    let segments = draw.or(segments, 1000.0) as u64;
    let bytes = draw.between(20_000.0, 200_000.0);
    let keys = format!("initial_window = {segments}\nslow_start = \"standard\"\n");
    draw.plain(&format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.open(&keys)))
}

fn http2_window(draw: &mut Draw) -> String {
    draw.quic = false;
    let share = draw.between(0.1, 0.5);
    let window = draw.or(share * draw.bdp(), 2e8);
    let keys = format!(
        "http = \"h2\"\nflow_control.stream_window = \"{window:.0} B\"\n\
         flow_control.connection_window = \"200 MB\"\nflow_control.send_buffer = \"200 MB\"\n\
         {OPEN_TCP}"
    );
    draw.plain(&format!("{}{}", draw.download(5.0), draw.stack(&keys)))
}

fn codel(draw: &mut Draw) -> String {
    draw.at_least_ms(100.0);
    let keys = draw.open("congestion = \"newreno\"\nslow_start = \"standard\"\n");
    let queue = "queue = { limit = \"4 BDP\", aqm = \"codel\" }";
    let link = draw.link("").replace("queue = \"4 BDP\"", queue);
    draw.forward(&link, &format!("{}{keys}", draw.download(8.0)))
}

fn bursts(draw: &mut Draw) -> String {
    let rate = draw.mbps * draw.between(1.0, 1.5);
    let rate = draw.or(rate, 0.1);
    let on = draw.between(100.0, 400.0);
    let other = format!(
        "cbr = {{ rate = \"{rate:.3} Mbps\", duration = \"60 s\", on = \"{on:.0} ms\", \
         off = \"{on:.0} ms\" }}"
    );
    beside(draw, 1, &other)
}

fn request_chain(draw: &mut Draw) -> String {
    draw.at_least_ms(50.0);
    let count = draw.between(8.0, 20.0) as u64;
    let bytes = draw.between(500.0, 4000.0);
    let objects: Vec<String> = (0..count)
        .map(|number| {
            let after = match number {
                0 => String::new(),
                number => format!(", after = [\"o{}\"]", number - 1),
            };
            format!("{{ name = \"o{number}\", size = \"{bytes:.0} B\"{after} }}")
        })
        .collect();
    let objects = objects.join(", ");
    draw.plain(&format!("[workload]\nobjects = [{objects}]\n{}", draw.open("")))
}

fn lost_answer(draw: &mut Draw) -> String {
    draw.delay_ms = draw.delay_ms.min(150.0);
    let until = draw.or(1.5 * draw.delay_ms, 0.1);
    let link = draw.link(&format!(
        ", loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"0 s\", to = \"{until:.1} ms\" }}] }}"
    ));
    let bytes = draw.between(2000.0, 10_000.0);
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.stack(""));
    draw.forward(&link, &work)
}

fn slow_lan(draw: &mut Draw) -> String {
    draw.quic = false;
    let slow = draw.mbps * draw.between(0.1, 0.4);
    let slow = draw.or(slow, 1000.0);
    let (link, download) = (draw.link(""), draw.download(6.0));
    format!(
        "[[path.hop]]\nname = \"lan\"\n\
         forward = {{ rate = \"{slow:.3} Mbps\", delay = \"1 ms\" }}\n\
         return = {{ rate = \"{slow:.3} Mbps\", delay = \"1 ms\" }}\n\
         [[path.hop]]\nname = \"sat\"\nforward = {link}\nreturn = {link}\n\
         [[path.hop]]\nname = \"far\"\n\
         forward = {{ rate = \"1 Gbps\", delay = \"2 ms\" }}\n\
         return = {{ rate = \"1 Gbps\", delay = \"2 ms\" }}\n\
         [path.pep]\nhop = \"sat\"\n{download}{}",
        draw.stack("tcp.pep = \"both\"\n")
    )
}

fn lost_syn(draw: &mut Draw) -> String {
    draw.delay_ms = draw.delay_ms.min(150.0);
    let until = draw.between(5.0, 10.0);
    let ratio = draw.or(1.0, 0.0);
    let reverse = draw.link(&format!(
        ", loss = {{ model = \"bernoulli\", ratio = {ratio}, \
         active = [{{ from = \"0 s\", to = \"{until:.1} ms\" }}] }}"
    ));
    let bytes = draw.between(2000.0, 10_000.0);
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.stack(""));
    draw.path(&draw.link(""), &reverse, &work)
}

fn lost_tail(draw: &mut Draw) -> String {
    draw.quic = false;
    let last = draw.between(8.0, 10.0) as u64;
    let place = if draw.planted { last } else { 90_000 };
    let loss = format!(", loss = {{ model = \"periodic\", every = 100000, offset = {place} }}");
    let bytes = last * 1448 - 200;
    let work = format!("[workload]\ndownload = \"{bytes} B\"\n{}", draw.stack("http = \"raw\"\n"));
    draw.forward(&draw.link(&loss), &work)
}

fn reordering(draw: &mut Draw) -> String {
    draw.at_least_ms(60.0);
    draw.quic = true;
    let jitter = draw.between(2.0, 10.0);
    let forward = format!(
        "{{ rate = \"{:.3} Mbps\", delay = {{ base = \"{:.2} ms\", jitter = \"{jitter:.2} ms\", \
         keep_order = false }}, queue = \"4 BDP\" }}",
        draw.mbps, draw.delay_ms
    );
    let keys = draw.open("congestion = \"newreno\"\nslow_start = \"standard\"\n");
    draw.forward(&forward, &format!("{}{keys}", draw.download(4.0)))
}

//! Causes that lie on the way of packets: frames, acknowledgements that are held back, fades,
//! blockage, capacity on demand for each request, a thin return link, many other users.

use super::{AFTER_LOSS, Draw, Kind, kind};

const HELD: &[&str] = &["held_acks_s"];
const CAPACITY: &[&str] = &["capacity_s"];
const RETURN: &[&str] = &["return_link_s"];
const OF_FADE: &[&str] =
    &["congestion_window_s", "loss_detection_s", "timeout_s", "lost_packets_s", "outage_s"];

pub const KINDS: &[Kind] = &[
    kind("frames of a page", CAPACITY, "", true, frames_of_page),
    kind("frames of a download", CAPACITY, "", true, frames_of_download),
    kind("frames of ACKs", CAPACITY, "", true, frames_of_acks),
    kind("delayed ACKs", HELD, "", true, delayed_acks),
    kind("ACK filter", HELD, "", true, ack_filter),
    // Without the fade, the rate is higher, too.
    kind("fade with loss", OF_FADE, "", false, fade),
    kind("early timeout", AFTER_LOSS, "on the channel", true, early_timeout),
    kind("page on demand", RETURN, "", true, page_on_demand),
    kind("blockage model", &["outage_s", "timeout_s"], "on the channel", false, blockage_model),
    kind("thin return link", RETURN, "", true, thin_return),
    kind("population", &["other_flows_s"], "", true, population),
];

/// A chain of small objects, each requested when the one before is complete.
pub(super) fn page(draw: &mut Draw, count: u64) -> String {
    let objects: Vec<String> = (0..count)
        .map(|number| {
            let bytes = draw.between(1000.0, 5500.0);
            let after = match number {
                0 => String::new(),
                number => format!(", after = [\"o{}\"]", number - 1),
            };
            format!("{{ name = \"o{number}\", size = \"{bytes:.0} B\"{after} }}")
        })
        .collect();
    format!("[workload]\nobjects = [{}]\n", objects.join(", "))
}

/// A link with frames of this length, or without.
fn framed(draw: &Draw, milliseconds: f64) -> String {
    draw.link(&format!(", frame = \"{:.0} ms\"", draw.or(milliseconds, 0.0)))
}

fn frames_of_page(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 80.0);
    let frame = draw.between(300.0, 900.0);
    let count = draw.between(5.0, 12.0) as u64;
    let work = format!("{}{}", page(draw, count), draw.stack(""));
    draw.forward(&framed(draw, frame), &work)
}

fn frames_of_download(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 60.0);
    let frame = draw.between(300.0, 900.0);
    let seconds = draw.between(0.2, 0.8);
    let bytes = draw.bytes(seconds);
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.open(""));
    draw.forward(&framed(draw, frame), &work)
}

fn frames_of_acks(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(15.0, 60.0);
    let frame = draw.between(300.0, 900.0);
    let bytes = draw.between(100_000.0, 600_000.0);
    let work = format!("[workload]\ndownload = \"{bytes:.0} B\"\n{}", draw.open(""));
    draw.path(&draw.link(""), &framed(draw, frame), &work)
}

fn delayed_acks(draw: &mut Draw) -> String {
    draw.quic = true;
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

fn ack_filter(draw: &mut Draw) -> String {
    draw.quic = false;
    draw.delay_ms = draw.between(15.0, 40.0);
    let interval = draw.between(150.0, 350.0);
    let seconds = draw.between(1.5, 4.0);
    let bytes = draw.bytes(seconds);
    let (proxy, pep) = if draw.planted {
        let filter = format!("[path.pep]\nhop = \"sat\"\nack_filter = \"{interval:.0} ms\"\n");
        (filter, "tcp.pep = \"filter\"\n")
    } else {
        (String::new(), "")
    };
    let link = draw.link("");
    format!(
        "[[path.hop]]\nname = \"lan\"\nforward = {{ rate = \"100 Mbps\", delay = \"2 ms\" }}\n\
         return = {{ rate = \"100 Mbps\", delay = \"2 ms\" }}\n\
         [[path.hop]]\nname = \"sat\"\nforward = {link}\nreturn = {link}\n\
         [[path.hop]]\nname = \"net\"\nforward = {{ rate = \"1 Gbps\", delay = \"5 ms\" }}\n\
         return = {{ rate = \"1 Gbps\", delay = \"5 ms\" }}\n\
         {proxy}[workload]\ndownload = \"{bytes:.0} B\"\n{}",
        draw.open(&format!("{pep}slow_start = \"standard\"\n"))
    )
}

/// A fade that is deeper than the MODCOD in use until the loop has reacted.
fn fade(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(200.0, 300.0);
    let (at, slope) = (draw.between(2.0, 6.0), draw.between(3.0, 8.0));
    let (depth, hold) = (draw.between(6.0, 10.0), draw.between(2.0, 6.0));
    let loop_delay = draw.between(2.0, 4.0);
    let forward = format!(
        "{{ rate = {{ acm = {{ symbol_rate = \"8 MBd\", modcods = \"dvb-s2\", \
         clear_sky_esn0 = \"13 dB\", loop_delay = \"{loop_delay:.2} s\", \
         fade = {{ at = \"{at:.2} s\", slope = \"{slope:.2} dB/s\", depth = \"{depth:.2} dB\", \
         hold = \"{hold:.2} s\" }} }} }}, delay = \"{:.2} ms\", queue = \"2 BDP\" }}",
        draw.delay_ms
    );
    draw.forward(&forward, &format!("[workload]\ndownload = \"20 MB\"\n{}", draw.open("")))
}

/// A gap in which a flight of slow start is lost, answers and all.
fn early_timeout(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(150.0, 300.0);
    let from = draw.delay_ms * draw.between(9.0, 12.0) / 1e3;
    let length = draw.delay_ms * draw.between(1.5, 1.9) / 1e3;
    let to = from + draw.or(length, 1e-4);
    let link = draw.link(&format!(
        ", loss = {{ model = \"bernoulli\", ratio = 1, \
         active = [{{ from = \"{from:.4} s\", to = \"{to:.4} s\" }}] }}"
    ));
    let bytes = 1.5 * draw.bdp();
    let keys = draw.open("slow_start = \"standard\"\ncongestion = \"newreno\"\n");
    draw.forward(&link, &format!("[workload]\ndownload = \"{bytes:.0} B\"\n{keys}"))
}

fn page_on_demand(draw: &mut Draw) -> String {
    draw.quic = false;
    draw.delay_ms = draw.between(220.0, 300.0);
    let (count, interval) = (draw.between(5.0, 12.0) as u64, draw.between(0.6, 1.2));
    let allocation =
        draw.allocated(&format!("{{ rbdc = \"2 Mbps\", request_interval = \"{interval:.2} s\" }}"));
    let reverse =
        format!("{{ rate = \"2 Mbps\", delay = \"{:.2} ms\"{allocation} }}", draw.delay_ms);
    let work = format!("{}{}", page(draw, count), draw.stack("http = \"h2\"\n"));
    draw.path(&draw.link(""), &reverse, &work)
}

fn blockage_model(draw: &mut Draw) -> String {
    draw.quic = true;
    draw.delay_ms = draw.between(20.0, 40.0);
    let blocked = draw.between(1.0, 2.0);
    let more = format!(
        ", loss = {{ model = \"blockage\", mean_clear = \"4 s\", \
         mean_blocked = \"{blocked:.2} s\" }}"
    );
    let link = draw.link_with("2 BDP", &more);
    draw.path(&link, &link, &format!("{}{}", draw.download(10.0), draw.stack("")))
}

fn thin_return(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(40.0, 280.0);
    let kbps = draw.between(8.0, 20.0);
    let kbps = draw.or(kbps, 1e3 * draw.mbps);
    let reverse = format!(
        "{{ rate = \"{kbps:.0} kbps\", delay = \"{:.2} ms\", queue = \"200 kB\" }}",
        draw.delay_ms
    );
    let bytes = draw.between(800_000.0, 2_500_000.0);
    let keys = draw.open("slow_start = \"standard\"\nack = \"1:2\"\n");
    draw.path(&draw.link(""), &reverse, &format!("[workload]\ndownload = \"{bytes:.0} B\"\n{keys}"))
}

fn population(draw: &mut Draw) -> String {
    draw.delay_ms = draw.between(30.0, 150.0);
    let load = draw.between(0.6, 0.9);
    let load = draw.or(load, 0.01);
    let seconds = draw.between(4.0, 8.0);
    let bytes = draw.bytes(seconds);
    draw.plain(&format!(
        "[[flow]]\nname = \"main\"\nstart_time = \"3 s\"\ndownload = \"{bytes:.0} B\"\n\
         [[flow]]\nname = \"users\"\ncount = 60\narrivals = {{ load = {load:.2} }}\n\
         download = {{ lognormal = {{ median = \"500 kB\", sigma = 1.0, max = \"5 MB\" }} }}\n{}",
        draw.open("")
    ))
}

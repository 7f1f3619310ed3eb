//! Compares ACK policies over return links of every capacity: `cargo run -p bentpipe-sim --example
//! acks -- forward=250 megabytes=10`.
//!
//! Prints the goodput of one download for each policy and each rate of the return link, and the
//! ratio of `auto` to the best of the others.
//!
//! Arguments, all with defaults: `forward` (Mbps), `megabytes`, `rtt` (ms), `queue` and
//! `forward_queue` (`"1 BDP"`, `"30 packets"`), `return` (kbps, comma-separated), `beside` (`none`,
//! `cbr`: half of the return link, or `tcp`: an upload), `falls` (seconds after which the return
//! link falls to a tenth), `loss` (of the forward link), `congestion`, `start`, `stock` (`newreno`,
//! `cubic`, `bbr`: the stack's own sender), `policies` (semicolon-separated), and of `auto`:
//! `first`, `most`, `least`, `share_of`, `inflation`, `up`, `down`, `ceiling`, `caution` (s),
//! `pings`.

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::ack::Auto;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{AckBy, AckRule, QuicSettings, StockController};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowOutcome, FlowSpec, HopSpec, Object, RunSpec, Stack, TcpStack,
    Visit,
};
use bentpipe_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// ACK policies compared by default.
const POLICIES: &str = "1:2;1:10;1:32;1:64;rtt/4;rtt/8;rtt/16;auto";
/// Rates of the return link in kbps, by default.
const RETURN: &str = "10,20,30,50,100,200,300,500,1000,3000";

/// The command line.
struct Options(BTreeMap<String, String>);

impl Options {
    fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    fn number(&self, name: &str, default: f64) -> Result<f64, Box<dyn Error>> {
        let text = self.text(name, "");
        if text.is_empty() {
            Ok(default)
        } else {
            text.parse()
                .map_err(|_| format!("{name}={text} is not a number; allowed: a number").into())
        }
    }

    fn auto(&self) -> Result<Auto, Box<dyn Error>> {
        let default = Auto::default();
        Ok(Auto {
            initial: self.number("first", default.initial)?,
            max: self.number("most", default.max)?,
            min: self.number("least", default.min)?,
            inflation: self.number("inflation", default.inflation)?,
            up: self.number("up", default.up)?,
            down: self.number("down", default.down)?,
            share: self.number("share_of", default.share)?,
            ceiling: self.number("ceiling", default.ceiling)?,
            ceiling_duration: Span::from_secs_f64(
                self.number("caution", default.ceiling_duration.as_secs_f64())?,
            ),
            pings: self.number("pings", default.pings as f64)? as u64,
        })
    }

    fn settings(&self, rule: AckRule, bdp: Bytes) -> Result<QuicSettings, Box<dyn Error>> {
        let window = bdp.mul_f64(6.0).max(Bytes::from_mb(2));
        let stock = match self.text("stock", "none") {
            "none" => None,
            "newreno" => Some(StockController::NewReno),
            "cubic" => Some(StockController::Cubic),
            "bbr" => Some(StockController::Bbr),
            other => {
                return Err(format!(
                    "stock={other} is unknown; allowed: none, newreno, cubic, bbr"
                )
                .into());
            }
        };
        Ok(QuicSettings {
            congestion: CongestionConfig {
                controller: self.text("congestion", "cubic").parse()?,
                slow_start: self.text("start", "auto").parse()?,
                ..CongestionConfig::default()
            },
            ack: rule,
            ack_by: if rule == AckRule::Stack { AckBy::Sender } else { AckBy::Receiver },
            ack_auto: self.auto()?,
            stock,
            stream_window: window,
            connection_window: window,
            send_buffer: window,
            ..QuicSettings::default()
        })
    }

    /// Returns the flow that uploads beside the download, over a return link of rate `back`.
    fn beside(&self, back: Rate) -> Result<Option<FlowSpec>, Box<dyn Error>> {
        let (stack, objects) = match self.text("beside", "none") {
            "none" => return Ok(None),
            "cbr" => {
                let constant = DatagramTraffic::Constant {
                    rate: back.mul_f64(self.number("share", 0.5)?),
                    packet: Bytes::new(self.number("packet", 200.0)? as u64),
                    bursts: None,
                };
                (Stack::DatagramTraffic(constant), Vec::new())
            }
            "tcp" => {
                let stack = TcpStack {
                    tcp: bentpipe_tcp::TcpSettings::default(),
                    congestion: CongestionConfig {
                        slow_start: "standard".parse()?,
                        ..CongestionConfig::default()
                    },
                    http: bentpipe_tcp::http::HttpSettings {
                        version: bentpipe_tcp::http::Version::Raw,
                        connections: 1,
                        stream_window: Bytes::from_mb(4),
                        connection_window: Bytes::from_mb(4),
                        priorities: false,
                    },
                    pep: None,
                };
                let endless = Object::new("endless", Bytes::new(1 << 60));
                (Stack::Tcp(Box::new(stack)), vec![endless])
            }
            other => {
                return Err(format!("beside={other} is unknown; allowed: none, cbr, tcp").into());
            }
        };
        let duration = Some(Span::from_secs_f64(self.number("beside_seconds", 60.0)?));
        let visit = Visit { duration, direction: Direction::Upload, objects, ..Visit::default() };
        Ok(Some(FlowSpec::new("beside", stack, vec![visit])))
    }

    fn run(&self, rule: AckRule, kbps: u64) -> Result<FlowOutcome, Box<dyn Error>> {
        let forward = Rate::from_bps((self.number("forward", 250.0)? * 1e6) as u64);
        let rtt = Span::from_secs_f64(self.number("rtt", 600.0)? / 1000.0);
        let back = Rate::from_bps(kbps * 1000);
        let falls = self.number("falls", 0.0)?;
        let schedule = if falls > 0.0 {
            let tenth = kbps as f64 / 10.0;
            format!(
                "rate = {{ schedule = [{{ at = \"0 s\", rate = \"{kbps} kbps\" }}, \
                 {{ at = \"{falls} s\", rate = \"{tenth} kbps\" }}] }}\n"
            )
        } else {
            String::new()
        };
        let bdp = forward.bytes_in(rtt);
        let bytes = Bytes::new((self.number("megabytes", 10.0)? * 1e6) as u64);
        let download = Stack::quic(self.settings(rule, bdp)?);
        let object = Object::new("object", bytes);
        let visit = Visit { objects: vec![object], ..Visit::default() };
        let mut flows = vec![FlowSpec::new("download", download, vec![visit])];
        flows.extend(self.beside(back)?);
        let queue = |name: &str| format!("queue = \"{}\"\n", self.text(name, "1 BDP"));
        let loss = format!("loss = {}\n", self.number("loss", 0.0)?);
        let spec = RunSpec {
            seed: 1,
            run: 0,
            base_rtt: rtt,
            mesh: None,
            hops: vec![HopSpec {
                name: "satellite".into(),
                forward: direction(forward, rtt / 2, &(queue("forward_queue") + &loss))?,
                reverse: direction(back, rtt / 2, &(queue("queue") + &schedule))?,
                shared: true,
            }],
            terminals: 1,
            flows,
            time_limit: Span::from_secs(600),
            trace: None,
            qlog: Default::default(),
            capture: None,
            controller_state: false,
            reconfigurations: Vec::new(),
            path_changes: Vec::new(),
            encrypt: false,
        };
        let outcome = bentpipe_sim::run(&spec, &AtomicBool::new(false))?;
        outcome
            .flows
            .into_iter()
            .find(|flow| flow.name == "download")
            .ok_or_else(|| "no download".into())
    }
}

fn direction(rate: Rate, delay: Span, patch: &str) -> Result<DirectionModel, Box<dyn Error>> {
    let mut config = DirectionConfig::new(rate, delay);
    let patch: DirectionPatch = toml::from_str(patch)?;
    patch.apply_to(&mut config);
    Ok(config.load(Path::new("."))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).map(|argument| {
        let (name, value) = argument
            .split_once('=')
            .ok_or_else(|| format!("`{argument}` has no value; allowed: name=value"))?;
        Ok::<_, String>((name.to_owned(), value.to_owned()))
    });
    let options = Options(arguments.collect::<Result<_, _>>()?);
    let rates: Vec<u64> =
        options.text("return", RETURN).split(',').map(str::parse).collect::<Result<_, _>>()?;
    let rules: Vec<AckRule> =
        options.text("policies", POLICIES).split(';').map(str::parse).collect::<Result<_, _>>()?;
    print!("goodput, Mbps    ");
    rates.iter().for_each(|kbps| print!("{kbps:>9}"));
    println!("  kbps");
    let mut best = vec![(0.0, AckRule::Stack); rates.len()];
    for rule in rules {
        print!("{:<17}", rule.to_string());
        let mut packets = Vec::new();
        for (index, &kbps) in rates.iter().enumerate() {
            let flow = options.run(rule, kbps)?;
            let seconds =
                flow.completion.filter(|_| flow.completed).map_or(f64::INFINITY, Span::as_secs_f64);
            let goodput = flow.bytes as f64 * 8e-6 / seconds;
            let ratio = if best[index].0 > 0.0 { goodput / best[index].0 } else { 1.0 };
            let mark = if rule == AckRule::Auto { format!("{ratio:>9.3}") } else { String::new() };
            packets.push((flow.reverse_packets, mark));
            print!("{goodput:>9.3}");
            if rule != AckRule::Auto && goodput > best[index].0 {
                best[index] = (goodput, rule);
            }
        }
        println!();
        if options.text("packets", "no") == "yes" {
            print!("  return packets ");
            packets.iter().for_each(|(packets, _)| print!("{packets:>9}"));
            println!();
        }
        if rule == AckRule::Auto {
            print!("  ratio to best  ");
            packets.iter().for_each(|(_, mark)| print!("{mark}"));
            println!();
        }
    }
    print!("best             ");
    best.iter().for_each(|(_, rule)| print!("{:>9}", rule.to_string()));
    println!();
    Ok(())
}

//! Effect of proxies on downloads by the kernel's TCP over an emulated geostationary path: 10 MB,
//! 50/10 Mbps, an RTT of 600 ms, and a queue of one bandwidth-delay product.
//!
//! Needs CAP_SYS_ADMIN, like the tests of the emulator. Takes about three minutes.

#![allow(clippy::disallowed_methods, reason = "it measures on the real clock")]

#[path = "../tests/pep/path.rs"]
mod path;

use bentpipe_net::pep::{Allowed, Config, Listener, NextHop, SatelliteSide, Secret};
use path::{Running, cannot_run, download, geo, serve, server_at};
use std::io::Write;
use std::net::SocketAddr;

const SIZE: u64 = 10_000_000;

fn explicit(
    listen: &str,
    next_hop: NextHop,
    satellite: SatelliteSide,
    congestion: Option<&str>,
) -> Config {
    let listener = Listener::Explicit { credentials: None };
    Config {
        listen: listen.parse().expect("an address"),
        next_hop,
        satellite,
        congestion: congestion.map(str::to_owned),
        allowed: Allowed::all(),
        ..Config::new(listener)
    }
}

fn quiet() -> Box<dyn Write + Send> {
    Box::new(std::io::sink())
}

/// Measures two downloads, one after the other, in seconds.
fn twice(name: &str, download: impl Fn() -> f64) {
    let (first, second) = (download(), download());
    println!("{name:<52} {first:>6.2} {second:>6.2}");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if cannot_run() {
        return Ok(());
    }
    let file = std::env::temp_dir().join(format!("bentpipe-pep-geo-{}", std::process::id()));
    Secret::make(&file)?;
    let secret = Secret::from_file(&file);
    std::fs::remove_file(&file)?;
    let secret = secret?;
    println!(
        "10 MB, 50/10 Mbps, 600 ms; a server with CUBIC; seconds of a first and a second download"
    );
    for loss in [0.0, 0.001] {
        println!("\nloss towards the client: {} %", loss * 100.0);
        let emulator = geo(loss);
        let (near, far) = (emulator.testbed().client(0)?, emulator.testbed().server());
        let server = server_at(serve(far, "cubic"));
        let get = |proxy: Option<SocketAddr>| download(near, server, proxy, SIZE).as_secs_f64();
        twice("direct", || get(None));
        for congestion in ["cubic", "bbr"] {
            let config =
                explicit("0.0.0.0:0", NextHop::Direct, SatelliteSide::Client, Some(congestion));
            let pep = Running::start(far, config, quiet());
            let at = server_at(pep.address.port());
            twice(&format!("split at the gateway, client across the hop, {congestion}"), || {
                get(Some(at))
            });
        }
        let config = explicit("127.0.0.1:0", NextHop::Direct, SatelliteSide::Server, None);
        let pep = Running::start(near, config, quiet());
        twice("split at the terminal", || get(Some(pep.address)));
        drop(pep);
        let config = Config {
            listen: "0.0.0.0:0".parse()?,
            allowed: Allowed::all(),
            ..Config::new(Listener::Tunnel { secret: secret.clone() })
        };
        let egress = Running::start(far, config, quiet());
        let next_hop =
            NextHop::Tunnel { egress: server_at(egress.address.port()), secret: secret.clone() };
        let ingress = Running::start(
            near,
            explicit("127.0.0.1:0", next_hop, SatelliteSide::Both, None),
            quiet(),
        );
        twice("tunnel: new connection, then the same connection", || get(Some(ingress.address)));
        drop((ingress, egress));
        for warning in emulator.stop()?.warnings(bentpipe_units::Span::from_millis(600)) {
            println!("  warning of the emulator: {warning}");
        }
    }
    Ok(())
}

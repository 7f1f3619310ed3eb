//! What proxies do for a download by the kernel's TCP over an emulated geostationary path: 10 MB,
//! 50/10 Mbps, 600 ms, a queue of a round trip.
//!
//! Needs CAP_SYS_ADMIN, as the emulator's tests. Takes three minutes or so.

#![allow(clippy::disallowed_methods, reason = "what is measured is the wall clock")]

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

/// Two downloads in turn, seconds.
fn twice(say: &str, way: impl Fn() -> f64) {
    let (first, second) = (way(), way());
    println!("{say:<52} {first:>6.2} {second:>6.2}");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if cannot_run() {
        return Ok(());
    }
    let place = std::env::temp_dir().join(format!("bentpipe-pep-geo-{}", std::process::id()));
    Secret::make(&place)?;
    let secret = Secret::from_file(&place);
    std::fs::remove_file(&place)?;
    let secret = secret?;
    println!("10 MB, 50/10 Mbps, 600 ms; a server with CUBIC; seconds of two downloads in turn");
    for loss in [0.0, 0.001] {
        println!("\nlost of what goes to the client: {} %", loss * 100.0);
        let emulator = geo(loss);
        let (near, far) =
            (emulator.testbed().client(0).ok_or("no client")?, emulator.testbed().server());
        let server = server_at(serve(far, "cubic"));
        let get = |proxy: Option<SocketAddr>| download(near, server, proxy, SIZE).as_secs_f64();
        twice("direct", || get(None));
        for congestion in ["cubic", "bbr"] {
            let config =
                explicit("0.0.0.0:0", NextHop::Direct, SatelliteSide::Client, Some(congestion));
            let pep = Running::start(far, config, quiet());
            let at = server_at(pep.address.port());
            twice(&format!("split at the gateway, asked over the hop, {congestion}"), || {
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
        let exit = Running::start(far, config, quiet());
        let next_hop =
            NextHop::Tunnel { egress: server_at(exit.address.port()), secret: secret.clone() };
        let entrance = Running::start(
            near,
            explicit("127.0.0.1:0", next_hop, SatelliteSide::Both, None),
            quiet(),
        );
        twice("tunnel, from its first packet, and once more", || get(Some(entrance.address)));
        drop((entrance, exit));
        for doubt in emulator.stop()?.warnings(bentpipe_units::Span::from_millis(600)) {
            println!("  the emulator says: {doubt}");
        }
    }
    Ok(())
}

//! Proxies in network namespaces: with the rules that are printed for operators, and at both ends
//! of an emulated satellite path.

use crate::clients::secret;
use crate::kit::LogBuffer;
use crate::path::{Running, cannot_run, download, geo, serve, server_at};
use bentpipe_emu::Namespace;
use bentpipe_net::pep::{Allowed, Config, Listener, NextHop, Secret, rules};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A client, a router and a server, with a cable from the router to each.
struct Cabled {
    client: Namespace,
    router: Namespace,
    server: Namespace,
}

/// Runs a shell script in a namespace.
fn script(namespace: &Namespace, text: &str) {
    let run = || {
        let mut shell = Command::new("sh")
            .args(["-eu"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        shell.wait().unwrap()
    };
    let status = namespace.inside(run).unwrap();
    assert!(status.success(), "{status} of:\n{text}");
}

impl Cabled {
    fn new() -> Self {
        let [client, router, server] = [(); 3].map(|()| Namespace::new().unwrap());
        // A thread in its namespace names the far end of a cable.
        let cable = |near: &Namespace,
                     (near_name, near_address): (&str, &str),
                     (far_name, far_address): (&str, &str)| {
            let lay = || {
                let there =
                    format!("/proc/{}/task/{}/ns/net", std::process::id(), nix::unistd::gettid());
                script(
                    near,
                    &format!(
                        "ip link set lo up\nip link add {near_name} type veth peer name {far_name} \
                            netns {there}\n\
                         ip addr add {near_address} dev {near_name}\nip link set {near_name} up\n"
                    ),
                );
            };
            router.inside(lay).unwrap();
            script(
                &router,
                &format!(
                    "ip link set lo up\nip addr add {far_address} dev {far_name}\nip link set \
                        {far_name} up\n"
                ),
            );
        };
        cable(&client, ("up0", "10.1.0.2/24"), ("lan0", "10.1.0.1/24"));
        cable(&server, ("up0", "10.2.0.2/24"), ("wan0", "10.2.0.1/24"));
        for (namespace, gateway) in [(&client, "10.1.0.1"), (&server, "10.2.0.1")] {
            script(namespace, &format!("ip route add default via {gateway}\n"));
        }
        router.set("net.ipv4.ip_forward", "1").unwrap();
        Self { client, router, server }
    }

    /// Connects the client to the server and exchanges data. Returns the client's address as the
    /// server sees it.
    fn exchange(&self, listener: &TcpListener) -> SocketAddr {
        let to = SocketAddr::from(([10, 2, 0, 2], listener.local_addr().unwrap().port()));
        std::thread::scope(|scope| {
            let served = scope.spawn(|| {
                let (mut stream, from) = listener.accept().unwrap();
                let mut asked = String::new();
                stream.read_to_string(&mut asked).unwrap();
                stream.write_all(asked.to_uppercase().as_bytes()).unwrap();
                from
            });
            let mut stream = self.client.inside(|| TcpStream::connect(to)).unwrap().unwrap();
            stream.write_all(b"hello").unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "HELLO");
            served.join().unwrap()
        })
    }
}

#[test]
fn the_printed_rules_divert_connections_to_the_proxy() {
    if cannot_run() {
        return;
    }
    for tool in ["nft", "ip", "sysctl"] {
        if !Command::new(tool)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
        {
            return eprintln!("not run: {tool} is missing (Debian: nftables, iproute2, procps)");
        }
    }
    for (listener, listen, seen) in [
        (Listener::Transparent { keep_source: false }, "127.0.0.1:0", "10.2.0.1"),
        (Listener::Transparent { keep_source: true }, "127.0.0.1:0", "10.1.0.2"),
        (Listener::Transparent { keep_source: false }, "0.0.0.0:0", "10.2.0.1"),
        (Listener::Redirected, "0.0.0.0:0", "10.2.0.1"),
    ] {
        let cabled = Cabled::new();
        let server = cabled.server.inside(|| TcpListener::bind("0.0.0.0:0")).unwrap().unwrap();
        // Without a proxy, to check the cables.
        assert_eq!(cabled.exchange(&server).ip().to_string(), "10.1.0.2");
        let log = LogBuffer::default();
        let config = Config { listen: listen.parse().unwrap(), ..Config::new(listener.clone()) };
        let pep = Running::start(&cabled.router, config, Box::new(log.clone()));
        script(&cabled.router, &rules(&listener, pep.address, "lan0").unwrap());
        assert_eq!(cabled.exchange(&server).ip().to_string(), seen, "{listener:?}");
        // A connection to the proxy itself is reset, at each address that it has.
        let own: &[[u8; 4]] = match pep.address.ip().is_unspecified() {
            true => &[[127, 0, 0, 1], [127, 0, 0, 2], [10, 1, 0, 1], [10, 2, 0, 1]],
            false => &[[127, 0, 0, 1]],
        };
        for address in own {
            let own = SocketAddr::from((*address, pep.address.port()));
            let mut stream = cabled.router.inside(|| TcpStream::connect(own)).unwrap().unwrap();
            assert!(stream.read(&mut [0]).is_err(), "it is reset: {own}");
        }
        drop(pep);
        let (text, port) = (log.text(), server.local_addr().unwrap().port());
        let origin = if listener == Listener::Redirected { "redirected" } else { "transparent" };
        assert!(
            text.starts_with("10.1.0.2:")
                && text.ends_with(" complete\n")
                && text.lines().count() == 1,
            "{text}"
        );
        assert!(
            text.contains(&format!("] {origin} 10.2.0.2:{port} 10.2.0.2:{port} 5 5 ")),
            "{text}"
        );
    }
}

/// Returns the configuration of an explicit proxy that allows everything.
fn explicit(listen: &str, next_hop: NextHop) -> Config {
    let listener = Listener::Explicit { credentials: None };
    Config {
        listen: listen.parse().unwrap(),
        next_hop,
        allowed: Allowed::all(),
        ..Config::new(listener)
    }
}

#[test]
fn an_explicit_proxy_at_all_addresses_refuses_to_connect_to_itself() {
    if cannot_run() {
        return;
    }
    let cabled = Cabled::new();
    let pep = Running::start(&cabled.router, explicit("[::]:0", NextHop::Direct), quiet());
    let port = pep.address.port();
    script(&cabled.router, "ip addr add 2001:db8::1/64 dev lan0 nodad\n");
    for own in ["127.0.0.1", "10.1.0.1", "10.2.0.1", "[::1]", "[2001:db8::1]"] {
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            write!(stream, "CONNECT {own}:{port} HTTP/1.1\r\nHost: x\r\n\r\n")?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        };
        let answer = cabled.router.inside(ask).unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 403", "{own}");
    }
}

/// Starts the exit of a tunnel, which remembers paths in the file `paths`.
fn exit(at: &Namespace, port: u16, secret: &Secret, paths: Option<&Path>) -> Running {
    let config = Config {
        listen: ([0, 0, 0, 0], port).into(),
        allowed: Allowed::all(),
        tunnel_paths: paths.map(Path::to_owned),
        ..Config::new(Listener::Tunnel { secret: secret.clone() })
    };
    Running::start(at, config, quiet())
}

fn quiet() -> Box<dyn Write + Send> {
    Box::new(std::io::sink())
}

#[test]
fn ten_megabytes_over_a_geostationary_path_are_faster_through_a_tunnel() {
    if cannot_run() {
        return;
    }
    const SIZE: u64 = 10_000_000;
    let emulator = geo(0.0);
    let ground = emulator.testbed();
    let (near, far) = (ground.client(0).unwrap(), ground.server());
    let server = server_at(serve(far, "cubic"));
    let direct = download(near, server, None, SIZE);

    let secret = secret();
    let egress = exit(far, 0, &secret, None);
    let next_hop = NextHop::Tunnel { egress: server_at(egress.address.port()), secret };
    let ingress = Running::start(near, explicit("127.0.0.1:0", next_hop), quiet());
    let first = download(near, server, Some(ingress.address), SIZE);
    // The best of a few: a busy machine delays senders in user space more than those of the kernel.
    let mut best = Duration::MAX;
    for _ in 0..4 {
        best = best.min(download(near, server, Some(ingress.address), SIZE));
        if best.as_secs_f64() < 0.75 * direct.as_secs_f64() {
            break;
        }
    }
    drop((ingress, egress));
    let report = emulator.stop().unwrap();
    eprintln!(
        "10 MB, 50/10 Mbps, 600 ms: direct {direct:.2?}, through a new tunnel {first:.2?}, then \
            {best:.2?}"
    );
    for warning in report.warnings(bentpipe_units::Span::from_millis(600)) {
        eprintln!("warning of the emulator: {warning}");
    }
    assert!(best.as_secs_f64() < 0.75 * direct.as_secs_f64());
}

#[test]
fn a_tunnel_starts_faster_after_a_restart_of_its_exit_than_at_first() {
    if cannot_run() {
        return;
    }
    const SIZE: u64 = 5_000_000;
    let emulator = geo(0.0);
    let ground = emulator.testbed();
    let (near, far) = (ground.client(0).unwrap(), ground.server());
    let server = server_at(serve(far, "cubic"));
    let directory = tempfile::tempdir().unwrap();
    let paths = directory.path().join("paths.sqlite");
    let (paths, secret) = (Some(&*paths), secret());
    let mut egress = exit(far, 0, &secret, paths);
    let port = egress.address.port();
    let next_hop = NextHop::Tunnel { egress: server_at(port), secret: secret.clone() };
    let ingress = Running::start(near, explicit("127.0.0.1:0", next_hop), quiet());
    let get = |size| download(near, server, Some(ingress.address), size).as_secs_f64();
    // Connections wait for the tunnel; then the next one finds it open.
    get(1);
    let first = get(SIZE);
    // As long as it takes to prove the path's rate.
    get(4 * SIZE);
    // The best of a few, as above.
    let mut best = f64::MAX;
    for _ in 0..3 {
        drop(egress);
        // Until the entrance knows.
        std::thread::sleep(Duration::from_secs(1));
        egress = exit(far, port, &secret, paths);
        get(1);
        best = best.min(get(SIZE));
        if best < 0.85 * first {
            break;
        }
    }
    eprintln!("5 MB through a new tunnel in {first:.2} s, after a restart in {best:.2} s");
    assert!(best < 0.85 * first, "{first} s, then {best} s");
    drop((ingress, egress));
    emulator.stop().unwrap();
}

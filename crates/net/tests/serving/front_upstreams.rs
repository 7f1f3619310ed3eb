//! How a front asks the web servers of sites: by which name, and whom it takes for down.

use super::exchange::{Requests, on_http3, over_http3_to};
use super::front::{Hosts, echo, secure_web, upstream};
use super::kit::{soon, until};
use bentpipe_net::front::Sites;
use bentpipe_net::serve::Server;
use bentpipe_units::Span;
use http::Request;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn down(server: &Server) -> u64 {
    server.metrics().upstream.down.load(Relaxed)
}

/// Returns the URL of a web server that knows `host` alone and answers 404 for others, with what it
/// was asked.
async fn choosy(host: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let seen = heads.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                let head = String::from_utf8(head).unwrap().to_lowercase();
                let own = head.contains(&format!("\r\nhost: {host}\r\n"));
                seen.lock().unwrap().push(head);
                let status = if own { "200 OK" } else { "404 Not Found" };
                let answer =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).await
            });
        }
    });
    (url, heads)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_checks_ask_by_the_name_of_a_host() {
    let hosts = Hosts::new();
    let (secure, names) = secure_web(&hosts).await;
    let (plain, heads) = choosy("x.b.test").await;
    let checked = |url: &str| upstream(url).health_check("/up", Span::from_millis(20)).unwrap();
    // The first host that a certificate names is `a.test`, and `x.b.test` only has a wildcard.
    let sites = Sites::default().with_default(checked(&secure));
    let sites = sites.with_host("x.b.test", checked(&plain)).unwrap();
    let server = hosts.front(sites).await;
    until("checks", || heads.lock().unwrap().len() >= 5 && !names.lock().unwrap().is_empty()).await;
    assert_eq!(down(&server), 0);
    assert!(names.lock().unwrap().iter().all(|name| name == "a.test"), "{names:?}");
    let heads = heads.lock().unwrap().clone();
    for line in ["get /up http/1.1", "host: x.b.test", "x-forwarded-proto: https"] {
        assert!(heads.iter().all(|head| head.contains(&format!("{line}\r\n"))), "{heads:?}");
    }
    // Nobody says which hosts there are.
    let sites = Sites::default().with_host("*.b.test", checked(&plain)).unwrap();
    let refused = Server::front(sites, hosts.table()).start().await.unwrap_err();
    assert!(refused.to_string().contains("upstream of *.b.test"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_one_name_whatever_its_port() {
    let hosts = Hosts::new();
    let (url, names) = secure_web(&hosts).await;
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    for host in ["a.test", "a.test:20000", "a.test:20001", "A.Test", "a.test.", "a.test.:1"] {
        let answer = hosts.ask(&server, "a.test", &format!("https://{host}/"), &[]).await.unwrap();
        assert_eq!(answer.head.status(), 200, "{host}");
        let head = String::from_utf8(answer.body).unwrap();
        assert!(head.contains(&format!("host: {host}\r\n")), "unchanged: {head}");
    }
    assert_eq!(*names.lock().unwrap(), ["a.test"], "on one connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_tls_refuses_takes_no_server_out() {
    let hosts = Hosts::new();
    let [(first, _), (second, _)] = [secure_web(&hosts).await, secure_web(&hosts).await];
    let both = upstream(&first).and(&second).unwrap();
    let server = hosts.front(Sites::default().with_default(both)).await;
    // Both show the certificate of a.test.
    let answer = hosts.ask(&server, "b.test", "https://b.test/", &[]).await.unwrap();
    assert_eq!((answer.head.status().as_u16(), down(&server)), (502, 0));
    // No name for TLS.
    let answer = hosts.ask(&server, "b.test", "https://-.b.test/", &[]).await.unwrap();
    assert_eq!((answer.head.status().as_u16(), down(&server)), (502, 0));
    // One that accepts no connections is out.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", gone.local_addr().unwrap());
    drop(gone);
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    let answer = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap();
    assert_eq!((answer.head.status().as_u16(), down(&server)), (502, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_of_a_wildcard_is_one_of_a_host() {
    let hosts = Hosts::new();
    let (plain, _) = choosy("none").await;
    let server = hosts.front(Sites::default().with_default(upstream(&plain))).await;
    for (host, status) in [
        ("x.b.test", 404),
        ("X-1_y.b.test", 404),
        ("xn--bcher-kva.b.test", 404),
        ("a!b.b.test", 421),
        ("a,b.b.test", 421),
        ("(a).b.test", 421),
    ] {
        let answer = hosts.ask(&server, "b.test", &format!("https://{host}/"), &[]).await.unwrap();
        assert_eq!(answer.head.status(), status, "{host}");
    }
}

/// Returns the URL of a web server over HTTP/1.1, and the number of connections to it.
async fn counting() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::<AtomicUsize>::default();
    let counted = count.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Relaxed);
            tokio::spawn(echo(stream, "counting".to_owned()));
        }
    });
    (url, count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_type_of_grpc_changes_nothing_where_there_is_none() {
    let hosts = Hosts::new();
    let (url, connections) = counting().await;
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    let work = |_, mut requests: Requests| async move {
        let post = || {
            let request =
                Request::post("https://a.test/").header("content-type", "application/grpc");
            request.body(()).unwrap()
        };
        let mut open = Vec::new();
        for _ in 0..5 {
            open.push(requests.send_request(post()).await.unwrap());
        }
        // What came after them is answered, so that they have come, too.
        let mut last = requests.send_request(post()).await.unwrap();
        last.finish().await.unwrap();
        assert_eq!(soon(last.recv_response()).await.unwrap().status(), 200);
        open.len()
    };
    let done = on_http3(server.address(), "a.test", hosts.client_config(), work).await;
    assert_eq!((done.unwrap(), connections.load(Relaxed)), (5, 1));
}

/// What a web server does with the requests of a connection after the first one.
#[derive(Clone, Copy)]
enum Then {
    Answers,
    /// Closes the connection when a request has come.
    Closes,
}

/// Returns the URL of a web server whose responses have these fields, and the number of its
/// connections and of its requests.
async fn keeping(fields: &'static str, then: Then) -> (String, Arc<[AtomicUsize; 2]>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let counts = Arc::<[AtomicUsize; 2]>::default();
    let counted = counts.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let counted = counted.clone();
            counted[0].fetch_add(1, Relaxed);
            tokio::spawn(async move {
                let mut first = true;
                loop {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await?);
                    }
                    counted[1].fetch_add(1, Relaxed);
                    if matches!(then, Then::Closes) && !std::mem::replace(&mut first, false) {
                        return Ok::<_, std::io::Error>(());
                    }
                    let answer = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await?;
                }
            });
        }
    });
    (url, counts)
}

fn counted(counts: &[AtomicUsize; 2]) -> [usize; 2] {
    [0, 1].map(|which| counts[which].load(Relaxed))
}

/// Asks twice, and once more after this time. Returns the number of connections.
async fn connections_of_three(fields: &'static str, pause: Span) -> usize {
    let hosts = Hosts::new();
    let (url, counts) = keeping(fields, Then::Answers).await;
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    for pause in [Span::from_millis(50), pause, Span::ZERO] {
        let answer = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap();
        assert_eq!(answer.head.status(), 200);
        tokio::time::sleep(pause.into()).await;
    }
    counted(&counts)[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_kept_as_long_as_the_server_says() {
    let [soon, later, long] = [100, 1500, 4500].map(Span::from_millis);
    let connections = tokio::join!(
        connections_of_three("", soon),
        connections_of_three("Keep-Alive: timeout=2\r\n", soon),
        connections_of_three("Keep-Alive: timeout=2\r\n", later),
        connections_of_three("Keep-Alive: timeout=1\r\n", soon),
        connections_of_three("", long),
        connections_of_three("Keep-Alive: timeout=60\r\n", long),
    );
    // The connection on which the server says another time is not kept.
    assert_eq!(connections, (1, 2, 3, 3, 2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_arrived_on_a_kept_connection_is_not_repeated() {
    let hosts = Hosts::new();
    let (url, counts) = keeping("", Then::Closes).await;
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    let ask = async |method: &str| {
        let request = Request::builder().method(method).uri("https://a.test/");
        let request = request.body(Vec::new()).unwrap();
        let answer = over_http3_to(server.address(), "a.test", hosts.client_config(), request);
        soon(answer).await.unwrap().head.status().as_u16()
    };
    assert_eq!((ask("GET").await, counted(&counts)), (200, [1, 1]));
    assert_eq!((ask("POST").await, counted(&counts)), (502, [1, 2]), "it has come, and ends there");
    assert_eq!((ask("GET").await, counted(&counts)), (200, [2, 3]));
    // A GET is asked again on a new connection, and not more often.
    assert_eq!((ask("GET").await, counted(&counts)), (200, [3, 5]));
    assert_eq!((ask("PUT").await, counted(&counts)), (200, [4, 7]), "without content");
}

//! A front that is handed over to another process: here, to another server of the same one.

use super::front::{Hosts, upstream, web};
use super::kit::{noise, scrape, soon, until};
use bentpipe_net::front::Sites;
use bentpipe_net::handover::{HandOverError, Inheritance, Successor, SuccessorState};
use bentpipe_net::serve::{Finished, Server, ServerBuilder};
use bentpipe_units::Span;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::num::NonZeroU8;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;

const LONG: usize = 4_000_000;
const BEGIN: usize = 100_000;

/// A web server whose response begins, and goes on once it is told to.
struct Slow {
    url: String,
    asked: Arc<Notify>,
    go_on: watch::Sender<bool>,
}

impl Slow {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, go_on) = (Arc::new(Notify::new()), watch::Sender::new(false));
        let (noting, waiting) = (asked.clone(), go_on.subscribe());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (noting, mut waiting) = (noting.clone(), waiting.clone());
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LONG}\r\n\r\n");
                    let content = noise(LONG);
                    stream.write_all(head.as_bytes()).await.unwrap();
                    stream.write_all(&content[..BEGIN]).await.unwrap();
                    noting.notify_one();
                    waiting.wait_for(|go| *go).await.unwrap();
                    stream.write_all(&content[BEGIN..]).await.unwrap();
                });
            }
        });
        Self { url, asked, go_on }
    }
}

/// A front with these sites, whose requests on `slow.b.test` take long.
async fn sites(slow: &Slow, name: &'static str) -> Sites {
    let sites = Sites::default().with_default(upstream(&web(name).await));
    sites.with_host("slow.b.test", upstream(&slow.url)).unwrap()
}

fn builder(hosts: &Hosts, sites: Sites) -> ServerBuilder {
    Server::front(sites, hosts.table()).threads(NonZeroU8::new(2).unwrap())
}

async fn inherit(socket: OwnedFd) -> Result<Inheritance, HandOverError> {
    spawn_blocking(|| Inheritance::receive(socket)).await.unwrap()
}

/// Hands `old` over to a new server.
async fn hand_over(old: &mut Server, builder: ServerBuilder) -> Server {
    let (successor, socket) = Successor::new().unwrap();
    let start = async { builder.take_over(inherit(socket).await.unwrap()).start().await.unwrap() };
    let (done, new) = soon(async { tokio::join!(old.hand_over(successor), start) }).await;
    done.unwrap();
    assert_eq!(new.address(), old.address());
    new
}

/// Asks for the long content in the background, and waits until it has begun.
async fn begin(
    hosts: &Arc<Hosts>,
    server: &Server,
    slow: &Slow,
) -> tokio::task::JoinHandle<Vec<u8>> {
    let (hosts, address) = (hosts.clone(), server.address());
    let asked = slow.asked.notified();
    let download = tokio::spawn(async move {
        let answer = hosts.ask_at(address, "slow.b.test", "https://slow.b.test/", &[]).await;
        answer.unwrap().body
    });
    soon(asked).await;
    download
}

async fn answering(hosts: &Hosts, server: &Server) -> String {
    let answer = hosts.ask(server, "a.test", "https://a.test/", &[]).await.unwrap();
    answer.head.headers()["x-server"].to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_of_three_processes_end_whole_through_the_last_one() {
    let (hosts, slow) = (Arc::new(Hosts::new()), Slow::new().await);
    let metrics = "127.0.0.1:0".parse().unwrap();
    let first = builder(&hosts, sites(&slow, "first").await).metrics(metrics);
    let mut first = first.start().await.unwrap();
    let address = first.metrics_address().unwrap();
    let one = begin(&hosts, &first, &slow).await;
    assert_eq!(answering(&hosts, &first).await, "first");

    let second = builder(&hosts, sites(&slow, "second").await).metrics(metrics);
    let second = second.listen(first.address());
    let mut second = hand_over(&mut first, second).await;
    assert_eq!(second.metrics_address(), Some(address));
    let first_ends = tokio::spawn(first.stop(Span::from_secs(60)));
    for _ in 0..40 {
        assert_eq!(answering(&hosts, &second).await, "second");
    }
    let two = begin(&hosts, &second, &slow).await;

    let third = builder(&hosts, sites(&slow, "third").await).metrics(metrics);
    let third = third.listen(second.address());
    let third = hand_over(&mut second, third).await;
    let second_ends = tokio::spawn(second.stop(Span::from_secs(60)));
    let three = begin(&hosts, &third, &slow).await;
    for _ in 0..40 {
        assert_eq!(answering(&hosts, &third).await, "third");
    }
    slow.go_on.send_replace(true);
    for download in [one, two, three] {
        assert!(soon(download).await.unwrap() == noise(LONG), "it is not what was sent");
    }
    // The processes before end with their connections, long before their time.
    assert_eq!(soon(async { tokio::join!(first_ends, second_ends) }).await.0.unwrap(), 0);
    assert!(scrape(address).await.contains("\nbentpipe_connections 0"));
    assert_eq!(third.stop(Span::from_secs(60)).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_front_continues_if_nobody_takes_it_over() {
    let (hosts, slow) = (Arc::new(Hosts::new()), Slow::new().await);
    let mut old = builder(&hosts, sites(&slow, "old").await).start().await.unwrap();
    // It ends at once.
    let (successor, socket) = Successor::new().unwrap();
    drop(socket);
    assert!(matches!(old.hand_over(successor).await, Err(HandOverError::Io(_))));
    // It cannot listen there.
    let (successor, socket) = Successor::new().unwrap();
    let other = builder(&hosts, sites(&slow, "other").await);
    let start = async {
        let other = other.listen("127.0.0.1:1".parse().unwrap());
        other.take_over(inherit(socket).await.unwrap()).start().await
    };
    let (done, started) = soon(async { tokio::join!(old.hand_over(successor), start) }).await;
    assert!(done.is_err());
    let error = started.unwrap_err().to_string();
    assert!(error.contains("this one would on 127.0.0.1:1"), "{error}");
    // It is ready, and says nothing more. What arrives meanwhile waits.
    let download = begin(&hosts, &old, &slow).await;
    let (successor, socket) = Successor::new().unwrap();
    let dies = async {
        let inheritance = inherit(socket.try_clone().unwrap()).await.unwrap();
        // As a new process says it.
        send(&socket, b"ready", SendFlags::empty()).unwrap();
        let mut said = [0; 5];
        let hears = move || recv(&socket, &mut said, RecvFlags::empty()).unwrap();
        spawn_blocking(hears).await.unwrap();
        drop(inheritance);
    };
    let (done, ()) = soon(async { tokio::join!(old.hand_over(successor), dies) }).await;
    assert!(done.is_err());
    slow.go_on.send_replace(true);
    assert!(soon(download).await.unwrap() == noise(LONG), "it is not what was sent");
    assert_eq!(answering(&hosts, &old).await, "old");
    assert_eq!(old.stop(Span::from_secs(60)).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn if_a_process_fails_the_one_before_it_keeps_its_connections_and_hands_over_anew() {
    let (hosts, slow) = (Arc::new(Hosts::new()), Slow::new().await);
    let metrics = "127.0.0.1:0".parse().unwrap();
    let first = builder(&hosts, sites(&slow, "first").await).metrics(metrics);
    let mut first = first.start().await.unwrap();
    let one = begin(&hosts, &first, &slow).await;
    let next = async |name| {
        let builder = builder(&hosts, sites(&slow, name).await).metrics(metrics);
        builder.listen(first.address())
    };
    let (second, third, fourth) = (next("second").await, next("third").await, next("4").await);
    let mut second = hand_over(&mut first, second).await;
    let two = begin(&hosts, &second, &slow).await;
    let third = hand_over(&mut second, third).await;
    // The third fails. The second has its sockets, and the first still gets what is its own.
    let ends = async {
        assert_eq!(answering(&hosts, &third).await, "third");
        drop(third);
    };
    let limit = Span::from_secs(60);
    let (finished, ()) = soon(async { tokio::join!(second.finish(limit), ends) }).await;
    assert_eq!(finished, Finished::SuccessorEnded(SuccessorState::Failed));
    let mut fourth = hand_over(&mut second, fourth).await;
    assert_eq!(answering(&hosts, &fourth).await, "4");
    // One that is told to stop is not replaced.
    let stopped = async { fourth.finish(Span::ZERO).await };
    soon(stopped).await;
    drop(fourth);
    let finished = soon(second.finish(limit)).await;
    assert_eq!(finished, Finished::SuccessorEnded(SuccessorState::Stopped));
    slow.go_on.send_replace(true);
    for download in [one, two] {
        assert!(soon(download).await.unwrap() == noise(LONG), "it is not what was sent");
    }
    let (first, second) = soon(async { tokio::join!(first.stop(limit), second.stop(limit)) }).await;
    assert_eq!((first, second), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_over_tcp_is_not_handed_over() {
    let mut server = super::TestServer::new().await;
    let (successor, _socket) = Successor::new().unwrap();
    let refused = server.server.hand_over(successor).await;
    assert!(matches!(refused, Err(HandOverError::Tcp)), "{refused:?}");
    until("the server still serves", || server.server.connections() == 0).await;
}

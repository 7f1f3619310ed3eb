//! HTTP/1.1 and HTTP/2 with TLS over the TCP of the kernel (decision 29).
//!
//! Both ends are threads of this process with sockets in the namespaces, as for exchanges without
//! HTTP, so that each socket has the controller of its flow and can be sampled. HTTP is hyper's and
//! TLS is that of rustls, which `bentpipe serve` has too.

mod body;
mod client;
mod exchange;
mod player;
mod server;
mod socket;
mod tls;

use super::kernel::kernel_name;
use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, server_addresses};
use bentpipe_sim::{Direction, FlowSpec, TcpStack, Visit};
use bentpipe_units::Span;
use exchange::Exchange;
use socket::{CLOSE_TIMEOUT, listener};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tls::Tls;
use tokio::runtime::Runtime;

/// Interval between samples of the data sender's sockets, and between checks for interruption, the
/// deadline and the duration.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);

/// Runs one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &TcpStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let system = |what: &'static str| move |error: io::Error| EmuError::system(what, error);
    let testbed = runner.emulator.testbed();
    let client_side = testbed.client(flow.terminal)?;
    let to = SocketAddr::new(server_addresses()[0], port);
    let tls = Tls::new(to.ip(), stack.http.version).map_err(system("a certificate"))?;
    let congestion = kernel_name(stack.congestion.controller.as_str());
    let listener = testbed.server().inside(|| listener(to, congestion))?;
    let listener = listener.map_err(system("creating a listening TCP socket"))?;
    let exchange = Arc::new(Exchange::new(runner.emulator.clock(), visit, runner.spec.trace));
    let (served, fetched) = std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let runtime = runtime()?;
            runner.emulator.raise_priority();
            let served = server::run(listener, tls.server(), exchange.clone());
            runtime.block_on(served).map_err(system("the server's socket"))
        });
        let fetching = scope.spawn(|| {
            // Sockets of this thread belong to the client's namespace from here on.
            client_side.enter()?;
            let runtime = runtime()?;
            runner.emulator.raise_priority();
            let settings = client::Settings {
                to,
                http: stack.http,
                tls: tls.client(),
                congestion: congestion.to_owned(),
                upload: visit.direction == Direction::Upload,
            };
            runtime.block_on(fetch(runner, visit, &exchange, settings));
            Ok::<_, EmuError>(())
        });
        let panicked =
            || Err(EmuError::system("running a thread", io::Error::other("it panicked")));
        let fetched = fetching.join().unwrap_or_else(|_| panicked());
        exchange.finish();
        (serving.join().unwrap_or_else(|_| panicked()), fetched)
    });
    fetched.and(served)?;
    let (outcome, application) = exchange.take();
    Ok(VisitOutcome { application, ..VisitOutcome::new(port, outcome) })
}

fn runtime() -> Result<Runtime, EmuError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| EmuError::system("a runtime", error))
}

/// Runs the client until the visit is over, and records how it ended.
async fn fetch(
    runner: VisitRunner<'_>,
    visit: &Visit,
    exchange: &Arc<Exchange>,
    settings: client::Settings,
) {
    let (begin, deadline) = (runner.emulator.now(), runner.deadline());
    let end = visit.duration.map(|duration| begin + duration);
    let client = client::Client::new(exchange.clone(), settings);
    let over = async {
        loop {
            let now = runner.emulator.now();
            let stopped = runner.stop.load(Ordering::Relaxed) || !runner.emulator.is_working();
            if stopped || end.is_some_and(|end| now >= end) {
                return None;
            }
            if now >= deadline {
                return Some("given up at the time limit".to_owned());
            }
            exchange.sample();
            let left = end.unwrap_or(deadline).since(now).max(Span::from_millis(1));
            tokio::time::sleep(SAMPLE_INTERVAL.min(left.into())).await;
        }
    };
    let error = tokio::select! {
        fetched = client.run() => fetched.err(),
        error = over => error,
    };
    exchange.end(error);
    // Closes connections in order, so that proxies do not see a reset.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
}

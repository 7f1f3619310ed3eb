//! An endpoint for the QUIC interop runner (<https://github.com/quic-interop/quic-interop-runner>):
//! Bentpipe's QUIC and HTTP/3, at either end of each of the runner's test cases.
//!
//! `packaging/interop/run_endpoint.sh` starts it in the runner's container, and
//! `tools/peers/interop-cases` plays the cases over the emulator. It takes its orders from the
//! environment: see [`case::Orders`]. Its exit status is 0, 1 if the client failed, or 127 if it
//! does not support the test case.
#![allow(clippy::disallowed_methods, reason = "an example writes where it is told to")]

mod case;
mod client;
mod hq;
mod server;
mod tls;

use case::{Case, Orders, Role};
use std::process::ExitCode;

/// Exit status for a test case that is not supported.
const UNSUPPORTED: u8 = 127;

fn main() -> ExitCode {
    let orders = match Orders::from_environment() {
        Ok(orders) => orders,
        Err(reason) => return failed(&reason),
    };
    let Some(case) = Case::of(&orders.test_case, orders.role) else {
        eprintln!("unsupported test case: {}", orders.test_case);
        return ExitCode::from(UNSUPPORTED);
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let ended = runtime.block_on(async {
        match orders.role {
            Role::Client => client::run(&orders, case).await,
            Role::Server => server::run(&orders, case).await,
        }
    });
    ended.map_or_else(|reason| failed(&reason), |()| ExitCode::SUCCESS)
}

fn failed(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}

//! Messages to systemd: that a service is ready, that it is alive, that another process continues
//! it, and that it stops (sd_notify(3)). Without `NOTIFY_SOCKET` they go nowhere.

use std::env;
use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The service manager of this process, if it has one that listens.
#[derive(Debug)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    watchdog: Option<Interval>,
}

impl ServiceManager {
    /// Returns the one that the environment names.
    pub fn from_env() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").and_then(|name| connect(&name));
        let own =
            env::var("WATCHDOG_PID").ok().is_none_or(|pid| pid == std::process::id().to_string());
        let limit = env::var("WATCHDOG_USEC").ok().and_then(|limit| limit.parse().ok());
        let limit = limit.filter(|_| own && socket.is_some());
        Self { socket, watchdog: limit.map(watchdog) }
    }

    /// Says that the service is ready.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Says that another process is the service from now on.
    pub fn hand_over(&self, process: u32) {
        self.send(&format!("MAINPID={process}"));
    }

    /// Says that the service stops.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Waits until it is time for a sign of life, and gives it. Never returns without a watchdog.
    pub async fn alive(&mut self) {
        match &mut self.watchdog {
            Some(watchdog) => _ = watchdog.tick().await,
            None => std::future::pending().await,
        }
        self.send("WATCHDOG=1");
    }

    fn send(&self, message: &str) {
        // A service whose manager does not listen continues.
        let _ = self.socket.as_ref().map(|socket| socket.send(message.as_bytes()));
    }
}

/// Returns a socket connected to a path, or to an abstract name, which begins with `@`.
fn connect(name: &OsString) -> Option<UnixDatagram> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address.ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// Returns signs of life for a limit in microseconds: twice in it, as sd_watchdog_enabled(3) says.
fn watchdog(limit: u64) -> Interval {
    let mut ticks = interval(Duration::from_micros(limit / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

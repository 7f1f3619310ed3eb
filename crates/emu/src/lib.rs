//! The wall clock: an emulated satellite path between network namespaces, and real programs behind it.
//!
//! A [`Ground`] is one network namespace for each client and one for the server, each with a TUN device. An [`Emulator`] carries packets between them through
//! the links of [`bentpipe_link`], which are the very objects of the simulator, under a clock that runs by itself. [`Program`]s run in the namespaces; a [`Relay`] lets clients
//! reach a service outside.
//!
//! Nothing of the host is touched: no interface, route, firewall rule or name of it. Everything is held by file descriptors and processes, and gone with
//! them. [`prepare`] says whether a process may do this, and moves it into a user namespace where it otherwise may not.
//!
//! # Order of calls
//!
//! [`prepare`], while the process has one thread; [`Ground::new`]; [`Emulator::start`], with which the time of the links begins; programs, before or after;
//! [`Emulator::stop`], whose [`Report`] has an account of every packet and of how late packets left.
//!
//! ```no_run
//! use bentpipe_emu::{Emulator, Ground, Hop, PathSpec, Program, Settings, prepare, server_addresses};
//! use bentpipe_link::DirectionConfig;
//! use bentpipe_units::{Bytes, Rate, Span};
//! use std::process::Command;
//! use std::time::Duration;
//!
//! prepare()?;
//! let direction = |mbps| DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(300)).load(".".as_ref());
//! let hop = Hop { name: "satellite".into(), forward: direction(50)?, reverse: direction(10)?, shared: true };
//! let path = PathSpec { hops: vec![hop], base_rtt: Span::from_millis(600), seed: 1, run: 0 };
//! let emulator = Emulator::start(Ground::new(1, Bytes::new(1500))?, &path, Settings::default())?;
//! let mut ping = Command::new("ping");
//! ping.args(["-c", "3", &server_addresses()[0].to_string()]);
//! let client = emulator.ground().client(0).ok_or("no client")?;
//! let status = Program::start(client, ping)?.wait_for(Duration::from_secs(10))?;
//! println!("{status:?}, {:?}", emulator.stop()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capture;
mod clock;
mod datagrams;
mod emulator;
mod error;
mod gauge;
mod join;
mod kernel_tcp;
mod lane;
mod motion;
mod namespace;
mod netlink;
mod pace;
mod program;
mod relay;
mod report;
mod segment;
mod series;
mod sys;
mod tun;
mod watch;
mod worker;

pub use capture::{Capture, CaptureReport};
pub use datagrams::UdpRelay;
pub use emulator::{Emulator, Ground, Hop, MOST_TERMINALS, PathSpec, Settings, client_addresses, server_addresses};
pub use error::EmuError;
pub use gauge::{DirectionNow, Gauge, Now};
pub use kernel_tcp::{Exchange, ExchangeOutcome, SocketState, Transfer, TransferOutcome};
pub use motion::{Course, Motion};
pub use namespace::{Access, Namespace, prepare};
pub use program::Program;
pub use relay::{Relay, RelayReport};
pub use report::{DirectionReport, Lateness, LinkReport, Report};
pub use series::LinkSeries;
pub use watch::{LayerBytes, Passage, Watch};

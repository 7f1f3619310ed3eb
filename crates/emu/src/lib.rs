//! The wall clock: an emulated satellite path between network namespaces, and real programs behind
//! it.
//!
//! A [`Testbed`] is one network namespace for each client and one for the server, each with a TUN
//! device. An [`Emulator`] carries packets between them through the links of [`bentpipe_link`],
//! which are the very objects of the simulator, under a clock that runs by itself. [`Program`]s run
//! in the namespaces; a [`TcpForwarder`] lets clients reach a service outside.
//!
//! Nothing of the host is touched: no interface, route, firewall rule or name of it. Everything is
//! held by file descriptors and processes, and gone with them. [`prepare`] says whether a process
//! may do this, and moves it into a user namespace where it otherwise may not.
//!
//! # Order of calls
//!
//! [`prepare`], while the process has one thread; [`Testbed::new`]; [`Emulator::start`], with which
//! the time of the links begins; programs, before or after; [`Emulator::stop`], whose [`Report`]
//! has an account of every packet and of how late packets left.
//!
//! ```no_run
//! use bentpipe_emu::{Emulator, Testbed, Hop, PathSpec, Program, Settings, prepare, server_addresses};
//! use bentpipe_link::DirectionConfig;
//! use bentpipe_units::{Bytes, Rate, Span};
//! use std::process::Command;
//! use std::time::Duration;
//!
//! prepare()?;
//! let direction = |mbps| DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(300)).load(".".as_ref());
//! let hop = Hop { name: "satellite".into(), forward: direction(50)?, reverse: direction(10)?, shared: true };
//! let path = PathSpec { hops: vec![hop], base_rtt: Span::from_millis(600), seed: 1, run: 0 };
//! let emulator = Emulator::start(Testbed::new(1, Bytes::new(1500))?, &path, Settings::default())?;
//! let mut ping = Command::new("ping");
//! ping.args(["-c", "3", &server_addresses()[0].to_string()]);
//! let client = emulator.testbed().client(0).ok_or("no client")?;
//! let status = Program::start(client, ping)?.wait_for(Duration::from_secs(10))?;
//! println!("{status:?}, {:?}", emulator.stop()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod busy_poll;
mod capture;
mod clock;
mod delay_changes;
mod emulator;
mod error;
mod gro;
mod gso;
mod kernel_tcp;
mod link_pipeline;
mod monitor;
mod namespace;
mod netlink;
mod program;
mod report;
mod settings;
mod stats;
mod sys;
mod tcp_forwarder;
mod tun;
mod udp_forwarder;
mod worker;

pub use capture::{CaptureConfig, CaptureReport};
pub use delay_changes::{DelayChange, DelayChanges};
pub use emulator::{Emulator, MAX_TERMINALS, Testbed, client_addresses, server_addresses};
pub use error::EmuError;
pub use kernel_tcp::{ObjectOutcome, SocketState, Transfer, TransferObject, TransferOutcome};
pub use monitor::{LayerBytes, Monitor, PortCounters};
pub use namespace::{Access, Namespace, prepare};
pub use program::Program;
pub use report::{DirectionReport, Lateness, LinkReport, Report};
pub use settings::{Hop, PathSpec, Settings};
pub use stats::{DirectionStats, PathStats, StatsReader};
pub use tcp_forwarder::{ForwarderReport, TcpForwarder};
pub use udp_forwarder::UdpForwarder;

//! Emulation on the real clock: a satellite path between network namespaces, and real programs at
//! its ends.
//!
//! A [`Testbed`] has one network namespace per client and one for the server, each with a TUN
//! device. An [`Emulator`] carries packets between them through the same [`bentpipe_link`] models
//! as the simulator, driven by the real clock. [`Program`]s run in the namespaces. A
//! [`TcpForwarder`] or [`UdpForwarder`] lets clients reach a service outside.
//!
//! The host's interfaces, routes, firewall and names stay unchanged. File descriptors and processes
//! hold everything, and it is gone when they end. [`prepare`] checks whether a process may create
//! namespaces, and moves it into a user namespace if needed.
//!
//! # Order of calls
//!
//! 1. [`prepare`], while the process has one thread.
//! 2. [`Testbed::new`].
//! 3. [`Emulator::start`], which starts link time. Programs may start before or after it.
//! 4. [`Emulator::stop`], whose [`Report`] accounts for every packet and for lateness.
//!
//! ```no_run
//! use bentpipe_emu::{
//!     Emulator, EmulatorSettings, Hop, PathSpec, Program, Testbed, prepare, server_addresses,
//! };
//! use bentpipe_link::DirectionConfig;
//! use bentpipe_units::{Bytes, Rate, Span};
//! use std::process::Command;
//! use std::time::Duration;
//!
//! prepare()?;
//! let direction = |mbps| {
//!     let delay = Span::from_millis(300);
//!     DirectionConfig::new(Rate::from_mbps(mbps), delay).load(std::path::Path::new("."))
//! };
//! let hop = Hop {
//!     name: "satellite".into(),
//!     forward: direction(50)?,
//!     reverse: direction(10)?,
//!     shared: true,
//! };
//! let base_rtt = Span::from_millis(600);
//! let path = PathSpec { hops: vec![hop], base_rtt, seed: 1, run: 0, utc: None };
//! let testbed = Testbed::new(1, Bytes::new(1500))?;
//! let emulator = Emulator::start(testbed, &path, EmulatorSettings::default())?;
//! let mut ping = Command::new("ping");
//! ping.args(["-c", "3", &server_addresses()[0].to_string()]);
//! let client = emulator.testbed().client(0)?;
//! let status = Program::start(client, ping)?.wait_for(Duration::from_secs(10))?;
//! println!("{status:?}, {:?}", emulator.stop()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod busy_poll;
mod capture;
mod clock;
mod datagrams;
mod delay_changes;
mod direction_path;
mod emulator;
mod error;
mod flow_hash;
mod gro;
mod gso;
mod interrupts;
mod kernel_tcp;
mod link_pipeline;
mod loss_cause;
mod monitor;
mod namespace;
mod netlink;
mod network;
mod packet_log;
mod program;
mod report;
mod router;
mod settings;
mod stats;
mod sys;
mod tcp_forwarder;
mod tun;
mod udp_forwarder;
mod worker;

pub use capture::{CaptureConfig, CaptureReport};
pub use clock::{Clock as LinkClock, UtcPhase};
pub use datagrams::{DatagramExchange, receive_datagram};
pub use delay_changes::{DelayChange, DelayChanges};
pub use emulator::{Emulator, MAX_TERMINALS, Testbed, client_addresses, server_addresses};
pub use error::EmuError;
pub use interrupts::Interrupts;
pub use kernel_tcp::{
    ObjectOutcome, SocketState, Transfer, TransferObject, TransferOutcome, socket_state,
};
pub use loss_cause::LossCause;
pub use monitor::{LayerBytes, Monitor, PortCounters};
pub use namespace::{Access, Namespace, prepare};
pub use network::{Network, NetworkEvent, NetworkPacket};
pub use packet_log::{PacketLog, PacketRecord, PathService};
pub use program::Program;
pub use report::{DirectionReport, Lateness, LinkReport, Report};
pub use router::CLIENT_SIDE as ROUTER_CLIENT_SIDE;
pub use settings::{EmulatorSettings, Hop, PathSpec};
pub use stats::{DirectionStats, PathStats, StatsReader};
pub use tcp_forwarder::{ForwarderReport, TcpForwarder};
pub use udp_forwarder::UdpForwarder;

//! Scenario files: their keys, the checks, and the sweep.
//!
//! The same types parse a file and generate the JSON Schema for editors. serde's `flatten` and
//! `untagged` are avoided because both lose the position in the text and the list of allowed
//! values, which error messages need. The module `section` reads tables that share keys.

mod accept;
mod arrivals;
mod check;
mod cities;
mod contacts;
mod contacts_check;
mod document;
mod error;
mod expectations;
mod flow;
mod idle_timeout;
mod layers;
pub mod leo;
mod light_time;
mod light_time_check;
mod limits;
mod merge;
mod mix;
mod mix_name;
mod orbit;
mod orbit_check;
mod orbit_text;
mod packet_threshold;
mod pep;
mod policer_check;
mod population;
mod preset;
mod probe_check;
pub mod profiles;
mod protocol;
mod reconfiguration;
mod recording;
mod scenario;
mod section;
mod swept_points;
mod tcp_ecn;
mod transport;
mod tree;
mod window;
pub mod workload;

pub use arrivals::Arrivals;
pub use check::{check, variant_names};
pub use contacts::ContactsSection;
pub use document::{Axis, Document, plain_text};
pub use error::{Problem, ScenarioError, Source, nearest, quoted};
pub use expectations::{figures, is_planned, rules};
pub use flow::{Ends, Flow, FlowTable, Placement, Variant, VariantTable};
pub use idle_timeout::IdleTimeout;
pub use light_time::LightTimeSection;
pub use limits::HEADERS;
pub use mix::{MixClass, MixTable, mixes};
pub use mix_name::Mix;
pub use orbit::{
    FibreSection, LinksSection, OrbitSection, RouteUpdatesName, ShellLinksSection, ShellSection,
    StationSection,
};
pub use orbit_text::{Begin, ConstellationText, IslText, PhaseText};
pub use packet_threshold::PacketThreshold;
pub use pep::PepSection;
pub use population::{MAX_USERS, Users};
pub use protocol::Protocol;
pub use reconfiguration::{Ramp, Reconfiguration, RttLevels};
pub use recording::{Fill, RecordingSection};
pub use scenario::{
    CaptureAt, Crypto, Expect, FairnessSection, Hop, ONLY_HOP, Output, PathSection, PointFilter,
    Published, Scenario, TimeSeries, json_schema,
};
pub use tcp_ecn::TcpEcn;
pub use transport::{
    FlowControlPreset, HttpKind, HttpPriorities, MeasuredVisit, PathChangeResponseName, PepMode,
    PresetName, TcpBuffers, Transport, TransportKind,
};
pub use window::{ConnectionWindow, Window};
pub use workload::Workload;

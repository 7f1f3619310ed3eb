//! Capacity allocations by name.

use super::dama::Dama;
use bentpipe_units::{Bytes, Rate, Span};

/// A capacity allocation that scenarios select by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapacityAllocationPreset {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Source of the figures.
    pub source: &'static str,
    /// The parameters.
    pub dama: Dama,
}

/// Frame of the return link in OpenSAND's sample configuration.
const FRAME: Span = Span::from_micros(26_500);

const SAMPLE: &str = "OpenSAND, sample configuration: frame 26.5 ms, synchronisation period 1000 \
    ms, 250 ms a hop, minimum scheduling latency 23 frames";

impl Dama {
    /// Returns the timing of OpenSAND's sample configuration, without any capacity.
    ///
    /// The minimum scheduling latency is the sample's own value, 23 frames; its delays add up to
    /// 20.
    pub(crate) const fn timing() -> Self {
        Self {
            frame: FRAME,
            cra: Rate::ZERO,
            rbdc: Rate::ZERO,
            vbdc: Bytes::ZERO,
            fca: false,
            request_interval: Span::from_secs(1),
            request_delay: Span::from_millis(250),
            processing: FRAME,
            tbtp_delay: Span::from_millis(250),
            // 38 frames, the synchronisation period, plus one.
            timeout: Span::from_nanos(39 * FRAME.as_nanos()),
            msl: Span::from_nanos(23 * FRAME.as_nanos()),
        }
    }
}

impl CapacityAllocationPreset {
    /// Returns every allocation that scenarios may name.
    pub fn all() -> [Self; 3] {
        let kbps = |kbps: u64| Rate::from_bps(kbps * 1000);
        [
            Self {
                name: "dama",
                about: "100 kbps constant, up to 1024 kbps on demand by rate",
                source: "OpenSAND, sample configurations: timing of the newer ones, CRA and RBDC \
                    of a terminal of the older ones",
                dama: Dama { cra: kbps(100), rbdc: kbps(1024), ..Dama::timing() },
            },
            Self {
                name: "dama-free",
                about: "as dama, with unrequested capacity shared among all terminals",
                source: "as dama; free capacity is our addition",
                dama: Dama { cra: kbps(100), rbdc: kbps(1024), fca: true, ..Dama::timing() },
            },
            Self {
                name: "cra",
                about: "3 Mbps constant per terminal, none on demand",
                source: SAMPLE,
                dama: Dama { cra: kbps(3000), ..Dama::timing() },
            },
        ]
    }

    /// Returns the preset called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|preset| preset.name == name)
    }

    /// Returns all names, for error messages.
    pub fn names() -> String {
        Self::all().map(|preset| preset.name).join(", ")
    }
}

//! How the capacity of a carrier is given to the terminals that share it.

use super::written::{Written, read_as_written};
use crate::ConfigError;
use crate::allocation::presets::AllocationPreset;
use bentpipe_units::{Bytes, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// How the capacity of a carrier is given to the terminals that share it: `"none"`, the name of a preset, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AllocationConfig {
    /// One queue and one transmitter for all ports, first come, first served.
    #[default]
    None,
    /// Frames whose capacity a controller allocates, in part on demand.
    Dama(Dama),
}

/// Demand-assigned multiple access (DAMA) in the terms of DVB-RCS2 (ETSI EN 301 545-2): what terminals may ask for, and how long asking takes.
/// All terminals have the same contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dama {
    /// The length of a frame.
    pub frame: Span,
    /// Constant rate assignment: what each terminal gets in every frame, unasked.
    pub cra: Rate,
    /// The most that a terminal may ask for as rate-based dynamic capacity, beside its constant rate; zero for none.
    pub rbdc: Rate,
    /// The most that a terminal may have asked for as volume-based dynamic capacity and not have got yet; zero for none.
    pub vbdc: Bytes,
    /// Free capacity assignment: what nobody has asked for is given to all terminals alike.
    pub fca: bool,
    /// Time between two occasions on which a terminal may ask; whole frames, rounded up.
    pub sync: Span,
    /// How long a request is on the way from terminal to controller.
    pub request_delay: Span,
    /// How long the controller takes to make a plan of it.
    pub processing: Span,
    /// How long a plan is on the way from controller to terminal.
    pub plan_delay: Span,
    /// After this long a rate that has not been asked for again ends; whole frames, rounded up.
    pub timeout: Span,
    /// Minimum scheduling latency: the time within which a rate-based request means to empty the terminal's queue.
    pub msl: Span,
}

/// The longest a frame or any of the delays may be: beyond it the arithmetic of frames would wrap, and nothing real is near.
const LONGEST: Span = Span::from_secs(3600);

/// An allocation as a table.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AllocationTable")]
pub(super) struct Table {
    /// What holds where nothing else is said; the timing of "dama" without any capacity unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    /// The length of a frame; "26.5 ms" unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<Span>,
    /// What each terminal gets in every frame, unasked.
    #[serde(skip_serializing_if = "Option::is_none")]
    cra: Option<Rate>,
    /// The most that a terminal may ask for as a rate, beside `cra`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rbdc: Option<Rate>,
    /// The most that a terminal may ask for as a volume before it has got it.
    #[serde(skip_serializing_if = "Option::is_none")]
    vbdc: Option<Bytes>,
    /// What nobody has asked for is given to all terminals alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    fca: Option<bool>,
    /// Time between two occasions on which a terminal may ask; "1 s" unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_interval: Option<Span>,
    /// From terminal to controller; "250 ms" unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_delay: Option<Span>,
    /// What the controller takes; a frame unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    processing: Option<Span>,
    /// From controller to terminal; "250 ms" unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    tbtp_delay: Option<Span>,
    /// A rate that is not asked for again ends after this long; `request_interval` and a frame more unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Span>,
    /// The time within which a request for a rate means to empty the queue; the frames that asking takes unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    msl: Option<Span>,
}

impl AllocationConfig {
    /// True where nothing is allocated.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// What is allocated, if anything is.
    pub const fn dama(&self) -> Option<&Dama> {
        match self {
            Self::None => None,
            Self::Dama(dama) => Some(dama),
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.dama().map_or(Ok(()), Dama::check)
    }
}

impl Dama {
    /// Whole frames that `span` takes, rounded up, at least one.
    pub(crate) fn frames(&self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.frame.as_nanos().max(1)).max(1)
    }

    /// From the frame at whose beginning a terminal asks to the first frame that may be planned by it: request, processing and plan, in whole frames.
    pub fn scheduling_frames(&self) -> u64 {
        self.frames(self.request_delay + self.processing + self.plan_delay)
    }

    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let refused = |key: &str, value: &dyn fmt::Display, problem: &str, allowed: &str| {
            Err(ConfigError::refused(format!("{key} = {value}"), problem, allowed))
        };
        for (key, span) in
            [("request_delay", self.request_delay), ("processing", self.processing), ("tbtp_delay", self.plan_delay)]
        {
            if span > LONGEST {
                return refused(key, &span, "is too long", "0 s to 1 h");
            }
        }
        for (key, span) in
            [("frame", self.frame), ("request_interval", self.sync), ("timeout", self.timeout), ("msl", self.msl)]
        {
            if span.is_zero() || span > LONGEST {
                return refused(key, &span, "is no time for an allocation", "above 0 s, up to 1 h");
            }
        }
        if self.frame < Span::from_micros(100) {
            return refused("frame", &self.frame, "is too short for a frame", "100 us or more");
        }
        if self.cra.is_zero() && self.rbdc.is_zero() && self.vbdc.is_zero() && !self.fca {
            let allowed = "`cra`, `rbdc` or `vbdc` above zero, or fca = true";
            return Err(ConfigError::refused("allocation", "gives no terminal anything", allowed));
        }
        Ok(())
    }
}

impl fmt::Display for AllocationConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Dama(dama) = self else { return f.write_str("none") };
        write!(f, "frames of {}", dama.frame)?;
        if !dama.cra.is_zero() {
            write!(f, ", CRA {}", dama.cra)?;
        }
        if !dama.rbdc.is_zero() {
            write!(f, ", RBDC up to {}", dama.rbdc)?;
        }
        if !dama.vbdc.is_zero() {
            write!(f, ", VBDC up to {}", dama.vbdc)?;
        }
        f.write_str(if dama.fca { ", FCA" } else { "" })
    }
}

impl Written for AllocationConfig {
    const EXPECTED: &'static str = "\"none\", the name of a preset such as \"dama\", or a table { cra = \"100 kbps\", rbdc = \"2 Mbps\", request_interval = \"1 s\", … }";
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        match text.trim() {
            "none" => Ok(Self::None),
            name => Ok(Self::Dama(preset(name)?.dama)),
        }
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let base = match &table.preset {
            Some(name) => preset(name)?.dama,
            None => Dama::timing(),
        };
        let frame = table.frame.unwrap_or(base.frame);
        if frame.is_zero() {
            return Err(ConfigError::refused("frame = 0 s", "is no time for an allocation", "above 0 s, up to 1 h"));
        }
        // What follows from other values does so from those told, unless a preset fixes it.
        let derived = table.preset.is_none();
        let mut dama = Dama {
            frame,
            cra: table.cra.unwrap_or(base.cra),
            rbdc: table.rbdc.unwrap_or(base.rbdc),
            vbdc: table.vbdc.unwrap_or(base.vbdc),
            fca: table.fca.unwrap_or(base.fca),
            sync: table.request_interval.unwrap_or(base.sync),
            request_delay: table.request_delay.unwrap_or(base.request_delay),
            processing: table.processing.unwrap_or(if derived { frame } else { base.processing }),
            plan_delay: table.tbtp_delay.unwrap_or(base.plan_delay),
            timeout: base.timeout,
            msl: base.msl,
        };
        // Only a time that was told itself stays where those that it follows from change.
        let moved = table.frame.is_some() || table.request_interval.is_some();
        dama.timeout = match table.timeout {
            Some(timeout) => timeout,
            None if derived || moved => frame * (dama.frames(dama.sync) + 1),
            None => base.timeout,
        };
        let moved = table.frame.is_some()
            || table.request_delay.is_some()
            || table.processing.is_some()
            || table.tbtp_delay.is_some();
        dama.msl = match table.msl {
            Some(msl) => msl,
            None if derived || moved => frame * dama.scheduling_frames(),
            None => base.msl,
        };
        dama.check().map(|()| Self::Dama(dama))
    }
}
read_as_written!(AllocationConfig);

fn preset(name: &str) -> Result<AllocationPreset, ConfigError> {
    AllocationPreset::find(name).ok_or_else(|| {
        let allowed = format!("none, {}, or a table", AllocationPreset::names());
        ConfigError::refused(name, "is no allocation", allowed)
    })
}

impl Serialize for AllocationConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self::Dama(dama) = self else { return serializer.serialize_str("none") };
        Table {
            preset: None,
            frame: Some(dama.frame),
            cra: Some(dama.cra),
            rbdc: Some(dama.rbdc),
            vbdc: Some(dama.vbdc),
            fca: Some(dama.fca),
            request_interval: Some(dama.sync),
            request_delay: Some(dama.request_delay),
            processing: Some(dama.processing),
            tbtp_delay: Some(dama.plan_delay),
            timeout: Some(dama.timeout),
            msl: Some(dama.msl),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for AllocationConfig {
    fn schema_name() -> Cow<'static, str> {
        "AllocationConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = AllocationPreset::all().iter().map(|preset| preset.name).chain(["none"]).collect();
        json_schema!({
            "description": "How the capacity of a carrier is given to the terminals that share it: a preset, a table, or \"none\"",
            "anyOf": [generator.subschema_for::<Table>(), { "type": "string", "enum": names }],
        })
    }
}

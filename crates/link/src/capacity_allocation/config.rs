//! Configuration of capacity allocation.

use crate::ConfigError;
use crate::capacity_allocation::dama::Dama;
use crate::capacity_allocation::presets::CapacityAllocationPreset;
use crate::multi_format::{MultiFormat, read_multi_format};
use bentpipe_units::{Bytes, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// How terminals share the capacity of a carrier: `"none"`, the name of a preset, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CapacityAllocation {
    /// All terminals share one queue and one transmitter: first come, first served.
    #[default]
    None,
    /// A controller allocates the capacity of each frame, in part on demand.
    Dama(Dama),
}

/// A capacity allocation as a table.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AllocationTable")]
pub(crate) struct Table {
    /// Preset that supplies the keys not given here. Default: the timing of "dama" without any
    /// capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    /// Length of a frame. Default: "26.5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<Span>,
    /// Rate that each terminal gets in every frame without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    cra: Option<Rate>,
    /// Highest rate that a terminal may request in addition to `cra`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rbdc: Option<Rate>,
    /// Largest volume that a terminal may have outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    vbdc: Option<Bytes>,
    /// Unrequested capacity is divided evenly among all terminals.
    #[serde(skip_serializing_if = "Option::is_none")]
    fca: Option<bool>,
    /// Interval between the opportunities of a terminal to send a request. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    request_interval: Option<Span>,
    /// Delay from terminal to controller. Default: "250 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    request_delay: Option<Span>,
    /// Processing time of the controller. Default: one frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    processing: Option<Span>,
    /// Delay from controller to terminal. Default: "250 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    tbtp_delay: Option<Span>,
    /// A requested rate expires after this time. Default: `request_interval` plus one frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Span>,
    /// Time within which a rate request aims to empty the queue. Default: the frames that a request
    /// takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    msl: Option<Span>,
}

impl CapacityAllocation {
    /// Returns true if no capacity is allocated.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns the allocation, if there is one.
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

impl fmt::Display for CapacityAllocation {
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

impl MultiFormat for CapacityAllocation {
    const EXPECTED: &'static str = "\"none\", the name of a preset such as \"dama\", or a table \
        { cra = \"100 kbps\", rbdc = \"2 Mbps\", request_interval = \"1 s\", … }";
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
            return Err(ConfigError::refused(
                "frame = 0 s",
                "is not a valid frame length",
                "above 0 s, up to 1 h",
            ));
        }
        // Without a preset, values that are not given follow from those that are.
        let derived = table.preset.is_none();
        let mut dama = Dama {
            frame,
            cra: table.cra.unwrap_or(base.cra),
            rbdc: table.rbdc.unwrap_or(base.rbdc),
            vbdc: table.vbdc.unwrap_or(base.vbdc),
            fca: table.fca.unwrap_or(base.fca),
            request_interval: table.request_interval.unwrap_or(base.request_interval),
            request_delay: table.request_delay.unwrap_or(base.request_delay),
            processing: table.processing.unwrap_or(if derived { frame } else { base.processing }),
            tbtp_delay: table.tbtp_delay.unwrap_or(base.tbtp_delay),
            timeout: base.timeout,
            msl: base.msl,
        };
        // With a preset, a missing time is derived if a value that it depends on was given.
        let moved = table.frame.is_some() || table.request_interval.is_some();
        dama.timeout = match table.timeout {
            Some(timeout) => timeout,
            None if derived || moved => frame * (dama.frames(dama.request_interval) + 1),
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
read_multi_format!(CapacityAllocation);

fn preset(name: &str) -> Result<CapacityAllocationPreset, ConfigError> {
    CapacityAllocationPreset::find(name).ok_or_else(|| {
        let allowed = format!("none, {}, or a table", CapacityAllocationPreset::names());
        ConfigError::refused(name, "is not a capacity allocation", allowed)
    })
}

impl Serialize for CapacityAllocation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self::Dama(dama) = self else { return serializer.serialize_str("none") };
        Table {
            preset: None,
            frame: Some(dama.frame),
            cra: Some(dama.cra),
            rbdc: Some(dama.rbdc),
            vbdc: Some(dama.vbdc),
            fca: Some(dama.fca),
            request_interval: Some(dama.request_interval),
            request_delay: Some(dama.request_delay),
            processing: Some(dama.processing),
            tbtp_delay: Some(dama.tbtp_delay),
            timeout: Some(dama.timeout),
            msl: Some(dama.msl),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for CapacityAllocation {
    fn schema_name() -> Cow<'static, str> {
        "AllocationConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = CapacityAllocationPreset::all()
            .iter()
            .map(|preset| preset.name)
            .chain(["none"])
            .collect();
        json_schema!({
            "description": "Allocation of a shared carrier's capacity to its terminals: \
                a preset, a table, or \"none\"",
            "anyOf": [generator.subschema_for::<Table>(), { "type": "string", "enum": names }],
        })
    }
}

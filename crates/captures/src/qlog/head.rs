//! What a file says of itself and of its traces before their events.

use crate::json::{Elements, FieldValue, FromObject, List, ListInto, Scalar, from_object};
use serde::de::MapAccess;

/// Most columns of events as arrays; further ones are not read.
pub const MAX_COLUMNS: usize = 32;
/// Most traces of a document.
const MAX_TRACES: usize = 1000;
/// Most names of fields that are kept to say what another file is.
const MAX_KEYS: usize = 16;

/// What a field of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A time, as the trace counts it.
    Time,
    /// The time since the event before.
    Delta,
    /// How this event counts its time.
    TimeFormat,
    /// The name of the event, with or without its category.
    Name,
    /// What the event says.
    Data,
    /// The connection it belongs to.
    Group,
    /// The path it belongs to.
    Path,
    /// Why it happened.
    Trigger,
    /// Something else.
    Other,
}

impl Column {
    /// Returns what the field `key`, in small letters, is in any draft.
    pub fn of(key: &str) -> Self {
        match key {
            "time" | "relative_time" => Self::Time,
            "delta_time" => Self::Delta,
            "time_format" => Self::TimeFormat,
            "name" | "event" | "event_type" => Self::Name,
            "data" => Self::Data,
            "group_id" => Self::Group,
            "path_id" | "path" | "tuple" => Self::Path,
            "trigger" => Self::Trigger,
            _ => Self::Other,
        }
    }
}

/// Columns of events as arrays.
#[derive(Debug, Clone)]
pub struct Columns(pub Vec<Column>);

impl Default for Columns {
    fn default() -> Self {
        Self(vec![Column::Time, Column::Other, Column::Name, Column::Data])
    }
}

impl Columns {
    /// Takes the columns that `event_fields` names, unless there must be more of them: those of an
    /// event's name, unless all events share it, and of its data.
    fn named(names: &[Scalar], has_common_name: bool) -> Self {
        let columns: Vec<_> = names
            .iter()
            .map(|name| Column::of(&name.text().unwrap_or_default().to_ascii_lowercase()))
            .collect();
        let has_name = has_common_name || columns.contains(&Column::Name);
        if has_name && columns.contains(&Column::Data) { Self(columns) } else { Self::default() }
    }
}

/// The end that recorded a trace.
#[derive(Debug, Clone, Default)]
struct RawVantage {
    kind: Scalar,
    flow: Scalar,
}

from_object!(RawVantage {
    "type" => kind: get,
    "flow" => flow: get,
});

/// Fields that all events of a trace share.
#[derive(Debug, Clone, Default)]
struct Common {
    time_format: Scalar,
    group: Scalar,
    name: Scalar,
}

impl FromObject for Common {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match (key, Column::of(key)) {
            ("odcid", _) if !self.group.is_some() => self.group = value.get()?,
            (_, Column::TimeFormat) => self.time_format = value.get()?,
            (_, Column::Group) => self.group = value.get()?,
            (_, Column::Name) => self.name = value.get()?,
            _ => {}
        }
        Ok(())
    }
}

/// The unit of times.
#[derive(Debug, Clone, Default)]
struct Configuration {
    time_units: Scalar,
}

from_object!(Configuration {
    "time_units" => time_units: get,
});

/// A trace without its events.
#[derive(Debug, Clone, Default)]
pub struct TraceHead {
    title: Scalar,
    description: Scalar,
    vantage: RawVantage,
    common: Common,
    configuration: Configuration,
    names: List<Scalar, MAX_COLUMNS>,
    /// Follows from the fields above: see [`Self::complete`].
    pub columns: Columns,
    /// True if it stands for a trace that could not be found.
    pub is_error: bool,
    /// True if it has a list of events.
    pub has_events: bool,
}

/// Whose trace it is, as far as its head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vantage {
    /// The client's, or that of somebody between who counts as the client does.
    Client,
    /// The server's, or that of somebody between who counts as the server does.
    Server,
    /// It does not say.
    Unknown,
}

impl TraceHead {
    /// Finds the columns, once all fields are known.
    pub fn complete(&mut self) {
        self.columns = Columns::named(&self.names.0, self.common_name().is_some());
    }

    /// Returns the name that all events share.
    pub fn common_name(&self) -> Option<&str> {
        self.common.name.text()
    }

    /// Returns the seconds in the unit of its times.
    pub fn unit(&self) -> f64 {
        match self.configuration.time_units.text() {
            Some("s") => 1.0,
            Some("us") => 1e-6,
            Some("ns") => 1e-9,
            // The only unit since draft 02, and the default before.
            _ => 1e-3,
        }
    }

    /// Returns the group that all events share: the connection ID that the client's first packet
    /// goes to.
    pub fn group(&self) -> Option<String> {
        self.common.group.name()
    }

    /// Returns true if each time is that since the event before.
    pub fn is_delta(&self) -> bool {
        is_delta(&self.common.time_format)
    }

    /// Returns whose trace it is.
    pub fn vantage(&self) -> Vantage {
        let kinds = [&self.vantage.kind, &self.vantage.flow].map(|kind| kind.text());
        let is = |name: &str| kinds.iter().flatten().any(|kind| kind.eq_ignore_ascii_case(name));
        match (is("server"), is("client")) {
            (true, _) => Vantage::Server,
            (false, true) => Vantage::Client,
            (false, false) => Vantage::Unknown,
        }
    }

    /// Returns its own title, that of the file, its description or its group, in one line: lines of
    /// a file are not to pass for those of an explanation.
    pub fn title(&self, file: &Scalar) -> String {
        [&self.title, file, &self.description, &self.common.group]
            .into_iter()
            .filter_map(Scalar::name)
            .map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "))
            .find(|title| !title.is_empty())
            .unwrap_or_default()
    }
}

/// Returns true if a time format counts from the event before.
pub fn is_delta(format: &Scalar) -> bool {
    matches!(format.text(), Some("delta" | "relative_to_previous_event"))
}

impl FromObject for TraceHead {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "title" => self.title = value.get()?,
            "description" => self.description = value.get()?,
            "vantage_point" => self.vantage = value.object()?,
            "common_fields" => self.common = value.object()?,
            "configuration" => self.configuration = value.object()?,
            "event_fields" => self.names = value.get()?,
            "error_description" => self.is_error = true,
            "events" => self.has_events = true,
            _ => {}
        }
        Ok(())
    }
}

/// A document without its events, or the first record of a sequence.
#[derive(Debug, Default)]
pub struct FileHead {
    version: Scalar,
    format: Scalar,
    schema: Scalar,
    pub title: Scalar,
    /// True if it is a document with a list of traces.
    pub is_document: bool,
    /// The traces of a document.
    pub traces: Vec<TraceHead>,
    /// The trace of a sequence.
    pub trace: TraceHead,
    /// Names of its first fields, in small letters.
    pub keys: Vec<String>,
}

impl FileHead {
    /// Returns true if it names a version, a form or a schema of qlog.
    pub fn is_qlog(&self) -> bool {
        [&self.version, &self.format, &self.schema].into_iter().any(|field| field.is_some())
    }

    /// Returns true for the form before draft 00, whose events have no packets of both directions.
    pub fn is_before_drafts(&self) -> bool {
        self.version.text() == Some("0.1")
    }

    /// Returns true if it has the fields of an event.
    pub fn is_event(&self) -> bool {
        let has = |column: Column| self.keys.iter().any(|key| Column::of(key) == column);
        has(Column::Time) && has(Column::Name) && has(Column::Data)
    }
}

impl FromObject for FileHead {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if self.keys.len() < MAX_KEYS {
            self.keys.push(key.to_owned());
        }
        match key {
            "qlog_version" => self.version = value.get()?,
            "qlog_format" | "serialization_format" => self.format = value.get()?,
            "file_schema" => self.schema = value.get()?,
            "title" => self.title = value.get()?,
            "traces" => {
                self.is_document = true;
                value.with(ListInto(&mut Elements(&mut self.traces, MAX_TRACES)))?;
            }
            "trace" => self.trace = value.object()?,
            _ => {}
        }
        Ok(())
    }
}

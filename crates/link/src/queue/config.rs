//! Configuration of a queue.

use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::queue::disciplines::{DropTail, QueueDiscipline};
use crate::queue::limit::QueueLimit;
use crate::queue::table::Table;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The queue in front of the transmitter: `"1 BDP"`, or a table with `limit`, `aqm` and the keys of
/// that discipline.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    /// Size limit.
    pub limit: QueueLimit,
    /// Which packet is sent next, and which are dropped or marked.
    pub discipline: QueueDiscipline,
}

impl QueueConfig {
    /// Creates a drop-tail queue of `limit`.
    pub const fn drop_tail(limit: QueueLimit) -> Self {
        Self { limit, discipline: QueueDiscipline::DropTail(DropTail) }
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.limit.check()?;
        self.discipline.check()
    }
}

impl Default for QueueConfig {
    /// Drop-tail with a limit of one bandwidth-delay product.
    fn default() -> Self {
        Self::drop_tail(QueueLimit::Bdp(1.0))
    }
}

impl MultiFormat for QueueConfig {
    const EXPECTED: &'static str = "a queue size such as \"1 BDP\", \"500 kB\", \"25 packets\" \
        or \"100 ms\", or a table { limit = \"1 BDP\", aqm = \"codel\" }";
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(Self::drop_tail(text.parse()?))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let discipline = QueueDiscipline::from_fields(&table.fields)?;
        let limit = table.limit.unwrap_or_else(|| discipline.default_limit());
        let config = Self { limit, discipline };
        config.check().map(|()| config)
    }
}
read_multi_format!(QueueConfig);

impl Serialize for QueueConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.discipline {
            QueueDiscipline::DropTail(_) => self.limit.serialize(serializer),
            discipline => {
                // A limit that no text names is that of a table without one.
                let limit = Some(self.limit).filter(|limit| !matches!(limit, QueueLimit::Cake(_)));
                let table = Table { limit, fields: discipline.to_fields() };
                table.serialize(serializer)
            }
        }
    }
}

impl JsonSchema for QueueConfig {
    fn schema_name() -> Cow<'static, str> {
        "QueueConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Queue in front of the transmitter: a size, or a size with a queue \
                discipline",
            "anyOf": [generator.subschema_for::<QueueLimit>(), generator.subschema_for::<Table>()],
        })
    }
}

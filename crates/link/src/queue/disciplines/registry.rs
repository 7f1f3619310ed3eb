//! Generates the enums of queue disciplines and their queues from the list in `mod.rs`.

use crate::ConfigError;
use crate::fields::{Field, Fields};

/// What scenarios, schema and book know about a discipline.
#[derive(Debug)]
pub(crate) struct Row {
    /// Value of `aqm`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
}

/// Checks that all keys that are set belong to the discipline.
///
/// # Errors
///
/// Returns the first key that does not, with the disciplines that have it.
pub(super) fn check_keys(rows: &[Row], fields: &Fields) -> Result<(), ConfigError> {
    let has = |row: &Row, key: &str| row.fields.iter().any(|field| field.name == key);
    let own = rows.iter().filter(|row| row.name == fields.name());
    let is_own = |key: &str| own.clone().any(|row| has(row, key));
    let Some((key, value)) = fields.iter().find(|(key, _)| !is_own(key)) else { return Ok(()) };
    let others = rows.iter().filter(|row| has(row, key));
    let others: Vec<String> = others.map(|row| format!("aqm = \"{}\"", row.name)).collect();
    Err(ConfigError::refused(
        format!("{key} = {value}"),
        format!("has no effect on a {} queue", fields.name()),
        format!("only with {}", others.join(" or ")),
    ))
}

/// Returns the error that no discipline is called `name`.
pub(super) fn unknown(rows: &[Row], name: &str) -> ConfigError {
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    ConfigError::refused(name, "is not a queue discipline", names.join(", "))
}

/// Lists the queue disciplines: their files and types. The caller imports what the code below
/// names.
macro_rules! queue_disciplines {
    ($($file:ident::$Type:ident),* $(,)?) => {
        $(pub use $file::$Type;)*

        /// Discipline of a queue.
        #[derive(Debug, Clone, PartialEq)]
        pub enum QueueDiscipline {
            $(
                #[doc = concat!("See [`", stringify!($Type), "`].")]
                $Type($Type),
            )*
        }

        $(impl From<$Type> for QueueDiscipline {
            fn from(discipline: $Type) -> Self {
                Self::$Type(discipline)
            }
        })*

        /// The packets that wait in a queue of any discipline.
        #[derive(Debug, Clone)]
        pub(crate) enum DisciplineQueue<P> {
            $($Type(<$Type as Discipline>::Queue<P>),)*
        }

        impl<P> DisciplineQueue<P> {
            /// See [`PacketQueue::enqueue`].
            #[inline]
            pub fn enqueue(
                &mut self,
                now: Time,
                packet: Accepted<P>,
                effects: &mut Effects<P>,
            ) -> Result<(), Refused<P>> {
                match self {
                    $(Self::$Type(queue) => PacketQueue::enqueue(queue, now, packet, effects),)*
                }
            }

            /// See [`PacketQueue::dequeue`].
            #[inline]
            pub fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
                match self {
                    $(Self::$Type(queue) => PacketQueue::dequeue(queue, now, effects),)*
                }
            }

            /// See [`PacketQueue::withdraw`].
            pub fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
                match self {
                    $(Self::$Type(queue) => PacketQueue::withdraw(queue, port),)*
                }
            }

            /// See [`PacketQueue::for_each`].
            pub fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
                match self {
                    $(Self::$Type(queue) => PacketQueue::for_each(queue, see),)*
                }
            }
        }

        impl QueueDiscipline {
            /// All disciplines.
            pub(crate) const ROWS: &'static [Row] = &[$(Row {
                name: <$Type as Discipline>::NAME,
                about: <$Type as Discipline>::ABOUT,
                fields: <$Type as Discipline>::FIELDS,
            },)*];

            /// Creates the discipline that `fields` describes.
            ///
            /// # Errors
            ///
            /// If a key is missing or does not belong to the discipline.
            pub(crate) fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
                check_keys(Self::ROWS, fields)?;
                match fields.name() {
                    $(<$Type as Discipline>::NAME => {
                        <$Type as Discipline>::from_fields(fields).map(Self::$Type)
                    })*
                    name => Err(unknown(Self::ROWS, name)),
                }
            }

            /// Returns the keys that describe the discipline.
            pub(crate) fn to_fields(&self) -> Fields {
                match self {
                    $(Self::$Type(discipline) => Discipline::to_fields(discipline),)*
                }
            }

            pub(crate) fn check(&self) -> Result<(), ConfigError> {
                match self {
                    $(Self::$Type(discipline) => Discipline::check(discipline),)*
                }
            }

            /// See [`Discipline::default_limit`].
            pub(crate) fn default_limit(&self) -> $crate::queue::limit::QueueLimit {
                match self {
                    $(Self::$Type(discipline) => Discipline::default_limit(discipline),)*
                }
            }

            /// Returns the name that scenarios give it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Type(_) => <$Type as Discipline>::NAME,)*
                }
            }

            /// Returns true if two runs with different seeds may treat packets differently.
            pub fn is_random(&self) -> bool {
                match self {
                    $(Self::$Type(discipline) => Discipline::is_random(discipline),)*
                }
            }

            /// See [`Discipline::NEEDS_FLOW`].
            pub(crate) fn needs_flow(&self) -> bool {
                match self {
                    $(Self::$Type(_) => <$Type as Discipline>::NEEDS_FLOW,)*
                }
            }

            /// See [`Discipline::ACTS_ON_DEQUEUE`].
            pub(crate) fn acts_on_dequeue(&self) -> bool {
                match self {
                    $(Self::$Type(_) => <$Type as Discipline>::ACTS_ON_DEQUEUE,)*
                }
            }

            /// See [`Discipline::queue`].
            pub(crate) fn queue<P>(
                &self,
                context: QueueContext,
                random: impl FnOnce() -> Stream,
            ) -> DisciplineQueue<P> {
                match self {
                    $(Self::$Type(discipline) => {
                        DisciplineQueue::$Type(Discipline::queue(discipline, context, random))
                    })*
                }
            }
        }
    };
}
pub(super) use queue_disciplines;

//! Results as tables: columns with name, unit and meaning, for Parquet, Arrow and other formats.
//!
//! [`TABLES`] lists every table. Together they hold every value of `results.json`: lists become
//! tables in long form, with the columns that identify their run, flow and visit.

mod builder;
mod column;
mod flows;
mod runs;
mod statistics;
mod users;

pub use builder::TableBuilder;
pub use column::{Block, Column, Rows, Values};

use crate::document::Results;

/// A table: columns of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<'a> {
    /// Name, which is also that of its file.
    pub name: &'static str,
    /// What a row stands for, in a sentence.
    pub about: &'static str,
    /// Properties of the whole table: scenario, seed, clock, version.
    pub metadata: Vec<(&'static str, String)>,
    /// Columns in order.
    pub columns: Vec<Column<'a>>,
}

impl<'a> Table<'a> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.rows.len())
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column<'a>> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A kind of table, and how to make it.
#[derive(Debug, Clone, Copy)]
pub struct TableKind {
    /// Name, which is also that of its file.
    pub name: &'static str,
    /// What a row stands for, in a sentence.
    pub about: &'static str,
    columns: for<'a> fn(&'a Results) -> Vec<Column<'a>>,
}

impl TableKind {
    /// Makes the table of `results`. It has its columns even if it has no rows.
    pub fn of<'a>(&self, results: &'a Results) -> Table<'a> {
        Table {
            name: self.name,
            about: self.about,
            metadata: results.table_metadata(),
            columns: (self.columns)(results),
        }
    }
}

impl Results {
    /// Returns the metadata of every table: scenario, seed, clock and version.
    pub fn table_metadata(&self) -> Vec<(&'static str, String)> {
        vec![
            ("bentpipe.scenario", self.scenario.clone()),
            ("bentpipe.seed", self.seed.to_string()),
            ("bentpipe.clock", self.clock.name().to_owned()),
            ("bentpipe.version", self.version.clone()),
        ]
    }
}

/// All tables of results.
pub const TABLES: &[TableKind] = &[
    TableKind {
        name: "runs",
        about: "One row for each run, with the fairness of its competing flows.",
        columns: runs::runs,
    },
    TableKind {
        name: "flows",
        about: "One row for each measured visit of each flow of each run.",
        columns: flows::flows,
    },
    TableKind {
        name: "links",
        about: "One row for each direction of each hop of each run.",
        columns: runs::links,
    },
    TableKind {
        name: "objects",
        about: "One row for each object of each measured visit.",
        columns: flows::objects,
    },
    TableKind {
        name: "reverse_bytes",
        about: "One row for each layer of the reverse direction of each measured visit that has \
                bytes of it.",
        columns: flows::reverse_bytes,
    },
    TableKind {
        name: "time_budget",
        about: "One row for each part of the completion time of each measured visit that has time \
                in it.",
        columns: flows::time_budget,
    },
    TableKind {
        name: "episodes",
        about: "One row for each of the longest episodes of each measured visit in which time was \
                lost to one cause.",
        columns: flows::episodes,
    },
    TableKind {
        name: "ack_sizes",
        about: "One row for each size of ACK frames or ACK options of each measured visit.",
        columns: flows::ack_sizes,
    },
    TableKind {
        name: "shares",
        about: "One row for each competing flow of each run, with its share.",
        columns: runs::shares,
    },
    TableKind {
        name: "populations",
        about: "One row for each population or share of users of each run and visit, and one for \
                each size class of it.",
        columns: users::populations,
    },
    TableKind {
        name: "users",
        about: "One row for each visit of each user of a population.",
        columns: users::users,
    },
    TableKind {
        name: "summary",
        about: "One row for each metric of each flow and visit, with statistics over the runs.",
        columns: statistics::summary,
    },
    TableKind {
        name: "expectations",
        about: "One row for each expectation, with its outcome.",
        columns: statistics::expectations,
    },
    TableKind {
        name: "published",
        about: "One row for each published figure and each median that it is compared with.",
        columns: statistics::published,
    },
    TableKind {
        name: "emulation",
        about: "One row for each direction of the emulator in each run on the real clock.",
        columns: runs::emulation,
    },
    TableKind {
        name: "warnings",
        about: "One row for each reason to doubt a run on the real clock.",
        columns: runs::warnings,
    },
];

/// Returns the kind of table called `name`.
pub fn find_table(name: &str) -> Option<&'static TableKind> {
    TABLES.iter().find(|kind| kind.name == name)
}

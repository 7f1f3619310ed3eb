//! Labelled points in time of a run as a table.

use bentpipe_report::{FlowSeries, Mark, Trace};
use bentpipe_results::{Column, Rows, Table, TableBuilder, Values};

/// Returns the labelled points in time of a run's flows, and the phases of their senders.
pub fn marks(trace: &Trace) -> Table<'_> {
    let rows = trace.flows.iter().flat_map(|flow| {
        let marks = flow.marks.iter().map(move |mark| (flow, "mark", mark));
        marks.chain(flow.phases.iter().map(move |phase| (flow, "phase", phase)))
    });
    let rows: Vec<(&FlowSeries, &str, &Mark)> = rows.collect();
    Table {
        name: "marks",
        about: "One row for each labelled point in time of a flow, and for each phase of its \
                sender, which lasts until the next.",
        metadata: Vec::new(),
        columns: TableBuilder::new(rows.into_iter())
            .text("flow", "Name of the flow.", |row| Some(&row.0.name))
            .int("visit", "", "Number of the visit, from 1.", |row| Some(row.0.visit))
            .text("kind", "`mark` or `phase`.", |row| Some(row.1))
            .float("time_s", "s", "Time since the start of the run.", |row| Some(row.2.t_s))
            .text("label", "What happens, or the name of the phase.", |row| Some(&row.2.label))
            .finish(),
    }
}

/// Makes a column.
pub fn column<'a>(
    name: &str,
    unit: &'static str,
    about: &'static str,
    values: Values<'a>,
) -> Column<'a> {
    Column { name: name.to_owned(), unit, about: about.into(), rows: Rows::Each(values) }
}

//! Tables of populations and of their users.

use super::builder::TableBuilder;
use super::column::Column;
use crate::document::Results;
use crate::metrics::POPULATION;
use crate::population::Users;

pub(super) fn populations(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| {
        run.populations.iter().flat_map(move |own| {
            let all = std::iter::once((run, own, None, &own.metrics));
            let classes = own.classes.iter();
            all.chain(
                classes.map(move |class| (run, own, Some(class.name.as_str()), &class.metrics)),
            )
        })
    });
    let table = TableBuilder::new(rows)
        .run(|(run, ..)| run)
        .text("population", "Name of the population or share; `all` for all users.", |row| {
            Some(&row.1.name)
        })
        .int("visit", "", "Number of the visit, from 1.", |(_, own, ..)| Some(own.visit))
        .text("size_class", "Class of the transfers' sizes; null for all of them.", |row| row.2);
    POPULATION
        .iter()
        .fold(table, |table, metric| {
            table.metric("", &metric.row, |(.., metrics)| (metric.read)(metrics))
        })
        .finish()
}

pub(super) fn users(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| {
        run.populations.iter().flat_map(move |own| {
            let users = own.per_user.iter();
            users.flat_map(move |users: &Users| {
                (0..users.user.len()).map(move |index| (run, own, users, index))
            })
        })
    });
    TableBuilder::new(rows)
        .run(|(run, ..)| run)
        .text("population", "Name of the population or share.", |row| Some(&row.1.name))
        .int("visit", "", "Number of the visit, from 1.", |(_, own, ..)| Some(own.visit))
        .int("user", "", "Number of the user in the population, from 0.", |(.., users, at)| {
            users.user.get(at).copied()
        })
        .int("bytes", "bytes", "Application bytes to transfer.", |(.., users, at)| {
            users.bytes.get(at).copied()
        })
        .float("start_s", "s", "Start since the start of the run.", |(.., users, at)| {
            users.start_s.get(at).copied()
        })
        .float("completion_s", "s", "Completion time; null if not completed.", |row| {
            row.2.completion_s.get(row.3).copied().flatten()
        })
        .float(
            "slowdown",
            "",
            "Completion time over its lower bound on the idle path.",
            |(.., users, at)| users.slowdown.get(at).copied().flatten(),
        )
        .int(
            "packets_dropped",
            "packets",
            "Packets that the network dropped or lost.",
            |(.., users, at)| users.packets_dropped.get(at).copied(),
        )
        .float("mos", "", "Mean opinion score of a call; null for other workloads.", |row| {
            row.2.mos.get(row.3).copied().flatten()
        })
        .float("frame_delay_ms", "ms", "Mean delay of the frames of a call.", |row| {
            row.2.frame_delay_ms.get(row.3).copied().flatten()
        })
        .float("stall_percent", "%", "Stalled time of adaptive video.", |row| {
            row.2.stall_percent.get(row.3).copied().flatten()
        })
        .float("bitrate_kbps", "kbps", "Mean bitrate of adaptive video.", |row| {
            row.2.bitrate_kbps.get(row.3).copied().flatten()
        })
        .finish()
}

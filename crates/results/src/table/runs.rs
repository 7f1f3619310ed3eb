//! Tables of runs: fairness, links, and reports of the emulator.

use super::builder::TableBuilder;
use super::column::Column;
use crate::document::Results;
use crate::metrics::{LINK, SHARED};

pub(super) fn runs(results: &Results) -> Vec<Column<'_>> {
    let table = TableBuilder::new(results.runs.iter())
        .run(|run| run)
        .float("fairness.from_s", "s", "Start of the time in which fairness is evaluated.", |run| {
            run.fairness.as_ref().map(|fairness| fairness.from_s)
        })
        .float("fairness.to_s", "s", "End of the time in which fairness is evaluated.", |run| {
            run.fairness.as_ref().map(|fairness| fairness.to_s)
        })
        .float("fairness.warmup_s", "s", "Warm-up before `fairness.from_s`.", |run| {
            run.fairness.as_ref().map(|fairness| fairness.warmup_s)
        });
    SHARED
        .iter()
        .fold(table, |table, metric| {
            table.metric("fairness.", &metric.row, |run| {
                run.fairness.as_ref().and_then(|fairness| (metric.read)(&fairness.metrics))
            })
        })
        .text("fairness.bottleneck", "Link that the flows compete for.", |run| {
            run.fairness.as_ref().and_then(|fairness| fairness.bottleneck.as_deref())
        })
        .finish()
}

pub(super) fn shares(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| {
        let shares = run.fairness.iter().flat_map(|fairness| &fairness.flows);
        shares.map(move |share| (run, share))
    });
    TableBuilder::new(rows)
        .run(|(run, _)| run)
        .text("flow", "Name of the flow.", |(_, share)| Some(&share.flow))
        .float("goodput_mbps", "Mbps", "Goodput in the evaluated time.", |(_, share)| {
            Some(share.goodput_mbps)
        })
        .float("share", "", "Fraction of the bytes that all flows received.", |(_, share)| {
            Some(share.share)
        })
        .finish()
}

pub(super) fn links(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| run.links.iter().map(move |link| (run, link)));
    let table = TableBuilder::new(rows).run(|(run, _)| run).text(
        "link",
        "Name of the link: `HOP/forward` or `HOP/return`.",
        |(_, link)| Some(&link.name),
    );
    LINK.iter()
        .fold(table, |table, metric| {
            table.metric("", &metric.row, |(_, link)| (metric.read)(&link.metrics))
        })
        .finish()
}

pub(super) fn emulation(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| {
        let directions = run.emulation.iter().flat_map(|emulation| &emulation.directions);
        directions.map(move |direction| (run, direction))
    });
    TableBuilder::new(rows)
        .run(|(run, _)| run)
        .text("direction", "`forward` or `return`.", |(_, own)| Some(&own.name))
        .int("packets", "packets", "Packets read.", |(_, own)| Some(own.packets))
        .int(
            "dropped",
            "packets",
            "Packets that the emulator dropped although the path would have carried them.",
            |(_, own)| Some(own.dropped),
        )
        .int(
            "unaccounted",
            "packets",
            "Packets missing from the emulator's accounts.",
            |(_, own)| Some(own.unaccounted),
        )
        .float("late_p50_us", "us", "Median lateness of packets.", |(_, own)| Some(own.late_p50_us))
        .float("late_p99_us", "us", "99th percentile of the lateness.", |(_, own)| {
            Some(own.late_p99_us)
        })
        .float("late_max_us", "us", "Maximum lateness.", |(_, own)| Some(own.late_max_us))
        .bool("realtime", "True if the thread had real-time priority.", |(_, own)| {
            Some(own.realtime)
        })
        .float("cpu_s", "s", "CPU time of the thread.", |(_, own)| Some(own.cpu_s))
        .finish()
}

pub(super) fn warnings(results: &Results) -> Vec<Column<'_>> {
    let rows = results.runs.iter().flat_map(|run| {
        let warnings = run.emulation.iter().flat_map(|emulation| &emulation.warnings);
        warnings.map(move |warning| (run, warning))
    });
    TableBuilder::new(rows)
        .run(|(run, _)| run)
        .text("warning", "Reason to doubt the results of the run.", |(_, warning)| Some(warning))
        .finish()
}

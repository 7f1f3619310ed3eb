//! Tables of flows: metrics, objects, bytes of the reverse direction and sizes of ACKs.

use super::builder::TableBuilder;
use super::column::Column;
use crate::document::Results;
use crate::flow_metrics::flow_metrics;
use crate::reverse::LAYERS;
use crate::run::{Distribution, Flow, Object, Run};
use crate::time_budget::LossTime;

/// One measured visit, with its run.
type Visit<'a> = (&'a Run, &'a Flow);

fn visits(results: &Results) -> impl Iterator<Item = Visit<'_>> {
    results.runs.iter().flat_map(|run| run.flows.iter().map(move |flow| (run, flow)))
}

/// Starts a table with the columns that identify a visit.
fn builder<'a, T: Copy + 'a>(
    rows: impl Iterator<Item = T>,
    visit: impl Fn(T) -> Visit<'a>,
) -> TableBuilder<'a, T> {
    TableBuilder::new(rows)
        .run(|row| visit(row).0)
        .text("flow", "Name of the flow.", |row| Some(&visit(row).1.name))
        .int("visit", "", "Number of the visit, from 1.", |row| Some(visit(row).1.visit))
}

#[expect(clippy::too_many_lines, reason = "a table of columns")]
pub(super) fn flows(results: &Results) -> Vec<Column<'_>> {
    let table = builder(visits(results), |row| row)
        .text(
            "workload",
            "Key of the workload in the scenario, such as `download`.",
            |(_, flow)| Some(&flow.workload),
        )
        .text("transport", "`quic` or `tcp`; otherwise the kind of datagrams.", |(_, flow)| {
            Some(&flow.transport)
        })
        .text("congestion", "Congestion controller; `none` for datagrams.", |(_, flow)| {
            Some(&flow.congestion)
        })
        .int("connections", "", "Number of connections.", |(_, flow)| Some(flow.connections))
        .text("direction", "Direction of the data: `download` or `upload`.", |(_, flow)| {
            Some(flow.direction.name())
        })
        .int(
            "bytes",
            "bytes",
            "Application bytes to transfer; the bytes received if the duration is fixed.",
            |(_, flow)| Some(flow.bytes),
        )
        .bool(
            "completed",
            "True if all bytes arrived, or the fixed duration has passed.",
            |(_, flow)| Some(flow.completed),
        )
        .float(
            "start_s",
            "s",
            "Time of the client's first packet since the start of the run.",
            |(_, flow)| Some(flow.start_s),
        );
    // Those of single streams of calls are in `results.json`.
    let table = flow_metrics()
        .filter(|metric| !metric.is_of_stream())
        .fold(table, |table, metric| table.metric("", &metric.row, |(_, flow)| metric.read(flow)));
    let size = |sizes: &Option<Distribution>, read: fn(&Distribution) -> u32| {
        sizes.as_ref().map(|sizes| u64::from(read(sizes)))
    };
    let frames = |flow: &Flow| flow.ack_frame_bytes.as_ref().map(|sizes| sizes.n);
    let options = |flow: &Flow| flow.ack_option_bytes.as_ref().map(|sizes| sizes.n);
    let options_of = |flow: &Flow, read| size(&flow.ack_option_bytes, read);
    LOSS_TIMES
        .into_iter()
        .fold(table, |table, (name, about, read)| {
            table.float(name, "s", about, |(_, flow)| {
                Some(read(&flow.loss_time)).filter(|seconds| *seconds > 0.0)
            })
        })
        .int("ack_frame_bytes.n", "", "Number of ACK frames; QUIC only.", |(_, flow)| frames(flow))
        .int("ack_option_bytes.n", "", "Number of pure ACKs; TCP only.", |(_, flow)| options(flow))
        .int(
            "ack_option_bytes.min",
            "bytes",
            "Size of the smallest options of a pure ACK; TCP only.",
            |(_, flow)| options_of(flow, |sizes| sizes.min),
        )
        .int(
            "ack_option_bytes.median",
            "bytes",
            "Median size of the options of pure ACKs; TCP only.",
            |(_, flow)| options_of(flow, |sizes| sizes.median),
        )
        .int(
            "ack_option_bytes.p99",
            "bytes",
            "99th percentile of the size of the options of pure ACKs; TCP only.",
            |(_, flow)| options_of(flow, |sizes| sizes.p99),
        )
        .int(
            "ack_option_bytes.max",
            "bytes",
            "Size of the largest options of a pure ACK; TCP only.",
            |(_, flow)| options_of(flow, |sizes| sizes.max),
        )
        .bool(
            "path.retreated",
            "True if the use of the saved path caused congestion.",
            |(_, flow)| flow.path.retreated,
        )
        .text("path.token", "Outcome of the client's token.", |(_, flow)| {
            flow.path.token.as_deref()
        })
        .text("error", "Why the visit ended early.", |(_, flow)| flow.error.as_deref())
        .finish()
}

/// Columns of what losses cost: name, meaning and value.
type LossColumn = (&'static str, &'static str, fn(&LossTime) -> f64);
const LOSS_TIMES: [LossColumn; 5] = [
    ("loss_time.channel_s", "Time that losses by loss processes of links cost.", |of| of.channel_s),
    ("loss_time.queue_s", "Time that drops by full or managed queues cost.", |of| of.queue_s),
    ("loss_time.policer_s", "Time that drops by policers cost.", |of| of.policer_s),
    ("loss_time.routing_s", "Time that losses in handovers cost.", |of| of.routing_s),
    ("loss_time.reverse_s", "The part of these of the reverse direction.", |of| of.reverse_s),
];

pub(super) fn objects(results: &Results) -> Vec<Column<'_>> {
    let rows = visits(results)
        .flat_map(|visit| visit.1.objects.iter().map(move |object: &Object| (visit, object)));
    builder(rows, |(visit, _)| visit)
        .text("object", "Name of the object.", |(_, object)| Some(&object.name))
        .int("bytes", "bytes", "Size of the object.", |(_, object)| Some(object.bytes))
        .float("start_s", "s", "Time of the request since the visit's first packet.", |row| {
            Some(row.1.start_s)
        })
        .float(
            "completion_s",
            "s",
            "Time of completion since the visit's first packet.",
            |(_, object)| object.completion_s,
        )
        .finish()
}

pub(super) fn reverse_bytes(results: &Results) -> Vec<Column<'_>> {
    let rows = visits(results).flat_map(|visit| {
        let bytes = visit.1.reverse_bytes;
        let layers = LAYERS.iter().map(move |layer| (visit, layer.name, (layer.read)(&bytes)));
        layers.filter(|(_, _, bytes)| *bytes > 0)
    });
    builder(rows, |(visit, ..)| visit)
        .text("layer", "Layer. `quic` is the sum of its parts.", |(_, layer, _)| Some(layer))
        .int("bytes", "bytes", "Bytes of the layer.", |(.., bytes)| Some(bytes))
        .finish()
}

pub(super) fn time_budget(results: &Results) -> Vec<Column<'_>> {
    let rows = visits(results).flat_map(|visit| {
        let budget = visit.1.time_budget;
        let parts = budget.into_iter().flat_map(move |budget| {
            budget.parts().map(move |(part, seconds)| (visit, part.name(), seconds))
        });
        parts.filter(|(.., seconds)| *seconds > 0.0)
    });
    builder(rows, |(visit, ..)| visit)
        .text("part", "What the time was spent on.", |(_, part, _)| Some(part))
        .float("time_s", "s", "Time of the part.", |(.., seconds)| Some(seconds))
        .finish()
}

pub(super) fn episodes(results: &Results) -> Vec<Column<'_>> {
    let rows =
        visits(results).flat_map(|visit| visit.1.episodes.iter().map(move |found| (visit, found)));
    builder(rows, |(visit, _)| visit)
        .text("part", "What the time was spent on.", |(_, found)| Some(&found.part))
        .float("from_s", "s", "Beginning since the visit's first packet.", |row| Some(row.1.from_s))
        .float("to_s", "s", "End since the visit's first packet.", |row| Some(row.1.to_s))
        .float("time_s", "s", "Time spent on the part in between.", |row| Some(row.1.time_s))
        .finish()
}

pub(super) fn ack_sizes(results: &Results) -> Vec<Column<'_>> {
    let rows = visits(results).flat_map(|visit| {
        let flow = visit.1;
        let kinds = [
            ("ack_frame_bytes", &flow.ack_frame_bytes),
            ("ack_option_bytes", &flow.ack_option_bytes),
        ];
        kinds.into_iter().flat_map(move |(kind, sizes)| {
            let counts = sizes.iter().flat_map(|sizes| &sizes.counts);
            counts.map(move |(size, count)| (visit, kind, *size, *count))
        })
    });
    builder(rows, |(visit, ..)| visit)
        .text(
            "kind",
            "`ack_frame_bytes`: ACK frames (QUIC); `ack_option_bytes`: options of pure ACKs (TCP).",
            |(_, kind, ..)| Some(kind),
        )
        .int(
            "size",
            "bytes",
            "Size; from 256 on, a power of two stands for the sizes up to the next power.",
            |(_, _, size, _)| Some(size),
        )
        .int("count", "", "Number of ACKs of this size.", |(.., count)| Some(count))
        .finish()
}

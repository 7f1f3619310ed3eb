//! `bentpipe contacts`: contact plans, and when data can arrive over them at the earliest.

use crate::args::Contacts;
use crate::output;
use crate::tables::{Align, Table};
use bentpipe_lab::LabError;
use bentpipe_orbit::contacts::{
    self, Contact, ContactError, ContactPlan, Exchange, Route, delay_steps, hop_name, rate_steps,
    wire_bytes,
};
use bentpipe_units::{Bytes, Span, Time};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// IP packets of 1500 bytes, as scenarios have by default.
const PACKET: Bytes = Bytes::new(1500);
/// A request in the least IP packet: headers of 48 bytes and a dozen of its own.
const REQUEST: Bytes = Bytes::new(60);
/// Largest file that is read: foreign input, far above a million contacts.
const MAX_FILE: u64 = 256 << 20;

/// Prints the contacts, or what a route over them allows.
pub fn run(args: &Contacts) -> Result<u8, LabError> {
    let plan = read(args)?;
    let (Some(from), Some(to)) = (&args.from, &args.to) else {
        return if args.json {
            output::document(&output::pretty(&links(&plan)))
        } else {
            output::print(&table(&plan).fitted(output::Look::stdout()))
        };
    };
    let at = Time::ZERO + args.at;
    let usage = |error: ContactError| LabError::Usage {
        argument: "--from, --to",
        reason: error.to_string(),
    };
    let nodes = if args.via.is_empty() {
        plan.earliest_arrival(from, to, at, PACKET).map_err(usage)?.1
    } else {
        let ends = args.via.first().zip(args.via.last());
        if ends != Some((from, to)) {
            let reason = format!("its ends have to be `{from}` and `{to}`");
            return Err(LabError::Usage { argument: "--via", reason });
        }
        args.via.clone()
    };
    let there = Route::new(&plan, &nodes).map_err(usage)?;
    let reverse: Vec<String> = nodes.iter().rev().cloned().collect();
    let back = Route::new(&plan, &reverse).map_err(usage)?;
    if args.path {
        return output::document(&hops(&there, &back));
    }
    let sizes = (REQUEST, wire_bytes(args.size, PACKET));
    let times = there.exchange(&back, at, sizes, PACKET, args.early_data).map_err(usage)?;
    if args.json {
        output::document(&output::pretty(&exchange(&there, &back, at, times)))
    } else {
        output::print(&text(&there, &back, at, times, args))
    }
}

/// Reads the plan.
fn read(args: &Contacts) -> Result<ContactPlan, LabError> {
    let text = content(&args.plan)?;
    let events = args.events.as_deref().map(content).transpose()?;
    contacts::read(&text, events.as_deref()).map_err(|error| LabError::read(&args.plan, error))
}

fn content(file: &Path) -> Result<String, LabError> {
    let length = file.metadata().map_err(|error| LabError::read(file, error))?.len();
    if length > MAX_FILE {
        return Err(LabError::read(file, format!("{length} bytes; allowed: {MAX_FILE}")));
    }
    std::fs::read_to_string(file).map_err(|error| LabError::read(file, error))
}

/// Returns the contacts of each link of `plan`, in the order of its nodes.
fn by_link(plan: &ContactPlan) -> impl Iterator<Item = &[Contact]> {
    plan.contacts().chunk_by(|a, b| (&a.from, &a.to) == (&b.from, &b.to))
}

/// Returns the longest gap between two contacts of a link.
fn gap(contacts: &[Contact]) -> Span {
    let gaps = contacts.windows(2).map(|pair| pair[1].start.since(pair[0].end));
    gaps.max().unwrap_or_default()
}

fn table(plan: &ContactPlan) -> Table {
    let mut table = Table::new(&[
        ("link", Align::Left),
        ("contacts", Align::Right),
        ("first", Align::Right),
        ("last ends", Align::Right),
        ("longest gap", Align::Right),
        ("rate", Align::Right),
        ("delay", Align::Right),
        ("capacity", Align::Right),
    ]);
    for contacts in by_link(plan) {
        let (first, last) = (&contacts[0], &contacts[contacts.len() - 1]);
        let bytes = contacts.iter().fold(Bytes::ZERO, |sum, one| {
            Bytes::new(sum.get().saturating_add(one.capacity().get()))
        });
        table.row([
            format!("{} → {}", first.from, first.to),
            contacts.len().to_string(),
            clock(first.start.since_start()),
            if last.is_open() { "–".to_owned() } else { clock(last.end.since_start()) },
            clock(gap(contacts)),
            first.rate.to_string(),
            clock(first.delay),
            if last.is_open() { "–".to_owned() } else { bytes.to_string() },
        ]);
    }
    table
}

fn links(plan: &ContactPlan) -> Value {
    let links = by_link(plan).map(|contacts| {
        let each = contacts.iter().map(|one| {
            json!({
                "start_s": one.start.as_secs_f64(),
                "end_s": (!one.is_open()).then(|| one.end.as_secs_f64()),
                "rate_bps": one.rate.as_bps(),
                "delay_s": one.delay.as_secs_f64(),
            })
        });
        json!({
            "from": contacts[0].from,
            "to": contacts[0].to,
            "longest_gap_s": gap(contacts).as_secs_f64(),
            "contacts": each.collect::<Vec<_>>(),
        })
    });
    json!({ "nodes": plan.nodes(), "links": links.collect::<Vec<_>>() })
}

fn exchange(there: &Route<'_>, back: &Route<'_>, at: Time, times: Exchange) -> Value {
    json!({
        "route": there.nodes(),
        "longest_gap_s": there.longest_gap().max(back.longest_gap()).as_secs_f64(),
        "at_s": at.as_secs_f64(),
        "connected_s": times.connected.as_secs_f64(),
        "requested_s": times.requested.as_secs_f64(),
        "first_byte_s": times.first.as_secs_f64(),
        "last_byte_s": times.last.as_secs_f64(),
        "completion_s": times.last.since(at).as_secs_f64(),
    })
}

fn text(there: &Route<'_>, back: &Route<'_>, at: Time, times: Exchange, args: &Contacts) -> String {
    let mut text = format!("route: {}\n", there.nodes().join(" → "));
    let gap = there.longest_gap().max(back.longest_gap());
    let _ = writeln!(text, "longest gap of a link: {}\n", clock(gap));
    let steps = [
        ("the client starts", at),
        ("connected", times.connected),
        ("the request arrives", times.requested),
        ("the first packet arrives", times.first),
        ("the last byte arrives", times.last),
    ];
    for (what, when) in
        steps.into_iter().filter(|(what, _)| !(args.early_data && *what == "connected"))
    {
        let seconds = when.as_secs_f64();
        let _ = writeln!(text, "{what:<26}{seconds:>16.3} s  {}", clock(when.since_start()));
    }
    let took = times.last.since(at);
    let _ = writeln!(
        text,
        "\nNo transport can bring {} sooner than {:.3} s after its start ({}).",
        args.size,
        took.as_secs_f64(),
        clock(took)
    );
    text
}

/// Writes a span with days if it is long: `5 d 10:04:18`.
fn clock(span: Span) -> String {
    let seconds = span.as_nanos() / 1_000_000_000;
    if seconds < 7200 {
        return format!("{} s", seconds_text(span.as_nanos()));
    }
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let time = format!("{:02}:{:02}:{:02}", rest / 3600, rest % 3600 / 60, rest % 60);
    if days == 0 { time } else { format!("{days} d {time}") }
}

/// Writes nanoseconds as seconds, without zeros at the end.
fn seconds_text(nanos: u64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes the hops of a scenario, from the client to the server.
fn hops(there: &Route<'_>, back: &Route<'_>) -> String {
    let mut text = String::new();
    let count = there.hops().len();
    for (index, up) in there.hops().iter().enumerate() {
        let down = back.hops()[count - 1 - index];
        let name = hop_name(index + 1, &up[0].from, &up[0].to);
        let _ = writeln!(text, "[[path.hop]]\nname = \"{name}\"\n");
        for (name, contacts) in [("forward", down), ("return", *up)] {
            let _ = writeln!(text, "[path.hop.{name}]\nrate = {}", rate(contacts));
            let _ = writeln!(text, "delay = {}\nqueue = \"1 GB\"\n", delay(contacts));
        }
    }
    text
}

/// Returns the rate as a schedule, with 0 outside of contacts.
fn rate(contacts: &[Contact]) -> String {
    let steps = rate_steps(contacts);
    if let [(Time::ZERO, rate)] = steps.as_slice() {
        return format!("\"{} bps\"", rate.as_bps());
    }
    let steps = steps.iter().map(|(at, rate)| {
        let at = seconds_text(at.as_nanos());
        format!("{{ at = \"{at} s\", rate = \"{} bps\" }}", rate.as_bps())
    });
    format!("{{ schedule = [{}] }}", steps.collect::<Vec<_>>().join(", "))
}

/// Returns the delay, as a schedule if it changes.
fn delay(contacts: &[Contact]) -> String {
    let steps = delay_steps(contacts);
    if let [(_, delay)] = steps.as_slice() {
        return format!("\"{} s\"", seconds_text(delay.as_nanos()));
    }
    let steps = steps.iter().map(|(at, delay)| {
        let (at, delay) = (seconds_text(at.as_nanos()), seconds_text(delay.as_nanos()));
        format!("{{ at = \"{at} s\", delay = \"{delay} s\" }}")
    });
    format!("{{ schedule = [{}] }}", steps.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_becomes_hops_with_schedules() {
        let plan = "a contact +10 +20 e m 1000\na contact +30 +40 e m 1000\n\
                    a contact +0 +40 m e 2000\na range +0 +25 e m 600\na range +25 +99 e m 601.5\n";
        let plan = contacts::ion::parse(plan).unwrap();
        let nodes = |names: [&str; 2]| names.map(str::to_owned);
        let there = Route::new(&plan, &nodes(["e", "m"])).unwrap();
        let back = Route::new(&plan, &nodes(["m", "e"])).unwrap();
        let text = hops(&there, &back);
        let table: toml::Table = text.parse().unwrap();
        let hop = &table["path"]["hop"][0];
        assert_eq!(hop["name"].as_str(), Some("1-e-m"));
        assert_eq!(hop_name(2, "DSN", "Mars Orbiter"), "2-dsn-mars-orbiter");
        let rates = hop["return"]["rate"]["schedule"].as_array().unwrap();
        let read: Vec<_> = rates
            .iter()
            .map(|step| (step["at"].as_str().unwrap(), step["rate"].as_str().unwrap()))
            .collect();
        let expected = [
            ("0 s", "0 bps"),
            ("10 s", "8000 bps"),
            ("20 s", "0 bps"),
            ("30 s", "8000 bps"),
            ("40 s", "0 bps"),
        ];
        assert_eq!(read, expected);
        let delays = hop["return"]["delay"]["schedule"].as_array().unwrap();
        assert_eq!(delays[0]["at"].as_str(), Some("0 s"));
        assert_eq!(delays[1]["delay"].as_str(), Some("601.5 s"));
        // The other way has one contact, in two pieces that differ in their delay alone.
        let rates = hop["forward"]["rate"]["schedule"].as_array().unwrap();
        assert_eq!(rates.len(), 2);
    }

    #[test]
    fn long_spans_have_days() {
        assert_eq!(clock(Span::from_millis(1500)), "1.5 s");
        assert_eq!(clock(Span::from_secs(7325)), "02:02:05");
        assert_eq!(clock(Span::from_secs(468_258)), "5 d 10:04:18");
    }
}

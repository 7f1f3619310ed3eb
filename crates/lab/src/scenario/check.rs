//! What the types cannot refuse: names that name nothing, keys that exclude each other, values that make no sense
//! together. Every problem is reported at its own place.

use super::{Expect, PepSection, PointFilter, Scenario, Transport, VisitSection, Workload, datagrams};
use crate::error::{Problem, quoted};
use crate::fairness::{self, ALL_FLOWS};
use crate::results::METRICS;
use crate::return_path::LayerMetric;
use crate::scenario::document::{Axis, plain_text};
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_units::{Bytes, Span};
use serde_spanned::Spanned;
use std::ops::Range;

/// IPv4 and UDP headers.
pub(crate) const HEADERS: u64 = 28;
/// Smallest UDP payload that QUIC may use (RFC 9000 §14).
const SMALLEST_PAYLOAD: u64 = 1200;

type Check = Result<(), Problem>;

/// Refuses a scenario that parses but cannot be run.
pub(crate) fn check(scenario: &Scenario, axes: &[Axis<'_>]) -> Check {
    name(&scenario.name, "scenario")?;
    between("repeat", &scenario.repeat, 1, 100_000)?;
    above_zero("time_limit", &scenario.time_limit)?;
    path(scenario)?;
    super::orbit_check::orbit(scenario)?;
    work(scenario)?;
    let mtu = scenario.path.get_ref().mtu.get_ref().get();
    transport(&scenario.defaults, mtu)?;
    datagrams::only_flows(&scenario.defaults)?;
    unique("variant", scenario.variant.iter().map(|variant| &variant.get_ref().name))?;
    for variant in &scenario.variant {
        let keys = variant.get_ref().transport_keys();
        transport(&keys, mtu)?;
        datagrams::only_flows(&keys)?;
    }
    for expect in &scenario.expect {
        self::expect(scenario, axes, expect)?;
    }
    for published in &scenario.published {
        let published = published.get_ref();
        metric(scenario, &published.metric, published.flow.as_ref())?;
        variant(scenario, published.variant.as_ref())?;
        point(axes, &published.point)?;
    }
    capture(scenario)
}

fn name(name: &Spanned<String>, what: &str) -> Check {
    let text = name.get_ref();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '+');
    if text.is_empty() || text.len() > 64 || !text.chars().all(allowed) || text.starts_with('.') {
        return Err(Problem::new(
            name.span(),
            format!(
                "`{text}` is no name for a {what}; allowed: 1 to 64 lower-case letters, digits, `-`, `+` and `.`, the first no `.`"
            ),
        ));
    }
    Ok(())
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a Spanned<String>>) -> Check {
    let mut seen: Vec<&str> = Vec::new();
    for spanned in names {
        name(spanned, what)?;
        if seen.contains(&spanned.get_ref().as_str()) {
            let message =
                format!("a {what} named `{}` stands above already; allowed: each name once", spanned.get_ref());
            return Err(Problem::new(spanned.span(), message));
        }
        seen.push(spanned.get_ref());
    }
    Ok(())
}

fn between(key: &str, value: &Spanned<u64>, low: u64, high: u64) -> Check {
    if (low..=high).contains(value.get_ref()) {
        return Ok(());
    }
    Err(Problem::new(value.span(), format!("`{key}` of {value} is out of range; allowed: {low} to {high}")))
}

pub(super) fn above_zero(key: &str, value: &Spanned<Span>) -> Check {
    if !value.get_ref().is_zero() {
        return Ok(());
    }
    Err(Problem::new(value.span(), format!("`{key}` of {value} is no time at all; allowed: above 0 s")))
}

fn path(scenario: &Scenario) -> Check {
    let path = scenario.path.get_ref();
    let terminals = Spanned::new(path.terminals.span(), *path.terminals.get_ref() as u64);
    between("terminals", &terminals, 1, 1000)?;
    let mtu = path.mtu.get_ref().get();
    let smallest = SMALLEST_PAYLOAD + HEADERS;
    if !(smallest..=65_535).contains(&mtu) {
        return Err(Problem::new(
            path.mtu.span(),
            format!("an `mtu` of {} carries no QUIC; allowed: {smallest} B to 65535 B", path.mtu),
        ));
    }
    if let Some(pep) = &path.pep {
        self::pep(scenario, pep.get_ref())?;
    }
    if path.hop.is_empty() {
        let fixed = [("forward", &path.forward), ("return", &path.reverse)];
        let with_delay =
            fixed.iter().find(|(_, patch)| patch.as_ref().is_some_and(|patch| patch.get_ref().delay.is_some()));
        return match (&path.rtt, with_delay) {
            (Some(rtt), Some((direction, _))) => Err(Problem::new(
                rtt.span(),
                format!(
                    "`rtt` sets the delay of both directions, and `{direction}.delay` does too; allowed: one of the two"
                ),
            )),
            _ => Ok(()),
        };
    }
    let beside = [
        ("profile", path.profile.as_ref().map(Spanned::span)),
        ("forward", path.forward.as_ref().map(Spanned::span)),
        ("return", path.reverse.as_ref().map(Spanned::span)),
        ("rtt", path.rtt.as_ref().map(Spanned::span)),
    ];
    if let Some((key, Some(span))) = beside.into_iter().find(|(_, span)| span.is_some()) {
        return Err(Problem::new(
            span,
            format!("`path.{key}` says nothing where the path has hops; allowed: `{key}` inside a [[path.hop]]"),
        ));
    }
    unique("hop", path.hop.iter().map(|hop| &hop.get_ref().name))
}

fn work(scenario: &Scenario) -> Check {
    match (&scenario.workload, scenario.flow.as_slice()) {
        (None, []) => {
            return Err(Problem::new(
                scenario.name.span(),
                "the scenario transfers nothing; allowed: a [workload], or one or more [[flow]]s",
            )
            .help("[workload]\ndownload = \"10 MB\""));
        }
        (Some(_), [flow, ..]) => {
            return Err(Problem::new(flow.span(), "a [[flow]] stands beside [workload]; allowed: one of the two"));
        }
        (Some(work), []) => workload(work.get_ref(), work.span(), *scenario.time_limit.get_ref())?,
        (None, flows) => {
            unique("flow", flows.iter().map(|flow| &flow.get_ref().name))?;
            for flow in flows {
                let limit = *scenario.time_limit.get_ref();
                workload(&flow.get_ref().workload_keys(), flow.span(), limit)?;
                datagrams::check(flow)?;
                if flow.get_ref().name.get_ref() == ALL_FLOWS {
                    let message = format!("`{ALL_FLOWS}` stands for all flows together; allowed: any other name");
                    return Err(Problem::new(flow.get_ref().name.span(), message));
                }
                transport(&flow.get_ref().transport_keys(), scenario.path.get_ref().mtu.get_ref().get())?;
                crossed(scenario, flow.get_ref())?;
                if let Some(terminal) = &flow.get_ref().terminal {
                    let terminals = *scenario.path.get_ref().terminals.get_ref();
                    let number = Spanned::new(terminal.span(), *terminal.get_ref() as u64);
                    between("terminal", &number, 0, terminals.saturating_sub(1) as u64)?;
                }
            }
        }
    }
    Ok(())
}

fn workload(work: &Workload, span: Range<usize>, limit: Span) -> Check {
    let given = [
        ("download", work.download.is_some()),
        ("upload", work.upload.is_some()),
        ("objects", work.objects.is_some()),
        ("page", work.page.is_some()),
        ("lasts", work.lasts.is_some()),
        ("visits", work.visits.is_some()),
    ];
    one_of(&given, span, "nothing is transferred here")?;
    page(work.page.as_ref())?;
    lasts(work.lasts.as_ref(), limit)?;
    let directed = work.lasts.is_some();
    transfer(work.download.as_ref(), work.upload.as_ref(), work.objects.as_ref(), work.direction.as_ref(), directed)?;
    let Some(visits) = &work.visits else { return Ok(()) };
    if let Some(wait) = &work.wait {
        return Err(Problem::new(wait.span(), "`wait` stands beside `visits`; allowed: a `wait` in each visit"));
    }
    for (index, visit) in visits.get_ref().iter().enumerate() {
        self::visit(visit.get_ref(), visit.span(), index == 0, limit)?;
    }
    if visits.get_ref().iter().all(|visit| visit.get_ref().report == Some(false)) {
        return Err(Problem::new(visits.span(), "no visit is reported; allowed: one or more without `report = false`"));
    }
    Ok(())
}

fn visit(visit: &VisitSection, span: Range<usize>, first: bool, limit: Span) -> Check {
    let given = [
        ("download", visit.download.is_some()),
        ("upload", visit.upload.is_some()),
        ("objects", visit.objects.is_some()),
        ("page", visit.page.is_some()),
        ("lasts", visit.lasts.is_some()),
    ];
    one_of(&given, span, "nothing is transferred here")?;
    page(visit.page.as_ref())?;
    lasts(visit.lasts.as_ref(), limit)?;
    let directed = visit.lasts.is_some();
    transfer(
        visit.download.as_ref(),
        visit.upload.as_ref(),
        visit.objects.as_ref(),
        visit.direction.as_ref(),
        directed,
    )?;
    match &visit.handshake {
        Some(handshake) if first && *handshake.get_ref() == Handshake::ZeroRtt => Err(Problem::new(
            handshake.span(),
            "the first visit has no ticket yet for `0rtt`; allowed: `1rtt`, or a visit before it",
        )),
        _ => Ok(()),
    }
}

fn page(objects: Option<&Spanned<u64>>) -> Check {
    objects.map_or(Ok(()), |objects| between("page", objects, 1, 1000))
}

fn lasts(lasts: Option<&Spanned<Span>>, limit: Span) -> Check {
    let Some(lasts) = lasts else { return Ok(()) };
    above_zero("lasts", lasts)?;
    if *lasts.get_ref() <= limit {
        return Ok(());
    }
    let message = format!("what lasts {lasts} is given up before, at the `time_limit`; allowed: up to {limit}");
    Err(Problem::new(lasts.span(), message).help("time_limit, at the top of the file, can be longer"))
}

/// The hops that a flow crosses, if it says so: two that the path has, in its order.
fn crossed(scenario: &Scenario, flow: &super::Flow) -> Check {
    let Some(given) = &flow.hops else { return Ok(()) };
    let names: Vec<&str> =
        scenario.path.get_ref().hop.iter().map(|hop| hop.get_ref().name.get_ref().as_str()).collect();
    for hop in given.get_ref() {
        known("hop", Some(hop), &names)?;
    }
    let place = |hop: &Spanned<String>| names.iter().position(|name| name == hop.get_ref());
    match given.get_ref().as_slice() {
        [first, last] if place(first) <= place(last) => {}
        _ => {
            let message = "a flow crosses the hops from one to another; allowed: [first, last], in the path's order from the client";
            return Err(Problem::new(given.span(), message));
        }
    }
    match &flow.pep {
        Some(pep) => Err(Problem::new(pep.span(), "`pep` stands beside `hops`; allowed: a proxy on the whole path")),
        None => Ok(()),
    }
}

pub(super) fn one_of(given: &[(&str, bool)], span: Range<usize>, none: &str) -> Check {
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    match found.len() {
        1 => Ok(()),
        0 => Err(Problem::new(span, format!("{none}; allowed: one of {}", quoted(&names)))),
        _ => Err(Problem::new(span, format!("{} stand together; allowed: one of {}", quoted(&found), quoted(&names)))),
    }
}

fn transfer(
    download: Option<&Spanned<Bytes>>,
    upload: Option<&Spanned<Bytes>>,
    objects: Option<&Spanned<Vec<super::Object>>>,
    direction: Option<&Spanned<super::Direction>>,
    directed: bool,
) -> Check {
    for size in [download, upload].into_iter().flatten() {
        size_above_zero(size)?;
    }
    if let (Some(direction), None, false) = (direction, objects, directed) {
        return Err(Problem::new(
            direction.span(),
            "`direction` belongs to `objects` and `lasts`; allowed here: `download` or `upload`",
        ));
    }
    let Some(objects) = objects else { return Ok(()) };
    if objects.get_ref().is_empty() {
        return Err(Problem::new(
            objects.span(),
            "the list holds no object; allowed: one or more, { name = \"page\", size = \"1 MB\" }",
        ));
    }
    let mut names: Vec<&str> = Vec::new();
    for object in objects.get_ref() {
        size_above_zero(&object.size)?;
        if names.contains(&object.name.as_str()) {
            let message =
                format!("an object named `{}` stands in this list already; allowed: each name once", object.name);
            return Err(Problem::new(object.size.span(), message));
        }
        names.push(&object.name);
    }
    // Only what stands above: so nothing can wait for itself.
    for (index, object) in objects.get_ref().iter().enumerate() {
        for after in &object.after {
            if !names[..index].contains(&after.get_ref().as_str()) {
                let above = names[..index].iter().copied();
                return Err(Problem::not_one_of(after.span(), "object above this one", after.get_ref(), above));
            }
        }
    }
    Ok(())
}

fn size_above_zero(size: &Spanned<Bytes>) -> Check {
    if !size.get_ref().is_zero() {
        return Ok(());
    }
    Err(Problem::new(size.span(), format!("{size} transfers nothing; allowed: a size above 0 B, such as \"10 MB\"")))
}

fn transport(keys: &Transport, mtu: u64) -> Check {
    if let Some(rtt) = &keys.initial_rtt {
        above_zero("initial_rtt", rtt)?;
    }
    if let Some(window) = &keys.initial_window {
        between("initial_window", window, 1, 10_000)?;
    }
    if let Some(connections) = &keys.connections {
        between("connections", connections, 1, 64)?;
    }
    for window in [&keys.window_first, &keys.window_most].into_iter().flatten() {
        size_above_zero(window)?;
    }
    if let Some(after) = keys.credit_after.as_ref().filter(|after| after.get_ref().is_zero()) {
        let message = "`credit_after` of 0 would announce every byte; allowed: above 0, up to 1 or \"100 %\"";
        return Err(Problem::new(after.span(), message));
    }
    if let Some(every) = &keys.credit_every {
        above_zero("credit_every", every)?;
    }
    keys.spoken()?;
    parameters(keys.parameters.as_ref())?;
    if let Some(payload) = &keys.initial_mtu {
        let largest = mtu.saturating_sub(HEADERS);
        if !(SMALLEST_PAYLOAD..=largest).contains(&payload.get_ref().get()) {
            return Err(Problem::new(
                payload.span(),
                format!(
                    "an `initial_mtu` of {payload} does not fit; allowed: {SMALLEST_PAYLOAD} B to {largest} B (path.mtu less {HEADERS})"
                ),
            ));
        }
    }
    Ok(())
}

/// Parameters of parts that exist, in their ranges.
fn parameters(given: Option<&Spanned<Parameters>>) -> Check {
    let Some(given) = given else { return Ok(()) };
    let congestion = CongestionConfig { parameters: given.get_ref().clone(), ..CongestionConfig::default() };
    congestion.factory().map(drop).map_err(|error| Problem::new(given.span(), error.to_string()))
}

/// The names of all variants; one unnamed variant is called `default`.
pub(crate) fn variant_names(scenario: &Scenario) -> Vec<&str> {
    if scenario.variant.is_empty() {
        return vec!["default"];
    }
    scenario.variant.iter().map(|variant| variant.get_ref().name.get_ref().as_str()).collect()
}

/// The names of all flows; the one of `[workload]` is called `main`.
pub(crate) fn flow_names(scenario: &Scenario) -> Vec<&str> {
    if scenario.flow.is_empty() {
        return vec!["main"];
    }
    scenario.flow.iter().map(|flow| flow.get_ref().name.get_ref().as_str()).collect()
}

fn known(what: &str, given: Option<&Spanned<String>>, allowed: &[&str]) -> Check {
    match given {
        Some(name) if !allowed.contains(&name.get_ref().as_str()) => {
            Err(Problem::not_one_of(name.span(), what, name.get_ref(), allowed.iter().copied()))
        }
        _ => Ok(()),
    }
}

fn variant(scenario: &Scenario, given: Option<&Spanned<String>>) -> Check {
    known("variant", given, &variant_names(scenario))
}

/// A metric of one flow, or one of all of them together.
fn metric(scenario: &Scenario, given: &Spanned<String>, flow: Option<&Spanned<String>>) -> Check {
    let together: Vec<&str> = fairness::METRICS.iter().map(|(name, _)| *name).collect();
    let each = METRICS.iter().map(|(name, _)| *name);
    if together.contains(&given.get_ref().as_str()) {
        return known("flow with a metric of fairness", flow, &[ALL_FLOWS]);
    }
    match flow {
        Some(flow) if flow.get_ref() == ALL_FLOWS => {
            Err(Problem::not_one_of(given.span(), "metric of all flows together", given.get_ref(), together))
        }
        _ => {
            let layers: Vec<String> = LayerMetric::names().collect();
            let all = each.chain(layers.iter().map(String::as_str)).chain(together);
            known("metric", Some(given), &all.collect::<Vec<_>>())?;
            known("flow", flow, &flow_names(scenario))
        }
    }
}

fn point(axes: &[Axis<'_>], filter: &PointFilter) -> Check {
    for (key, value) in filter {
        let Some(axis) = axes.iter().find(|axis| axis.key == *key.get_ref()) else {
            let keys = axes.iter().map(|axis| axis.key.as_str());
            return Err(Problem::not_one_of(key.span(), "swept key", key.get_ref(), keys));
        };
        let text = plain_text(value.get_ref());
        if !axis.known.contains(&text) {
            let values: Vec<&str> = axis.known.iter().map(String::as_str).collect();
            return Err(Problem::new(
                value.span(),
                format!("`{}` is never `{text}` in this sweep; allowed: {}", axis.key, quoted(&values)),
            ));
        }
    }
    Ok(())
}

fn expect(scenario: &Scenario, axes: &[Axis<'_>], spanned: &Spanned<Expect>) -> Check {
    let expect = spanned.get_ref();
    metric(scenario, &expect.metric, expect.flow.as_ref())?;
    variant(scenario, expect.variant.as_ref())?;
    variant(scenario, expect.ratio_to.as_ref())?;
    point(axes, &expect.point)?;
    let bounds = expect.below.is_some() || expect.above.is_some();
    let allowed = "allowed: `below`, `above` or both, with `ratio_to` if you like; or `within` with `published`";
    match (bounds, &expect.within, &expect.published) {
        (true, None, None) | (false, Some(_), Some(_)) if expect.within.is_none() || expect.ratio_to.is_none() => {}
        (false, None, None) => {
            return Err(Problem::new(spanned.span(), format!("nothing is expected here; {allowed}")));
        }
        _ => return Err(Problem::new(spanned.span(), format!("these conditions do not go together; {allowed}"))),
    }
    match &expect.published {
        Some(published) if *published.get_ref() == 0.0 || !published.get_ref().is_finite() => {
            Err(Problem::new(published.span(), "nothing lies within a share of this; allowed: a number other than 0"))
        }
        _ => Ok(()),
    }
}

fn capture(scenario: &Scenario) -> Check {
    hop(scenario, scenario.output.capture.as_ref())
}

/// A hop that the path has.
fn hop(scenario: &Scenario, given: Option<&Spanned<String>>) -> Check {
    let hops = &scenario.path.get_ref().hop;
    let mut hops: Vec<&str> = hops.iter().map(|hop| hop.get_ref().name.get_ref().as_str()).collect();
    if hops.is_empty() {
        hops.push(crate::resolve::ONLY_HOP);
    }
    known("hop", given, &hops)
}

fn pep(scenario: &Scenario, pep: &PepSection) -> Check {
    hop(scenario, pep.hop.as_ref())?;
    if let Some(window) = &pep.initial_window {
        between("initial_window", window, 1, 10_000)?;
    }
    if let Some(interval) = &pep.ack_filter {
        above_zero("ack_filter", interval)?;
    }
    parameters(pep.parameters.as_ref())
}

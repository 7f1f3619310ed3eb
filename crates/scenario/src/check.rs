//! Checks beyond the types: names that do not exist, keys that exclude each other, values that
//! contradict each other. Every problem is reported at its own place.

use crate::contacts_check;
use crate::document::{Axis, plain_text};
use crate::error::{Problem, quoted};
use crate::flow::Flow;
use crate::limits::{Check, HEADERS, above_zero, between};
use crate::orbit_check;
use crate::pep::PepSection;
use crate::population::MAX_USERS;
use crate::probe_check;
use crate::reconfiguration::Reconfiguration;
use crate::recording::RecordingSection;
use crate::scenario::{Expect, ONLY_HOP, PathSection, PointFilter, Scenario};
use crate::transport::{MeasuredVisit, Transport};
use crate::workload::Work;
use crate::{light_time_check, policer_check};
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::{find_population, find_shared, group_names, metric_names, metrics};
use bentpipe_units::Bytes;
use serde_spanned::Spanned;
use std::collections::HashSet;

/// Smallest maximum UDP payload that QUIC allows, in bytes (RFC 9000 §14).
const SMALLEST_PAYLOAD: u64 = 1200;

/// Returns an error if the scenario parses but cannot be run.
pub fn check(scenario: &Scenario, axes: &[Axis<'_>]) -> Check {
    name(&scenario.name, "scenario")?;
    between("repeat", &scenario.repeat, 1, 100_000)?;
    above_zero("time_limit", &scenario.time_limit)?;
    path(scenario)?;
    orbit_check::orbit(scenario)?;
    work(scenario)?;
    unique("variant", scenario.variants.iter().map(|variant| &variant.name))?;
    if let Some(headline) = &scenario.headline {
        metric(scenario, headline, None)?;
    }
    variant(scenario, scenario.baseline.as_ref())?;
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
    let allowed =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '+');
    if text.is_empty() || text.len() > 64 || !text.chars().all(allowed) || text.starts_with('.') {
        return Err(Problem::new(
            name.span(),
            format!(
                "`{text}` is not a valid name for a {what}; allowed: 1 to 64 lower-case letters, \
                    digits, `-`, `+` and `.`, not starting with `.`"
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
            let message = format!(
                "a {what} named `{}` already exists; allowed: each name once",
                spanned.get_ref()
            );
            return Err(Problem::new(spanned.span(), message));
        }
        seen.push(spanned.get_ref());
    }
    Ok(())
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
            format!("`mtu` of {} is out of range; allowed: {smallest} B to 65535 B", path.mtu),
        ));
    }
    if let Some(pep) = &path.pep {
        self::pep(scenario, pep.get_ref())?;
    }
    if let Some(notice) = &path.path_change_notice {
        above_zero("path_change_notice", notice)?;
    }
    recording(path)?;
    contacts_check::check(path)?;
    light_time_check::check(path, *scenario.time_limit.get_ref())?;
    policer_check::check(path)?;
    let hops = path.hop.iter().filter_map(|hop| hop.get_ref().reconfiguration.as_ref());
    path.reconfiguration.iter().chain(hops).try_for_each(reconfiguration)?;
    one_phase(path)?;
    if path.hop.is_empty() {
        let fixed = [("forward", &path.forward), ("return", &path.reverse)];
        let with_delay = fixed
            .iter()
            .find(|(_, patch)| patch.as_ref().is_some_and(|patch| patch.get_ref().delay.is_some()));
        return match (&path.rtt, with_delay) {
            (Some(rtt), Some((direction, _))) => Err(Problem::new(
                rtt.span(),
                format!(
                    "`rtt` sets the delay of both directions, and `{direction}.delay` does too; \
                        allowed: one of the two"
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
        ("light_time", path.light_time.as_ref().map(Spanned::span)),
        ("reconfiguration", path.reconfiguration.as_ref().map(Spanned::span)),
    ];
    if let Some((key, Some(span))) = beside.into_iter().find(|(_, span)| span.is_some()) {
        return Err(Problem::new(
            span,
            format!(
                "`path.{key}` has no effect if the path has hops; allowed: `{key}` inside a \
                    [[path.hop]]"
            ),
        ));
    }
    unique("hop", path.hop.iter().map(|hop| &hop.get_ref().name))
}

/// Checks `[path.recording]`.
fn recording(path: &PathSection) -> Check {
    let Some(section) = &path.recording else { return Ok(()) };
    if path.orbit.is_some() {
        let message = "`path.recording` and [path.orbit] exclude each other; allowed: either hops \
            or an orbit";
        return Err(Problem::new(section.span(), message));
    }
    let RecordingSection { period, change, .. } = section.get_ref();
    period.as_ref().map_or(Ok(()), |period| above_zero("period", period))?;
    let Some(change) = change else { return Ok(()) };
    match period {
        Some(period) if change.get_ref() < period.get_ref() => Ok(()),
        Some(period) => {
            let (at, period) = (change.get_ref(), period.get_ref());
            let message = format!("`change` of {at} is out of range; allowed: below {period}");
            Err(Problem::new(change.span(), message))
        }
        None => {
            let message = "`change` is the first of one each `period`; allowed: only beside it";
            Err(Problem::new(change.span(), message))
        }
    }
}

/// Checks that at most one hop has changes at given times of day: a run can meet one.
fn one_phase(path: &PathSection) -> Check {
    let hops = path.hop.iter().filter_map(|hop| hop.get_ref().reconfiguration.as_ref());
    let mut given = hops.filter(|change| change.get_ref().phase.is_some());
    match (given.next(), given.next()) {
        (Some(_), Some(second)) => Err(Problem::new(
            second.span(),
            "`phase` of a second hop cannot be met, since each run draws its first change; \
                allowed: one hop with a `phase`",
        )),
        _ => Ok(()),
    }
}

fn reconfiguration(change: &Spanned<Reconfiguration>) -> Check {
    change.get_ref().check().map_err(|message| Problem::new(change.span(), message))
}

fn work(scenario: &Scenario) -> Check {
    if scenario.flows().is_empty() {
        return Err(Problem::new(
            scenario.name.span(),
            "the scenario transfers nothing; allowed: a [workload], or one or more [[flow]]s",
        )
        .help("[workload]\ndownload = \"10 MB\""));
    }
    unique("flow", scenario.flows().iter().map(|flow| &flow.placement.name))?;
    users(scenario)?;
    for variant in &scenario.variants {
        for flow in &variant.flows {
            self::flow(scenario, flow)?;
            probe_check::probe(scenario, &variant.flows, flow)?;
        }
    }
    Ok(())
}

/// Checks the number of users of all populations together.
fn users(scenario: &Scenario) -> Check {
    let users = |flow: &Flow| flow.users.as_ref().map_or(0, |users| users.members.len());
    let total: usize = scenario.flows().iter().map(users).sum();
    let mut taken: HashSet<String> = flow_names(scenario).into_iter().map(str::to_owned).collect();
    for flow in scenario.flows() {
        for number in flow.users.iter().flat_map(|users| &users.members) {
            // Users are called so in the simulation.
            let name = format!("{}-{number:03}", flow.name());
            if !taken.insert(name.clone()) {
                let message = format!("`{name}` is the name of a user; allowed: each name once");
                return Err(Problem::new(flow.placement.name.span(), message));
            }
        }
    }
    let last = scenario.flows().iter().rfind(|flow| flow.users.is_some());
    match last {
        Some(flow) if total > MAX_USERS => {
            let message =
                format!("the populations have {total} users together; allowed: up to {MAX_USERS}");
            Err(Problem::new(flow.span.clone(), message))
        }
        _ => Ok(()),
    }
}

/// Checks that no user makes the implied first visit, which would fill the path for each of them.
fn implied_visit(flow: &Flow) -> Check {
    let keys = &flow.transport;
    let repeat =
        keys.handshake == Some(Handshake::ZeroRtt) || keys.visit == Some(MeasuredVisit::Repeat);
    if flow.users.is_none() || !repeat || matches!(flow.work, Work::Visits(_)) {
        return Ok(());
    }
    let message = format!(
        "repeat visits of the users of `{}` would each begin with a first visit that fills the \
            path; allowed: `visits` that list both",
        flow.name()
    );
    let help = "visits = [{ download = \"100 kB\", measured = false }, { download = \"1 MB\" }]";
    Err(Problem::new(flow.span.clone(), message).help(help))
}

fn flow(scenario: &Scenario, flow: &Flow) -> Check {
    let name = &flow.placement.name;
    if name.get_ref() == ALL_FLOWS {
        let message =
            format!("`{ALL_FLOWS}` stands for all flows together; allowed: any other name");
        return Err(Problem::new(name.span(), message));
    }
    transport(flow, scenario.path.get_ref().mtu.get_ref().get())?;
    crossed(scenario, flow)?;
    implied_visit(flow)?;
    match &flow.placement.terminal {
        Some(terminal) => {
            let terminals = *scenario.path.get_ref().terminals.get_ref();
            if *terminal.get_ref() < terminals {
                return Ok(());
            }
            let last = terminals.saturating_sub(1);
            let message = format!(
                "terminal {terminal} does not exist: this path has {terminals} terminals; allowed: \
                    0 to {last}"
            );
            Err(Problem::new(terminal.span(), message))
        }
        None => Ok(()),
    }
}

/// Checks that `from_hop` and `to_hop` of a flow exist and are in the order of the path.
fn crossed(scenario: &Scenario, flow: &Flow) -> Check {
    let (from, to) = (&flow.placement.from_hop, &flow.placement.to_hop);
    let Some(given) = from.as_ref().or(to.as_ref()) else { return Ok(()) };
    let path = scenario.path.get_ref();
    let names: Vec<&str> =
        path.hop.iter().map(|hop| hop.get_ref().name.get_ref().as_str()).collect();
    if names.is_empty() {
        let remedy = if path.contacts.is_some() {
            "the hops that `bentpipe contacts --path` prints, instead of [path.contacts]"
        } else {
            "a path of [[path.hop]] tables"
        };
        let message = format!(
            "`from_hop` and `to_hop` need a path whose hops the scenario names, unlike `{given}` \
                here; allowed: {remedy}"
        );
        return Err(Problem::new(given.span(), message));
    }
    known("hop", from.as_ref(), &names)?;
    known("hop", to.as_ref(), &names)?;
    let place = |hop: &Spanned<String>| names.iter().position(|name| name == hop.get_ref());
    if let (Some(first), Some(last)) = (from, to)
        && place(first) > place(last)
    {
        let message = format!(
            "the path has the hop `{last}` before `{first}`; allowed: `from_hop` nearer to the \
                client than `to_hop`"
        );
        return Err(Problem::new(last.span(), message));
    }
    match &flow.transport.tcp.pep {
        Some(_) => {
            let message = "`tcp.pep` needs a flow that crosses the whole path; allowed: `from_hop` \
                and `to_hop`, or a proxy";
            Err(Problem::new(given.span(), message))
        }
        None => Ok(()),
    }
}

fn size_above_zero(key: &str, size: &Spanned<Bytes>) -> Check {
    if !size.get_ref().is_zero() {
        return Ok(());
    }
    Err(Problem::new(
        size.span(),
        format!("`{key}` of {size} would block all data; allowed: above 0 B"),
    ))
}

fn transport(flow: &Flow, mtu: u64) -> Check {
    let keys: &Transport = &flow.transport;
    let (quic, credit) = (&keys.quic, &keys.flow_control);
    if let Some(rtt) = &quic.initial_rtt {
        above_zero("initial_rtt", rtt)?;
    }
    if let Some(threshold) = &quic.time_threshold {
        time_threshold(threshold)?;
    }
    if let Some(window) = &keys.initial_window {
        between("initial_window", window, 1, 10_000)?;
    }
    if let Some(connections) = &keys.tcp.connections {
        between("connections", connections, 1, 64)?;
    }
    let windows = [
        ("initial_receive_window", &credit.initial_receive_window),
        ("max_receive_window", &credit.max_receive_window),
    ];
    for (key, window) in windows {
        window.as_ref().map_or(Ok(()), |window| size_above_zero(key, window))?;
    }
    if let Some(fraction) =
        credit.window_update_fraction.as_ref().filter(|fraction| fraction.get_ref().is_zero())
    {
        let message = "`window_update_fraction` of 0 would send an update for every byte; \
            allowed: above 0, up to 1 or \"100 %\"";
        return Err(Problem::new(fraction.span(), message));
    }
    if let Some(interval) = &credit.window_update_interval {
        above_zero("window_update_interval", interval)?;
    }
    keys.acknowledges(flow.protocol)?;
    parameters(keys.parameters.as_ref())?;
    if let Some(payload) = &quic.initial_mtu {
        let largest = mtu.saturating_sub(HEADERS);
        if !(SMALLEST_PAYLOAD..=largest).contains(&payload.get_ref().get()) {
            return Err(Problem::new(
                payload.span(),
                format!(
                    "an `initial_mtu` of {payload} does not fit; allowed: {SMALLEST_PAYLOAD} B to \
                        {largest} B (path.mtu less {HEADERS})"
                ),
            ));
        }
    }
    Ok(())
}

fn time_threshold(threshold: &Spanned<f64>) -> Check {
    let largest = f64::from(bentpipe_quic::MAX_TIME_THRESHOLD);
    if (1.0..=largest).contains(threshold.get_ref()) {
        return Ok(());
    }
    let message = format!(
        "a `time_threshold` of {threshold} RTTs is out of range; allowed: 1 to {largest} (RFC 9002 \
            §6.1.2: 1.125)"
    );
    Err(Problem::new(threshold.span(), message))
}

/// Checks that parameters exist and are in their ranges.
fn parameters(given: Option<&Spanned<Parameters>>) -> Check {
    let Some(given) = given else { return Ok(()) };
    let congestion =
        CongestionConfig { parameters: given.get_ref().clone(), ..CongestionConfig::default() };
    congestion.factory().map(drop).map_err(|error| Problem::new(given.span(), error.to_string()))
}

/// Returns the names of all variants.
pub fn variant_names(scenario: &Scenario) -> Vec<&str> {
    scenario.variants.iter().map(|variant| variant.name.get_ref().as_str()).collect()
}

/// Returns the names of all single flows.
fn flow_names(scenario: &Scenario) -> Vec<&str> {
    scenario.flows().iter().filter(|flow| flow.users.is_none()).map(Flow::name).collect()
}

/// Returns the names of all populations and shares, of all users if there are several of these, and
/// of their size classes.
fn population_names(scenario: &Scenario) -> Vec<String> {
    let flows = scenario.flows().iter().filter(|flow| flow.users.is_some());
    let mut names: Vec<&str> = flows.map(Flow::name).collect();
    if names.len() > 1 {
        names.push(ALL_FLOWS);
    }
    names.into_iter().flat_map(group_names).collect()
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

/// Checks that the metric exists and that `flow` fits its scope.
fn metric(scenario: &Scenario, given: &Spanned<String>, flow: Option<&Spanned<String>>) -> Check {
    if find_population(given.get_ref()).is_some() {
        let names = population_names(scenario);
        if names.is_empty() {
            let message = format!(
                "`{}` is a metric of populations, and this scenario has none; allowed: beside a \
                    [[flow]] with `count`",
                given.get_ref()
            );
            return Err(Problem::new(given.span(), message));
        }
        return known("population", flow, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
    if find_shared(given.get_ref()).is_some() {
        return known("flow with a metric of all flows", flow, &[ALL_FLOWS]);
    }
    match flow {
        Some(flow) if flow.get_ref() == ALL_FLOWS => Err(Problem::not_one_of(
            given.span(),
            "metric of all flows together",
            given.get_ref(),
            metrics::SHARED.iter().map(|metric| metric.row.name),
        )),
        _ => {
            known("metric", Some(given), &metric_names().collect::<Vec<_>>())?;
            let names = flow_names(scenario);
            if names.is_empty() {
                let message = format!(
                    "`{}` is a metric of single flows, and this scenario has users only; allowed: \
                        a metric of populations, such as `mean_completion_s`",
                    given.get_ref()
                );
                return Err(Problem::new(given.span(), message));
            }
            known("flow", flow, &names)
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
                format!(
                    "`{}` is never `{text}` in this sweep; allowed: {}",
                    axis.key,
                    quoted(&values)
                ),
            ));
        }
    }
    Ok(())
}

fn expect(scenario: &Scenario, axes: &[Axis<'_>], spanned: &Spanned<Expect>) -> Check {
    let expect = spanned.get_ref();
    metric(scenario, &expect.metric, expect.flow.as_ref())?;
    variant(scenario, expect.variant.as_ref())?;
    variant(scenario, expect.relative_to.as_ref())?;
    point(axes, &expect.point)?;
    let bounds = expect.below.is_some() || expect.above.is_some();
    let allowed = "allowed: `below`, `above` or both, with `relative_to` if you like; or `within` \
        with `published`";
    match (bounds, &expect.within, &expect.published) {
        (true, None, None) | (false, Some(_), Some(_))
            if expect.within.is_none() || expect.relative_to.is_none() => {}
        (false, None, None) => {
            return Err(Problem::new(
                spanned.span(),
                format!("nothing is expected here; {allowed}"),
            ));
        }
        _ => {
            return Err(Problem::new(
                spanned.span(),
                format!("these conditions do not go together; {allowed}"),
            ));
        }
    }
    match &expect.published {
        Some(published) if *published.get_ref() == 0.0 || !published.get_ref().is_finite() => {
            Err(Problem::new(
                published.span(),
                "`published` has no relative difference; allowed: a finite number other than 0",
            ))
        }
        _ => Ok(()),
    }
}

fn capture(scenario: &Scenario) -> Check {
    hop(scenario, scenario.output.capture.as_ref())
}

/// Checks that the path has the hop.
fn hop(scenario: &Scenario, given: Option<&Spanned<String>>) -> Check {
    if scenario.path.get_ref().contacts.is_some() {
        // Its hops have names once the plan is read.
        return Ok(());
    }
    let hops = &scenario.path.get_ref().hop;
    let mut hops: Vec<&str> =
        hops.iter().map(|hop| hop.get_ref().name.get_ref().as_str()).collect();
    if hops.is_empty() {
        hops.push(ONLY_HOP);
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

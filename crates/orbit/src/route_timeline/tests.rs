use super::*;
use crate::SatelliteSelection;
use crate::testing::{network, spec};

#[test]
fn link_delays_are_continuous_between_steps() {
    let network = Arc::new(network(spec("6 x 8")));
    let ends = [network.station(0), network.station(2)];
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(Span::from_millis(100)), &ends)
            .unwrap();
    let mut compared = 0;
    for _ in 0..50 {
        let links: Vec<(Node, Node)> = network.isls().to_vec();
        let delays: Vec<LinearDelay> =
            links.iter().map(|(a, b)| timeline.link_delay(*a, *b)).collect();
        let at = timeline.next();
        timeline.advance().unwrap();
        assert_eq!(timeline.topology().at(), at);
        for ((a, b), delay) in links.iter().zip(&delays) {
            let (predicted, actual) = (delay.at(at), timeline.link_delay(*a, *b).delay());
            assert!(predicted.as_nanos().abs_diff(actual.as_nanos()) <= 2, "{predicted} {actual}");
            compared += usize::from(delay.delay() != actual);
        }
    }
    assert!(compared > 100);
}

const STEP: Span = Span::from_millis(1_000);

fn terminals(selection: SatelliteSelection) -> Arc<Network> {
    let mut spec = spec("8 x 12");
    for station in &mut spec.stations {
        station.selection = selection;
        station.handover_outage =
            Span::from_millis(if selection == SatelliteSelection::All { 0 } else { 70 });
    }
    Arc::new(network(spec))
}

#[test]
fn steps_lie_at_multiples_and_changes_list_differences() {
    let network = terminals(SatelliteSelection::Highest);
    let ends: Vec<Node> = (0..5).map(|index| network.station(index)).collect();
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &ends).unwrap();
    let (mut turns, mut moved) = (0, 0);
    for step in 1..900 {
        let (before, routes) = (timeline.topology().clone(), timeline.routes().clone());
        assert_eq!(timeline.next(), Time::ZERO + STEP * step);
        let changes = timeline.advance().unwrap();
        let now = timeline.topology();
        assert_eq!(now.at(), Time::ZERO + STEP * step);
        let handovers: Vec<usize> =
            (0..5).filter(|&index| now.attached(index) != before.attached(index)).collect();
        assert_eq!(changes.handovers, handovers);
        for (a, b) in &changes.removed_links {
            assert!(before.has_link(&network, *a, *b) && !now.has_link(&network, *a, *b));
        }
        let lost = handovers.iter().filter(|&&index| !before.attached(index).is_empty()).count();
        assert_eq!(changes.removed_links.len(), lost, "no inter-satellite link is too long here");
        let nodes = 0..network.nodes() as u32;
        let differs = nodes.clone().any(|node| {
            (0..5).any(|to| timeline.routes().next(Node(node), to) != routes.next(Node(node), to))
        });
        assert_eq!(changes.routes, differs);
        turns += handovers.len();
        moved += usize::from(differs);
    }
    assert!(turns > 10 && moved > 10, "{turns} {moved}");
}

#[test]
fn static_topologies_never_change() {
    let network = terminals(SatelliteSelection::All);
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Static, &[network.station(2)]).unwrap();
    assert_eq!(timeline.next(), Time::MAX);
    assert_eq!(timeline.advance(), Ok(Changes::default()));
    let (a, b) = network.isls()[40];
    assert_eq!(timeline.link_delay(a, b).drift_ps_per_s(), 0);
    assert_eq!(timeline.topology().at(), Time::ZERO);
    let (from, to) = (network.station(0), network.station(2));
    let forecast =
        RouteTimeline::forecast(&network, RouteUpdates::Static, from, to, Time::from_secs(3_600))
            .unwrap();
    assert!(forecast.is_empty());
}

#[test]
fn a_step_of_zero_is_rejected() {
    let network = terminals(SatelliteSelection::All);
    for step in [RouteUpdates::Stepped(Span::ZERO), RouteUpdates::EventDriven(Span::ZERO)] {
        let error = RouteTimeline::new(network.clone(), step, &[]).unwrap_err().to_string();
        assert!(error.contains("a step of 0 ns; allowed: more than 0"), "{error}");
    }
}

/// Returns the nodes of a path, `None` without one.
fn nodes(path: &Option<Path>) -> Option<&[Node]> {
    path.as_ref().map(|path| &path.nodes[..])
}

#[test]
fn event_driven_changes_match_those_of_small_steps() {
    let fine_step = Span::from_millis(20);
    for selection in
        [SatelliteSelection::All, SatelliteSelection::Highest, SatelliteSelection::Slots]
    {
        let network = terminals(selection);
        let (from, to) = (network.station(0), network.station(2));
        let end = Time::from_secs(300);
        let exact =
            RouteTimeline::forecast(&network, RouteUpdates::EventDriven(STEP), from, to, end)
                .unwrap();
        let fine =
            RouteTimeline::forecast(&network, RouteUpdates::Stepped(fine_step), from, to, end)
                .unwrap();
        assert!(exact.len() > 1, "{selection:?}: {}", exact.len());
        assert_eq!(exact.len(), fine.len(), "{selection:?}");
        for (exact, fine) in exact.iter().zip(&fine) {
            // Each is late by up to its own precision.
            assert!(
                exact.at <= fine.at + Span::from_millis(1) && fine.at <= exact.at + fine_step,
                "{selection:?}"
            );
            assert_eq!(
                (nodes(&exact.before), nodes(&exact.after)),
                (nodes(&fine.before), nodes(&fine.after))
            );
            assert_eq!(exact.handover_outage, fine.handover_outage);
        }
    }
}

#[test]
fn forecasts_are_continuous_except_at_handovers() {
    let network = terminals(SatelliteSelection::Slots);
    let (from, to) = (network.station(0), network.station(2));
    let forecasts = RouteTimeline::forecast(
        &network,
        RouteUpdates::EventDriven(STEP),
        from,
        to,
        Time::from_secs(900),
    )
    .unwrap();
    let mut silences = 0;
    for pair in forecasts.windows(2) {
        assert!(pair[0].at < pair[1].at);
        assert_eq!(nodes(&pair[0].after), nodes(&pair[1].before));
        assert_ne!(nodes(&pair[1].before), nodes(&pair[1].after));
        let ends = |path: &Option<Path>| {
            path.as_ref().map(|path| (path.nodes[1], path.nodes[path.nodes.len() - 2]))
        };
        let handovers = pair[1].after.is_some() && ends(&pair[1].before) != ends(&pair[1].after);
        assert_eq!(
            pair[1].handover_outage,
            if handovers { Span::from_millis(70) } else { Span::ZERO }
        );
        silences += usize::from(handovers);
        if let (Some(before), Some(after), false) = (&pair[1].before, &pair[1].after, handovers) {
            // A path over other satellites takes over when it becomes shorter: within the drift of
            // a millisecond.
            let jump = before.delay.as_nanos().abs_diff(after.delay.as_nanos());
            assert!(jump < 1_000, "{jump} ns at {}", pair[1].at);
        }
    }
    assert!(silences > 3, "{silences}");
}

#[test]
fn a_lost_path_returns() {
    let network = Arc::new(network(spec("2 x 3")));
    let (from, to) = (network.station(0), network.station(1));
    let end = Time::from_secs(86_400);
    let forecasts = RouteTimeline::forecast(
        &network,
        RouteUpdates::EventDriven(Span::from_secs(10)),
        from,
        to,
        end,
    )
    .unwrap();
    let lost = forecasts.iter().filter(|change| change.after.is_none()).count();
    let returned = forecasts.iter().filter(|change| change.before.is_none()).count();
    assert!(lost > 3 && lost.abs_diff(returned) <= 1, "{lost} {returned}");
}

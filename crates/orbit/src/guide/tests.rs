use super::*;
use crate::Selection;
use crate::testing::{network, spec};

#[test]
fn laws_lead_from_one_step_to_the_next() {
    let network = Arc::new(network(spec("6 x 8")));
    let ends = [network.station(0), network.station(2)];
    let mut guide = Guide::new(network.clone(), Step::Every(Span::from_millis(100)), &ends).unwrap();
    let mut compared = 0;
    for _ in 0..50 {
        let links: Vec<(Node, Node)> = network.isls().to_vec();
        let laws: Vec<Law> = links.iter().map(|(a, b)| guide.law(*a, *b)).collect();
        let at = guide.next();
        guide.advance().unwrap();
        assert_eq!(guide.topology().at(), at);
        for ((a, b), law) in links.iter().zip(&laws) {
            let (told, is) = (law.delay(at), guide.law(*a, *b).delay);
            assert!(told.as_nanos().abs_diff(is.as_nanos()) <= 2, "{told} {is}");
            compared += usize::from(law.delay != is);
        }
    }
    assert!(compared > 100);
}

const STEP: Span = Span::from_millis(1_000);

fn terminals(selection: Selection) -> Arc<Network> {
    let mut spec = spec("8 x 12");
    for station in &mut spec.stations {
        station.selection = selection;
        station.interruption = Span::from_millis(if selection == Selection::All { 0 } else { 70 });
    }
    Arc::new(network(spec))
}

#[test]
fn steps_lie_at_multiples_and_changes_tell_what_differs() {
    let network = terminals(Selection::Highest);
    let ends: Vec<Node> = (0..5).map(|index| network.station(index)).collect();
    let mut guide = Guide::new(network.clone(), Step::Every(STEP), &ends).unwrap();
    let (mut turns, mut moved) = (0, 0);
    for step in 1..900 {
        let (before, routes) = (guide.topology().clone(), guide.routes().clone());
        assert_eq!(guide.next(), Time::ZERO + STEP * step);
        let changes = guide.advance().unwrap();
        let now = guide.topology();
        assert_eq!(now.at(), Time::ZERO + STEP * step);
        let turned: Vec<usize> = (0..5).filter(|&index| now.attached(index) != before.attached(index)).collect();
        assert_eq!(changes.turned, turned);
        for (a, b) in &changes.gone {
            assert!(before.linked(&network, *a, *b) && !now.linked(&network, *a, *b));
        }
        let lost = turned.iter().filter(|&&index| !before.attached(index).is_empty()).count();
        assert_eq!(changes.gone.len(), lost, "no inter-satellite link is too long here");
        let nodes = 0..network.nodes() as u32;
        let differs = nodes
            .clone()
            .any(|node| (0..5).any(|to| guide.routes().next(Node(node), to) != routes.next(Node(node), to)));
        assert_eq!(changes.routes, differs);
        turns += turned.len();
        moved += usize::from(differs);
    }
    assert!(turns > 10 && moved > 10, "{turns} {moved}");
}

#[test]
fn never_stands_still() {
    let network = terminals(Selection::All);
    let mut guide = Guide::new(network.clone(), Step::Never, &[network.station(2)]).unwrap();
    assert_eq!(guide.next(), Time::MAX);
    assert_eq!(guide.advance(), Ok(Changes::default()));
    let (a, b) = network.isls()[40];
    assert_eq!(guide.law(a, b).drift_ps_per_s, 0);
    assert_eq!(guide.topology().at(), Time::ZERO);
    let (from, to) = (network.station(0), network.station(2));
    let forecast = Guide::forecast(&network, Step::Never, from, to, Time::from_secs(3_600)).unwrap();
    assert!(forecast.is_empty());
}

#[test]
fn a_step_of_no_length_is_refused() {
    let network = terminals(Selection::All);
    for step in [Step::Every(Span::ZERO), Step::Exact(Span::ZERO)] {
        let error = Guide::new(network.clone(), step, &[]).unwrap_err().to_string();
        assert!(error.contains("a step of 0 ns; allowed: more than 0"), "{error}");
    }
}

/// The nodes of a way; none where there is none.
fn nodes(path: &Option<Path>) -> Option<&[Node]> {
    path.as_ref().map(|path| &path.nodes[..])
}

#[test]
fn exact_changes_are_those_of_a_fine_course() {
    let fine_step = Span::from_millis(20);
    for selection in [Selection::All, Selection::Highest, Selection::Slots] {
        let network = terminals(selection);
        let (from, to) = (network.station(0), network.station(2));
        let end = Time::from_secs(300);
        let exact = Guide::forecast(&network, Step::Exact(STEP), from, to, end).unwrap();
        let fine = Guide::forecast(&network, Step::Every(fine_step), from, to, end).unwrap();
        assert!(exact.len() > 1, "{selection:?}: {}", exact.len());
        assert_eq!(exact.len(), fine.len(), "{selection:?}");
        for (exact, fine) in exact.iter().zip(&fine) {
            // Each is late by up to its own grain.
            assert!(exact.at <= fine.at + Span::from_millis(1) && fine.at <= exact.at + fine_step, "{selection:?}");
            assert_eq!((nodes(&exact.before), nodes(&exact.after)), (nodes(&fine.before), nodes(&fine.after)));
            assert_eq!(exact.interruption, fine.interruption);
        }
    }
}

#[test]
fn forecasts_follow_each_other_and_jump_only_where_an_end_turns() {
    let network = terminals(Selection::Slots);
    let (from, to) = (network.station(0), network.station(2));
    let forecasts = Guide::forecast(&network, Step::Exact(STEP), from, to, Time::from_secs(900)).unwrap();
    let mut silences = 0;
    for pair in forecasts.windows(2) {
        assert!(pair[0].at < pair[1].at);
        assert_eq!(nodes(&pair[0].after), nodes(&pair[1].before));
        assert_ne!(nodes(&pair[1].before), nodes(&pair[1].after));
        let ends = |path: &Option<Path>| path.as_ref().map(|path| (path.nodes[1], path.nodes[path.nodes.len() - 2]));
        let turned = pair[1].after.is_some() && ends(&pair[1].before) != ends(&pair[1].after);
        assert_eq!(pair[1].interruption, if turned { Span::from_millis(70) } else { Span::ZERO });
        silences += usize::from(turned);
        if let (Some(before), Some(after), false) = (&pair[1].before, &pair[1].after, turned) {
            // Another way between the same satellites takes over where it becomes the shorter: within a millisecond's drift.
            let jump = before.delay.as_nanos().abs_diff(after.delay.as_nanos());
            assert!(jump < 1_000, "{jump} ns at {}", pair[1].at);
        }
    }
    assert!(silences > 3, "{silences}");
}

#[test]
fn a_way_that_is_lost_returns() {
    let network = Arc::new(network(spec("2 x 3")));
    let (from, to) = (network.station(0), network.station(1));
    let end = Time::from_secs(86_400);
    let forecasts = Guide::forecast(&network, Step::Exact(Span::from_secs(10)), from, to, end).unwrap();
    let lost = forecasts.iter().filter(|change| change.after.is_none()).count();
    let returned = forecasts.iter().filter(|change| change.before.is_none()).count();
    assert!(lost > 3 && lost.abs_diff(returned) <= 1, "{lost} {returned}");
}

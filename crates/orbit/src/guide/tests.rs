use super::*;
use crate::testing::{network, spec};

#[test]
fn laws_lead_from_one_step_to_the_next() {
    let network = Arc::new(network(spec("6 x 8")));
    let ends = [network.station(0), network.station(2)];
    let mut guide = Guide::new(network.clone(), Step::Every(Span::from_millis(100)), &ends).unwrap();
    let mut compared = 0;
    for _ in 0..50 {
        let links: Vec<(Node, Node)> = network.isls().iter().copied().collect();
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

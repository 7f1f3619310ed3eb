//! Every controller on paths whose RTT changes in steps, with and without announcements, or drifts.
//! Each case runs once; `examples/path_change.rs` averages over several runs.

use crate::bottleneck;

use bentpipe_congestion::PathChangeNotice;
use bentpipe_units::{Span, Time};
use bottleneck::moving::{
    ALL, DRIFTS, LONG, NONE, RESPONSES, SHIFT_RTT, SHORT, SUPPRESS_LOSS, handover_notices,
    handovers, names, notice, path, queueing, run, share, step_notices, steps, still,
};
use bottleneck::{Motion, Path};
use std::fmt::Write;

#[test]
fn announcements_on_a_path_that_becomes_longer_and_shorter_again() {
    let mut table = String::from(
        "controller  response        share: 0-60 s   long   short again   queue, ms   \
         declared lost\n",
    );
    for name in names() {
        let mut without = None;
        for (label, response) in RESPONSES {
            let run = run(path(steps), name, response, &step_notices());
            let all = share(&run, 0, 60);
            let without = *without.get_or_insert(all);
            assert!(all > without - 1.0, "{name}, {label}: {all} against {without}");
            writeln!(
                table,
                "{name:<10}  {label:<13}   {all:>13.1}   {:>4.1}   {:>11.1}   {:>9.1}   {:>13}",
                share(&run, 21, 40),
                share(&run, 41, 60),
                queueing(&run),
                run.declared_lost,
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn hidden_handover_losses_cause_no_reduction() {
    // Three flows that meet the changes at different points of their cycles.
    let share = |response| {
        let each = [0, 2, 5].map(|seconds| {
            let path = Path { offset: Span::from_secs(seconds), ..handovers() };
            share(&run(path, "newreno", response, &handover_notices()), 8, 60)
        });
        each.iter().sum::<f64>() / 3.0
    };
    let (without, hidden) = (share(NONE), share(SUPPRESS_LOSS));
    assert!(hidden > without + 1.0, "{hidden} against {without}");
}

#[test]
fn the_cost_of_a_drifting_rtt_for_each_controller() {
    let mut table =
        String::from("controller  RTT           share, 10-60 s   queue, ms   declared lost\n");
    for name in names() {
        for (label, motion) in DRIFTS {
            let run = run(path(motion), name, NONE, &[]);
            writeln!(
                table,
                "{name:<10}  {label:<11}   {:>14.1}   {:>9.1}   {:>13}",
                share(&run, 10, 60),
                queueing(&run),
                run.declared_lost
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn min_rtt_filters_lose_rate_on_a_longer_path_unless_it_is_announced() {
    // Vegas never discards a minimum RTT, Copa only after ten seconds.
    let long = |name, response| share(&run(path(steps), name, response, &step_notices()), 21, 40);
    assert!(long("vegas", NONE) < 20.0);
    assert!(long("vegas", SHIFT_RTT) > 95.0);
    assert!(long("copa", NONE) < 95.0);
    assert!(long("copa", SHIFT_RTT) > 98.0);
}

#[test]
fn a_shifted_minimum_rtt_excludes_a_standing_queue_that_a_new_one_includes() {
    // Alternates between 40 and 41 ms: less than a window's own queue.
    fn wobbling(at: Time) -> Span {
        if (at.as_nanos() / 2_000_000_000) % 2 == 1 { Span::from_millis(41) } else { SHORT }
    }
    let told: Vec<PathChangeNotice> = (1..30)
        .map(|change| Time::from_secs(2 * change))
        .map(|at| notice(at, wobbling(Time::from_nanos(at.as_nanos() - 1)), wobbling(at)))
        .collect();
    let anew: Vec<PathChangeNotice> =
        told.iter().map(|notice| PathChangeNotice { rtt_before: None, ..*notice }).collect();
    let queue =
        |notices: &[PathChangeNotice]| queueing(&run(path(wobbling), "vegas", SHIFT_RTT, notices));
    let (moved, begun) = (queue(&told), queue(&anew));
    assert!(begun > 2.0 * moved, "{moved} ms moved, {begun} ms begun anew");
}

#[test]
fn wrong_announcements_do_no_lasting_harm() {
    // Announced changes that never happen, in both directions and with an outage; and real changes
    // announced the wrong way round.
    let never: Vec<PathChangeNotice> = [(20, SHORT, LONG), (30, LONG, SHORT)]
        .map(|(at, before, after)| PathChangeNotice {
            outage: Span::from_millis(100),
            ..notice(Time::from_secs(at), before, after)
        })
        .to_vec();
    let reversed =
        vec![notice(Time::from_secs(20), LONG, SHORT), notice(Time::from_secs(40), SHORT, LONG)];
    for name in names() {
        for (label, notices, motion) in
            [("never", &never, still as Motion), ("reversed", &reversed, steps)]
        {
            let (without, with) =
                (run(path(motion), name, NONE, &[]), run(path(motion), name, ALL, notices));
            let cost = share(&without, 0, 60) - share(&with, 0, 60);
            assert!(cost < 2.0, "{name}, {label}: {cost} % of the minute");
            let after = share(&without, 45, 60) - share(&with, 45, 60);
            // A slowdown of LEDBAT++ may fall into these seconds or not.
            let most = if name == "ledbat++" { 4.0 } else { 2.0 };
            assert!(after < most, "{name}, {label}: {after} % long after");
        }
    }
}

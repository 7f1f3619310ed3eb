//! Careful Resume over a bottleneck with a drop-tail queue: whole, paced transfers.

use bentpipe_congestion::catalogue::{self, CONTROLLERS};
use bentpipe_congestion::controller::{Controller, ControllerConfig};
use bentpipe_congestion::resume::{self, CarefulResume, ResumeHandle, ResumeMode, SavedParameters};
use bentpipe_congestion::{ParameterValues, SentPackets};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

const MTU: Bytes = Bytes::new(1250);
const RTT: Span = Span::from_millis(600);
/// Volume of 50 Mbps in 600 ms.
const CAPACITY: Bytes = Bytes::new(3_750_000);

/// The bottleneck: its rate and the capacity of its queue.
#[derive(Clone, Copy)]
struct Path {
    rate: Rate,
    queue: Bytes,
}

const WIDE: Path = Path { rate: Rate::from_mbps(50), queue: Bytes::new(1_875_000) };

/// Outcome of a transfer.
struct Outcome {
    finished: Time,
    lost: usize,
    handle: ResumeHandle,
    phases: Vec<&'static str>,
}

/// Sends `amount` over `path`. Each packet is acknowledged, a loss is declared three packets later,
/// and lost data is sent again. The pacing rate is the controller's, or 1.25 windows per smoothed
/// RTT (RFC 9002 §7.7).
fn transfer(
    controller: &str,
    amount: Bytes,
    path: Path,
    mode: ResumeMode,
    saved: Option<SavedParameters>,
) -> Outcome {
    let config = ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(12_500),
        distance_m: None,
        rtt: None,
    };
    let handle = ResumeHandle::new();
    if let Some(saved) = saved {
        assert!(handle.offer(saved) || mode == ResumeMode::Observe);
    }
    let part = catalogue::find(CONTROLLERS, controller).expect("a known controller");
    let inner = (part.make)(&config, &ParameterValues::defaults(part.parameters));
    let mut resume =
        CarefulResume::new(inner, mode, &config, &resume::Parameters::default(), handle.clone());
    let mut sent_packets = SentPackets::new();
    let (mut now, mut next_send, mut free_at) = (Time::ZERO, Time::ZERO, Time::ZERO);
    let mut to_send = amount.get() / MTU.get();
    let mut acks: VecDeque<(Time, u64)> = VecDeque::new();
    let mut unheard: VecDeque<u64> = VecDeque::new();
    let mut lost = 0;
    loop {
        while to_send > 0
            && next_send <= now
            && sent_packets.bytes_in_flight() + MTU <= resume.send_control().cwnd
        {
            let packet = sent_packets.on_sent(now, MTU);
            resume.on_packet_sent(&packet);
            unheard.push_back(packet.number);
            to_send -= 1;
            if path.rate.bytes_in(free_at.since(now)) + MTU <= path.queue {
                free_at = free_at.max(now) + path.rate.time_for(MTU);
                acks.push_back((free_at + RTT, packet.number));
            }
            let srtt = sent_packets.smoothed_rtt();
            let pace = match resume.send_control().pacing_rate {
                Some(rate) => rate,
                None if srtt.is_zero() => continue,
                None => Rate::over(resume.send_control().cwnd, srtt).mul_f64(1.25),
            };
            next_send = next_send.max(now) + pace.time_for(MTU);
        }
        let Some(&(ack_at, number)) = acks.front() else { break };
        if to_send > 0
            && next_send > now
            && next_send < ack_at
            && sent_packets.bytes_in_flight() + MTU <= resume.send_control().cwnd
        {
            now = next_send;
            continue;
        }
        acks.pop_front();
        now = ack_at;
        sent_packets.on_acked(now, number);
        sent_packets.report_ack(now, to_send == 0, |ack| resume.on_ack(ack));
        while let Some(first) =
            unheard.front().copied().filter(|first| first + 3 <= number || *first == number)
        {
            unheard.pop_front();
            if sent_packets.on_lost(first) {
                lost += 1;
                to_send += 1;
            }
        }
        sent_packets.report_loss(now, false, |loss| resume.on_loss(loss));
    }
    let phases = handle.take_transitions().iter().map(|step| step.new.name()).collect();
    Outcome { finished: now, lost, handle, phases }
}

fn saved() -> SavedParameters {
    SavedParameters::new(CAPACITY, RTT)
}

#[test]
fn a_long_transfer_observes_the_capacity_of_the_path() {
    let outcome = transfer("newreno", Bytes::from_mb(50), WIDE, ResumeMode::Observe, None);
    let observed = outcome.handle.observed().unwrap();
    assert!(outcome.lost > 0, "slow start overshoots here");
    let share = observed.window.get() as f64 / CAPACITY.get() as f64;
    assert!((0.9..=1.01).contains(&share), "{share}");
    assert!(observed.rtt >= RTT && observed.rtt < RTT + Span::from_millis(10), "{}", observed.rtt);
}

#[test]
fn on_the_saved_path_the_jump_is_validated_without_loss_and_saves_rtts() {
    let amount = Bytes::from_mb(5);
    let plain = transfer("newreno", amount, WIDE, ResumeMode::Observe, None);
    let careful = transfer("newreno", amount, WIDE, ResumeMode::Careful, Some(saved()));
    assert_eq!(careful.phases, ["reconnaissance", "unvalidated", "validating", "normal"]);
    assert_eq!(careful.lost, 0);
    assert!(!careful.handle.retreated());
    // Slow start needs eight RTTs for 5 MB; with half of the capacity from the second RTT on, three
    // remain.
    let gained = plain.finished.since(careful.finished.min(plain.finished));
    assert!(gained >= RTT * 3, "{} and {}", plain.finished, careful.finished);
}

#[test]
fn on_a_slower_path_it_retreats_and_the_transfer_completes() {
    let narrow = Path { rate: Rate::from_mbps(5), queue: Bytes::new(187_500) };
    let careful =
        transfer("newreno", Bytes::from_mb(10), narrow, ResumeMode::Careful, Some(saved()));
    assert_eq!(careful.phases[careful.phases.len() - 2..], ["safe_retreat", "normal"]);
    assert!(careful.handle.retreated());
    // The careful jump does less harm than the unsafe one.
    let jump = transfer("newreno", Bytes::from_mb(10), narrow, ResumeMode::Jump, Some(saved()));
    assert!(careful.lost < jump.lost, "{} and {}", careful.lost, jump.lost);
    // Later observations are those of the slower path.
    let observed = careful.handle.observed().unwrap();
    let share = observed.window.get() as f64 / 375_000.0;
    assert!((0.8..=1.01).contains(&share), "{share}");
}

#[test]
fn the_unsafe_jump_is_the_fastest_on_an_unchanged_path() {
    let amount = Bytes::from_mb(5);
    let careful = transfer("newreno", amount, WIDE, ResumeMode::Careful, Some(saved()));
    let jump = transfer("newreno", amount, WIDE, ResumeMode::Jump, Some(saved()));
    assert!(jump.finished < careful.finished, "{} and {}", jump.finished, careful.finished);
}

#[test]
fn the_jump_of_a_rate_based_controller_is_validated_and_saves_rtts() {
    let amount = Bytes::from_mb(5);
    let plain = transfer("bbr3", amount, WIDE, ResumeMode::Observe, None);
    let careful = transfer("bbr3", amount, WIDE, ResumeMode::Careful, Some(saved()));
    assert_eq!(careful.phases, ["reconnaissance", "unvalidated", "validating", "normal"]);
    assert!(!careful.handle.retreated());
    assert!(
        careful.finished + RTT * 2 <= plain.finished,
        "{} and {}",
        plain.finished,
        careful.finished
    );
}

#[test]
fn a_rate_based_controller_retreats_on_a_slower_path() {
    let narrow = Path { rate: Rate::from_mbps(5), queue: Bytes::new(187_500) };
    let careful = transfer("bbr3", Bytes::from_mb(10), narrow, ResumeMode::Careful, Some(saved()));
    assert_eq!(careful.phases[careful.phases.len() - 2..], ["safe_retreat", "normal"]);
    assert!(careful.handle.retreated());
    let observed = careful.handle.observed().unwrap();
    let share = observed.window.get() as f64 / 375_000.0;
    assert!((0.8..=1.01).contains(&share), "{share}");
}

#[test]
fn every_searching_controller_completes_and_ends_in_normal_on_both_paths() {
    let narrow = Path { rate: Rate::from_mbps(5), queue: Bytes::new(187_500) };
    // The fixed-rate controller does not search for capacity, so that it has nothing to resume.
    for controller in CONTROLLERS.iter().filter(|part| part.name != "fixed-rate") {
        for (path, retreats) in [(WIDE, false), (narrow, true)] {
            let careful = transfer(
                controller.name,
                Bytes::from_mb(5),
                path,
                ResumeMode::Careful,
                Some(saved()),
            );
            let name = controller.name;
            assert_eq!(careful.phases[1], "unvalidated", "{name}");
            assert_eq!(careful.phases.last(), Some(&"normal"), "{name}: {:?}", careful.phases);
            assert_eq!(careful.handle.retreated(), retreats, "{name}: {:?}", careful.phases);
        }
    }
}

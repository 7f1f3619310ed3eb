//! The path that a trace shows.

use bentpipe_units::{Bytes, Rate, Span, Time};

/// Fewest packets, and fewest arrivals apart from each other, over which a rate is measured: an
/// acknowledgement, or an interrupt of a receiver, stands for many packets.
const RATE_PACKETS: u64 = 32;
const RATE_ARRIVALS: usize = 6;
/// Fewest packets that come within some round trip if the path determined how fast. How far those
/// of shorter answers are apart is a matter of when a receiver acknowledges them: the last one when
/// its timer says so.
const PATH_PACKETS: u64 = 12;
/// Time over which a rate is measured, unless a burst is shorter, and the shortest for that.
const RATE_TIME: Span = Span::from_millis(20);
const BURST_TIME: Span = Span::from_millis(2);
/// Silence that ends a burst: batches of a receiver are closer to each other.
const SILENCE: Span = Span::from_millis(10);
/// Share of a round trip within which many packets come at once.
const AT_ONCE: f64 = 0.03;
/// Share of the time of a transfer over which a rate that was held is measured.
const LONG_SHARE: f64 = 0.1;
/// Share of the highest rate over a short time that the rate over a round trip has if the link was
/// busy for that long.
const SUSTAINED: f64 = 0.8;

/// The slowest rate of a path: a file may name packets that are centuries apart.
const SLOWEST: Rate = Rate::from_bps(100);

/// What a trace shows of its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathEstimate {
    /// Smallest round-trip time.
    pub rtt: Span,
    /// Rate towards the receiver of the data: the highest at which packets left the path.
    pub rate: Rate,
    /// The highest rate that was held for a round trip: no link is slower, while packets that
    /// arrive together may show more than there is.
    pub proven: Rate,
    /// True if the path determined that rate. Otherwise the link may be faster.
    pub is_filled: bool,
    /// Longest wait of data in a queue.
    pub queue: Span,
    /// True if data was lost while it was about that long: it has no room for more.
    pub is_full: bool,
    /// Share of the data packets that were lost while the queue was not full.
    pub loss: f64,
}

/// A packet that passed: time of sending if known, of arrival, and bytes.
pub type Passed = (Option<Time>, Time, u64);

/// Packets that arrived together, such as those of one acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Time,
    /// Time at which the last of them was sent.
    sent: Option<Time>,
    /// Bytes and packets of all arrivals up to this one.
    bytes: u64,
    packets: u64,
}

/// The highest rate at which packets passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeenRate {
    /// The rate.
    pub rate: Rate,
    /// True if they arrived more slowly than they had been sent: the path determined it.
    pub by_path: bool,
    /// True if it was held for a round trip.
    pub is_sustained: bool,
    /// The highest that was held for a round trip.
    pub proven: Rate,
}

/// Returns the rate of a path: the `given` one, the highest at which packets passed, which is that
/// of this `share` of the bytes of all bursts, or, if they are too few to show one, that at which
/// they would take a round trip.
pub fn rate_of(packets: &[Passed], rtt: Span, share: f64, given: Option<Rate>) -> SeenRate {
    let seen = highest_rate(packets, rtt, share).unwrap_or_else(|| {
        let bytes = packets.iter().fold(0_u64, |sum, packet| sum.saturating_add(packet.2));
        let rate = Rate::over(Bytes::new(bytes), rtt);
        SeenRate { rate, by_path: false, is_sustained: false, proven: rate }
    });
    let rate = given.unwrap_or(seen.rate).max(SLOWEST);
    SeenRate { rate, proven: given.unwrap_or(seen.proven).min(rate), ..seen }
}

/// Returns the highest rate at which packets passed: bytes over the time in which they arrived or,
/// if longer, in which they were sent. `packets` are in the order of arrival.
///
/// The time of sending is what keeps acknowledgements that arrive together from showing a rate that
/// no link has (as in draft-ietf-ccwg-bbr, "Estimating Delivery Rate"). A rate that was held for a
/// round trip wins over a higher one of a shorter time, which jitter and batches make.
fn highest_rate(packets: &[Passed], rtt: Span, share: f64) -> Option<SeenRate> {
    let arrivals = together(packets);
    let bursts = arrivals.chunk_by(|one, next| next.at.since(one.at) <= SILENCE);
    let rates = bursts.flat_map(|burst| rates_over(burst, RATE_TIME, rtt)).collect();
    let short = common_rate(rates, share)?;
    let took = arrivals.last()?.at.since(arrivals.first()?.at);
    // The highest of many short windows is above the mean.
    let long = highest_over(&arrivals, rtt.max(RATE_TIME * 5).max(took.mul_f64(LONG_SHARE)));
    let sustained = long.filter(|(rate, _)| rate.as_bps() as f64 >= SUSTAINED * bps(short.0));
    let proven = long.map_or(short.0, |(rate, _)| rate);
    let ((rate, by_path), is_sustained) = match sustained {
        Some(long) => (long, true),
        None => (short, false),
    };
    let by_path = by_path && most_within(&arrivals, rtt) >= PATH_PACKETS;
    Some(SeenRate { rate, by_path, is_sustained, proven })
}

/// Returns the most packets that arrived within this time.
fn most_within(arrivals: &[Arrival], time: Span) -> u64 {
    let mut earlier = arrivals.iter().peekable();
    let (mut before, mut most) = (0, 0);
    for arrival in arrivals {
        while let Some(first) = earlier.next_if(|first| first.at + time < arrival.at) {
            before = first.packets;
        }
        most = most.max(arrival.packets - before);
    }
    most
}

fn bps(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

/// Returns the arrivals at different times.
fn together(packets: &[Passed]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    let (mut bytes, mut count) = (0_u64, 0);
    for &(sent, at, size) in packets {
        bytes = bytes.saturating_add(size);
        count += 1;
        match arrivals.last_mut() {
            Some(last) if last.at >= at => {
                (last.sent, last.bytes, last.packets) = (last.sent.max(sent), bytes, count);
            }
            _ => arrivals.push(Arrival { at, sent, bytes, packets: count }),
        }
    }
    arrivals
}

/// Returns the highest rate over at least `time`, or over all of them if they take less, and
/// whether the path determined it.
fn highest_over(arrivals: &[Arrival], time: Span) -> Option<(Rate, bool)> {
    let rates = rates_over(arrivals, time, Span::ZERO).into_iter();
    rates.map(|(rate, by_path, _)| (rate, by_path)).max()
}

/// Returns the highest rate that this share of the bytes had, which is that of more than a few
/// bursts: what comes at once, as a program or a machine was not running for a moment, comes faster
/// than the link. The path determined it if it did so for most of those bytes.
fn common_rate(mut rates: Vec<(Rate, bool, u64)>, share: f64) -> Option<(Rate, bool)> {
    rates.sort_unstable_by(|one, other| other.cmp(one));
    let all = rates.iter().fold(0_u64, |sum, (.., bytes)| sum.saturating_add(*bytes));
    let least = (all as f64 * share) as u64;
    let (mut sum, mut of_path) = (0_u64, 0_u64);
    rates.into_iter().find_map(|(rate, by_path, bytes)| {
        sum = sum.saturating_add(bytes);
        of_path = of_path.saturating_add(if by_path { bytes } else { 0 });
        let most = if sum == 0 { by_path } else { of_path >= sum.saturating_sub(of_path) };
        (sum >= least).then_some((rate, most))
    })
}

/// Returns the rates over at least `time`, or over all arrivals if they take less, whether the path
/// determined each, and the bytes for which it stands. Many packets that take much less than a
/// round trip, of `rtt`, show no rate: links that hold packets together pass them on at once.
fn rates_over(arrivals: &[Arrival], time: Span, rtt: Span) -> Vec<(Rate, bool, u64)> {
    let (Some(begin), Some(end)) = (arrivals.first(), arrivals.last()) else { return Vec::new() };
    let passed = end.packets - begin.packets;
    let apart = RATE_ARRIVALS.min(arrivals.len() - 1).max(1);
    let least = RATE_PACKETS.min(passed);
    let time = time.min(end.at.since(begin.at));
    let mut last = 0;
    let mut rates: Vec<(Rate, bool, u64)> = Vec::new();
    let mut before = begin.bytes;
    for (index, first) in arrivals.iter().enumerate() {
        last = last.max(index + apart);
        while arrivals
            .get(last)
            .is_some_and(|end| end.packets - first.packets < least || end.at.since(first.at) < time)
        {
            last += 1;
        }
        if let Some((.., bytes)) = rates.last_mut() {
            *bytes = bytes.saturating_add(first.bytes - before);
        }
        before = first.bytes;
        let Some(end) = arrivals.get(last) else { continue };
        let arrived = end.at.since(first.at);
        let sent = first.sent.zip(end.sent).map_or(Span::ZERO, |(from, to)| to.since(from));
        let passed = Bytes::new(end.bytes - first.bytes);
        let is_at_once =
            end.packets - first.packets >= RATE_PACKETS && arrived < rtt.mul_f64(AT_ONCE);
        let by_path = sent.mul_f64(1.1) < arrived && !is_at_once;
        let over = arrived.max(sent).max(BURST_TIME);
        rates.push((Rate::over(passed, over), by_path, 0));
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: f64 = 0.1;
    const QUIC: f64 = 0.25;

    /// Packets of 1250 bytes that arrive `together` at once, on average `mbps`.
    fn batches(mbps: u64, together: u64, packets: u64) -> Vec<Passed> {
        let of = |index: u64| {
            let batch = index / together * together;
            (None, Time::from_nanos(batch * 10_000_000 / mbps), 1250)
        };
        (0..packets).map(of).collect()
    }

    #[test]
    fn batches_do_not_show_a_rate_that_no_link_has() {
        let rtt = Span::from_millis(30);
        for together in [1, 8, 45] {
            let seen = highest_rate(&batches(100, together, 1400), rtt, TCP).expect("a rate");
            let mbps = seen.rate.as_mbps_f64();
            assert!((99.0..=101.0).contains(&mbps) && seen.is_sustained, "{together}: {mbps}");
        }
    }

    #[test]
    fn a_few_bursts_of_an_end_that_was_late_show_no_rate() {
        // 3 Mbps, but of each second a fifth comes at once, as its receiver slept.
        let of = |index: u64| {
            let at = index * 10_000_000 / 3;
            let second = at / 1_000_000_000;
            let late = at - second * 1_000_000_000 < 200_000_000;
            let woken = second * 1_000_000_000 + 200_000_000 + index % 60 * 20_000;
            (None, Time::from_nanos(if late { woken } else { at.max(woken) }), 1250)
        };
        let packets: Vec<Passed> = (0..3000).map(of).collect();
        let seen = highest_rate(&packets, Span::from_millis(40), QUIC).expect("a rate");
        let mbps = seen.rate.as_mbps_f64();
        assert!((2.9..=4.0).contains(&mbps), "{mbps}");
    }

    #[test]
    fn one_batch_of_tcp_does_not_show_a_rate_that_others_do_not() {
        // 28 Mbps for 40 ms of each 240 ms; the second burst came three times as fast.
        let burst = |round: u64| {
            let apart = if round == 1 { 120_000 } else { 360_000 };
            (0..110).map(move |index| {
                let sent = Time::from_nanos(round * 240_000_000 + index * 10_000);
                let at = Time::from_nanos((round + 1) * 240_000_000 + index * apart);
                (Some(sent), at, 1250)
            })
        };
        let packets: Vec<Passed> = (0..20).flat_map(burst).collect();
        let seen = highest_rate(&packets, Span::from_millis(240), TCP).expect("a rate");
        assert!((seen.rate.as_mbps_f64() - 28.0).abs() < 1.0 && seen.by_path, "{seen:?}");
    }

    #[test]
    fn what_a_link_held_together_and_passed_on_at_once_shows_no_rate() {
        // 60 packets of a window within 5 ms, once in a round trip of 600 ms.
        let burst = |round: u64| {
            (0..60).map(move |index| {
                let sent = Time::from_nanos(round * 600_000_000 + index * 1000);
                (Some(sent), Time::from_nanos((round + 1) * 600_000_000 + index * 80_000), 1250)
            })
        };
        let packets: Vec<Passed> = (0..5).flat_map(burst).collect();
        let seen = highest_rate(&packets, Span::from_millis(600), TCP).expect("a rate");
        assert!(!seen.by_path && seen.proven.as_mbps_f64() < 2.0, "{seen:?}");
    }

    #[test]
    fn answers_of_a_few_packets_do_not_show_the_rate_of_the_path() {
        // Over a link of 8 Mbps, an acknowledgement of each second packet and, 25 ms later, of the
        // last one.
        let answers = |packets: u64| {
            let answer = move |round: u64| {
                (0..packets).map(move |index| {
                    let sent = round * 600_000;
                    let held = if index + 1 == packets { 25_000 } else { 0 };
                    let at = sent + 500_000 + (index / 2 * 2 + 2) * 1250 + held;
                    let time = |micros| Time::ZERO + Span::from_micros(micros);
                    (Some(time(sent + index)), time(at), 1250)
                })
            };
            let passed: Vec<Passed> = (0..8).flat_map(answer).collect();
            highest_rate(&passed, Span::from_millis(500), QUIC).expect("a rate")
        };
        assert!(!answers(5).by_path, "{:?}", answers(5));
        let many = answers(41);
        assert!(many.by_path && (7.0..=8.5).contains(&many.rate.as_mbps_f64()), "{many:?}");
    }

    #[test]
    fn a_burst_shows_the_link_but_not_for_a_round_trip() {
        // 100 packets at 50 Mbps each 600 ms.
        let burst = |round: u64| {
            let at = move |index: u64| Time::from_nanos(round * 600_000_000 + index * 200_000);
            (0..100).map(move |index| (None, at(index), 1250))
        };
        let packets: Vec<Passed> = (0..4).flat_map(burst).collect();
        let seen = highest_rate(&packets, Span::from_millis(600), TCP).expect("a rate");
        assert!((seen.rate.as_mbps_f64() - 50.0).abs() < 1.0 && !seen.is_sustained, "{seen:?}");
    }
}

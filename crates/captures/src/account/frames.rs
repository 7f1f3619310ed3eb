//! Links that carry data in frames: whatever waits for one arrives at its end, so that all that
//! arrives does so at the times of a grid, whenever it was sent.

use super::answers::answers;
use super::asks::ACK_DELAY;
use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_units::{Span, Time};

/// Silence that separates what arrives with one frame from what arrives with the next, and so the
/// shortest frame that is found.
const SILENCE: Span = Span::from_millis(50);
/// Longest frame.
const LONGEST: Span = Span::from_secs(3);
/// Fewest frames that show a grid, and the most that are looked at.
const LEAST: usize = 5;
const MOST: usize = 1000;
/// Share of the arrivals that have to be on the grid, and how far from it they may be, as a time
/// and as a share of the frame.
const ON_GRID: f64 = 0.8;
const OFF: Span = Span::from_millis(6);
const OFF_SHARE: f64 = 0.015;
/// The same for acknowledgements, which are held back for up to 25 ms.
const OFF_HELD: Span = Span::from_millis(16);
/// Most periods that are tried, from each of so many first arrivals.
const TRIES: usize = 50;
const BEGINS: usize = 4;
/// Share of a frame in which what it brings has to arrive.
const BURST: f64 = 0.5;
/// Share of a frame below which a round trip shows that frames, and not round trips, are what the
/// arrivals are apart.
const FAST: f64 = 0.93;
/// Share of the arrivals that may come a shortest round trip after something was sent: more do if
/// it is this end's clock that they follow.
pub const BY_OWN: f64 = 0.5;
/// How far from that they may be, as a time and as a share of the round trip.
pub const NEAR: Span = Span::from_millis(3);
const NEAR_SHARE: f64 = 0.05;
/// Share by which the RTT of a handshake may be longer than that of other packets.
const SIGNED: f64 = 0.15;
/// Share of the time of a burst from which on its acknowledgements are as far apart as it was.
const KEPT: f64 = 0.5;

/// Share of a frame from which on an acknowledgement that was held back for so long, as it says,
/// did not wait for one.
const HELD: f64 = 0.5;

/// The frames in which a link carries data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frames {
    /// Time between frames.
    pub period: Span,
    /// Estimate of the round trip without them.
    pub round_trip: Span,
}

/// What arrives together: its first and its last time, and for how long the other end says that it
/// held the first acknowledgement back.
#[derive(Debug, Clone, Copy)]
struct Group {
    first: Time,
    last: Time,
    held: Span,
}

/// Times, in nanoseconds, that are whole periods apart, and how far from them counts as near.
#[derive(Debug, Clone, Copy)]
struct Grid {
    origin: f64,
    period: f64,
    near: f64,
}

impl Grid {
    /// Returns true if a time is near the grid.
    fn has(&self, at: Time) -> bool {
        let periods = (nanos(at) - self.origin) / self.period;
        (periods - periods.round()).abs() * self.period <= self.near
    }

    /// Returns the grid that most of these times are near to, of those whose period is about
    /// `apart`, beyond those that are near a grid of that period by chance.
    fn find(times: &[Time], apart: Span, near: Span) -> Option<Self> {
        let apart = apart.as_nanos() as f64;
        let near = near.as_nanos() as f64;
        let of = |first: &Time, last: &Time| {
            let took = nanos(*last) - nanos(*first);
            let periods = (took / apart).round().max(1.0);
            let grid = Self { origin: nanos(*first), period: took / periods, near };
            let on = times.iter().filter(|at| grid.has(**at)).count() as f64;
            (on - times.len() as f64 * (2.0 * near / grid.period).min(1.0), grid)
        };
        // The first may follow the clock of its sender.
        let begins = times.iter().enumerate().take(BEGINS);
        let all = begins.flat_map(|(index, first)| {
            times.iter().skip(index + 1).take(TRIES).map(move |last| of(first, last))
        });
        let all = all.filter(|(_, grid)| grid.period > 0.0);
        let (_, grid) = all.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        grid.fitted(times)
    }

    /// Returns the grid that is nearest to those of the times that are near this one.
    fn fitted(self, times: &[Time]) -> Option<Self> {
        let points: Vec<(f64, f64)> = times
            .iter()
            .filter(|at| self.has(**at))
            .map(|at| nanos(*at) - self.origin)
            .map(|at| ((at / self.period).round(), at))
            .collect();
        let count = points.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let period = common / spread;
        let origin = self.origin + mean_y - mean_x * period;
        (spread > 0.0 && period > 0.0).then_some(Self { origin, period, ..self })
    }
}

fn nanos(at: Time) -> f64 {
    at.since_start().as_nanos() as f64
}

impl Frames {
    /// Finds the frames of a link towards the end that recorded a trace, or, if that `is_sender`
    /// of the data, those after which the data is acknowledged. `None` if there are none, or if
    /// what arrives may as well follow from round trips or from what this end does.
    pub fn find(trace: &CapturedConnection, is_sender: bool) -> Option<Self> {
        // Of packets that are not opened, only those of the handshake say what they acknowledge.
        let is_known = |packet: &Packet| !(trace.is_encrypted && packet.is_application);
        let answers: Vec<_> = answers(trace, is_known).collect();
        let smallest = answers.iter().map(|(_, took)| *took).min()?;
        let groups = groups(trace, is_sender, trace.is_encrypted);
        let starts: Vec<Time> = groups.iter().map(|group| group.first).collect();
        let mut apart: Vec<Span> = starts.windows(2).map(|two| two[1].since(two[0])).collect();
        apart.sort_unstable();
        let median = *apart.get(apart.len() / 2)?;
        let off = if is_sender { OFF_HELD } else { OFF };
        let grid = Grid::find(&starts, median, off.max(median.mul_f64(OFF_SHARE)))?;
        let period = Span::from_nanos(grid.period as u64);
        if period < SILENCE || period > LONGEST || smallest >= period.mul_f64(FAST) {
            return None;
        }
        let short = |group: &&Group| group.last.since(group.first) <= period.mul_f64(BURST);
        let on_grid = groups.iter().filter(short).filter(|group| grid.has(group.first)).count();
        let is_grid = on_grid >= LEAST && on_grid as f64 >= ON_GRID * groups.len() as f64;
        // The quickest answers had to wait for the grid, too. After the last group, none is known.
        let end = groups.last()?.last;
        let looked_at = answers.iter().filter(|(at, _)| *at <= end);
        let mut fast = looked_at.filter(|(_, took)| *took < period.mul_f64(FAST));
        let all = self::groups(trace, is_sender, false);
        let waited = fast.all(|(at, took)| in_frame(&all, &grid, *at, *took));
        let keeps = is_sender && trace.is_encrypted && keeps_bursts(trace, &groups);
        let follows = || follows_own(trace, is_sender, &starts, smallest);
        // The other end's timer, which begins with what came, makes a grid of round trips.
        let held = groups.iter().filter(|group| group.held >= period.mul_f64(HELD)).count();
        let is_held = is_sender && held as f64 >= BY_OWN * groups.len() as f64;
        let is_frames = is_grid && waited && !keeps && !is_held && !follows();
        // A packet that leaves at any time waits for half a frame on average.
        let round_trip = smallest.saturating_sub(period.mul_f64(0.5));
        is_frames.then_some(Self { period, round_trip })
    }

    /// Returns how much of the time of round trips these take without frames.
    pub fn needed(&self, took: Span) -> Span {
        let whole = (self.period + self.round_trip).as_secs_f64().max(1e-9);
        let trips = (took.as_secs_f64() / whole).ceil();
        self.round_trip.mul_f64(trips).min(took)
    }

    /// Returns how much of a wait that ends with a frame was for that frame.
    pub fn wait(&self, silence: Span) -> Span {
        silence.min(self.period).saturating_sub(self.round_trip)
    }
}

/// Returns true if an answer at a time, which took so long, is in a group that begins on the grid
/// after what it answers had been sent: what is sent after a frame has to wait for the next.
fn in_frame(groups: &[Group], grid: &Grid, at: Time, took: Span) -> bool {
    let after = groups.partition_point(|group| group.first <= at);
    let group = after.checked_sub(1).and_then(|index| groups.get(index));
    let sent = at.saturating_sub(took);
    group.is_some_and(|group| grid.has(group.first) && at <= group.last && sent < group.first)
}

/// Returns true if arrivals come a shortest round trip after something that this end sent.
fn follows_own(trace: &CapturedConnection, is_sender: bool, starts: &[Time], rtt: Span) -> bool {
    let sent = trace.events.iter().filter(|(_, event)| matches!(event, Event::Sent(_)));
    let mut sent: Vec<Time> = sent.map(|(at, _)| *at).collect();
    if is_sender && trace.is_encrypted {
        // Among the many packets of a burst, one is as long before as the round trip of the
        // handshake by chance. The first acknowledgement is that of its first packet.
        sent = bursts(&sent).filter_map(|burst| burst.first().copied()).collect();
    }
    let near = NEAR.max(rtt.mul_f64(NEAR_SHARE));
    let (mut early, mut late) = (near, near);
    if is_sender && trace.is_encrypted {
        // The RTT of a handshake has the time of a signature in it, and acknowledgements are held
        // back.
        (early, late) = (near.max(rtt.mul_f64(SIGNED)), near + ACK_DELAY);
    }
    let follows = |start: &&Time| follows(**start, &sent, rtt, (early, late));
    starts.iter().filter(follows).count() as f64 >= BY_OWN * starts.len() as f64
}

/// Returns true if an arrival comes a round trip after one of the times in which this end `sent`,
/// but for so much that it may be early or late.
pub fn follows(arrival: Time, sent: &[Time], rtt: Span, (early, late): (Span, Span)) -> bool {
    let index = sent.partition_point(|at| *at + rtt + late < arrival);
    sent.get(index).is_some_and(|at| *at + rtt <= arrival + early)
}

/// Divides times at silences.
fn bursts(times: &[Time]) -> impl Iterator<Item = &[Time]> {
    times.chunk_by(|one, next| next.since(*one) < SILENCE)
}

/// Returns true if a burst of this end is acknowledged over as long a time as it was sent in: a
/// frame brings all of it at once. Only long bursts tell.
fn keeps_bursts(trace: &CapturedConnection, groups: &[Group]) -> bool {
    let sent = trace.events.iter().filter(|(_, event)| matches!(event, Event::Sent(_)));
    let sent: Vec<Time> = sent.map(|(at, _)| *at).collect();
    let (mut all, mut kept) = (0, 0);
    for burst in bursts(&sent) {
        let (Some(begin), Some(end)) = (burst.first(), burst.last()) else { continue };
        let after = groups.partition_point(|group| group.first <= *end);
        let Some(group) = groups.get(after) else { break };
        let took = end.since(*begin);
        if took >= SILENCE {
            all += 1;
            kept += usize::from(group.last.since(group.first) >= took.mul_f64(KEPT));
        }
    }
    kept * 2 > all
}

/// Returns what arrived together. At the sender of the data, that is what acknowledges more of it:
/// what else the other end sends follows its own clock. Without keys, `by_size`, that is what has
/// neither data nor belongs to the handshake.
fn groups(trace: &CapturedConnection, is_sender: bool, by_size: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut largest = [None; 2];
    for (at, event) in &trace.events {
        let Event::Received(packet) = event else { continue };
        if is_sender && by_size && (!packet.is_application || !packet.data.is_empty()) {
            continue;
        }
        if is_sender && !trace.is_encrypted {
            let newest = packet.largest_acknowledged();
            let known = &mut largest[usize::from(packet.is_application)];
            if newest <= *known {
                continue;
            }
            *known = newest;
        }
        if let Some(last) = groups.last_mut()
            && at.since(last.last) < SILENCE
        {
            last.last = *at;
        } else if groups.len() < MOST {
            let held = packet.details.ack_delay.unwrap_or_default();
            groups.push(Group { first: *at, last: *at, held });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Side, StreamPart, Transport};

    /// A client of QUIC that asks at the given times and acknowledges at once what answers, in
    /// milliseconds; `arrives` says when something does that left it at a time.
    fn client(asks: &[u64], rounds: u64, arrives: impl Fn(u64) -> u64) -> CapturedConnection {
        let packet = |number, acknowledged: Option<u64>| Packet {
            is_application: true,
            number,
            is_eliciting: true,
            acknowledged: acknowledged.map(|one| (one, one)).into_iter().collect(),
            ..Packet::default()
        };
        let mut events = Vec::new();
        for (number, ask) in (0..).zip(asks) {
            events.push((*ask, Event::Sent(packet(number, None))));
            events.push((arrives(*ask), Event::Received(packet(number, Some(number)))));
        }
        let mut now = events.last().map_or(0, |(at, _)| *at);
        for number in (asks.len() as u64..).take(rounds as usize) {
            events.push((now, Event::Sent(packet(number, None))));
            now = arrives(now);
            events.push((now, Event::Received(packet(number, Some(number)))));
            events.push((now + 3, Event::Received(packet(number, None))));
        }
        events.sort_by_key(|(at, _)| *at);
        CapturedConnection {
            events: events.into_iter().map(|(at, one)| (Time::from_millis(at), one)).collect(),
            ..CapturedConnection::empty(Transport::Quic, Side::Client)
        }
    }

    #[test]
    fn what_arrives_on_a_grid_whenever_it_was_asked_waited_for_frames() {
        // Frames of 500 ms, and a round trip of 60 ms.
        let frame = |sent: u64| (sent + 60).div_ceil(500) * 500 + 7;
        let trace = client(&[200, 700], 6, frame);
        let frames = Frames::find(&trace, false).expect("frames");
        assert!((frames.period.as_millis_f64() - 500.0).abs() < 1.0, "{frames:?}");
        assert!(Frames::find(&trace, true).is_some(), "its sender, too");
        assert!(frames.wait(Span::from_millis(500)) > Span::from_millis(400));
        assert!(frames.needed(Span::from_millis(1000)) < Span::from_millis(200));
    }

    #[test]
    fn acknowledgements_that_say_they_were_held_back_did_not_wait_for_frames() {
        let frame = |sent: u64| (sent + 60).div_ceil(500) * 500 + 7;
        let mut trace = client(&[200, 700], 6, frame);
        for (_, event) in &mut trace.events {
            if let Event::Received(packet) = event {
                packet.details.ack_delay = Some(Span::from_millis(400));
            }
        }
        assert_eq!(Frames::find(&trace, true), None);
    }

    #[test]
    fn frames_are_found_in_a_file_of_more_than_are_looked_at() {
        let frame = |sent: u64| (sent + 60).div_ceil(500) * 500 + 7;
        let asks: Vec<u64> =
            (0..MOST as u64 + 100).map(|index| index * 500 + 200 + index * 37 % 200).collect();
        assert!(Frames::find(&client(&asks, 0, frame), false).is_some());
    }

    #[test]
    fn round_trips_and_requests_at_regular_times_are_no_frames() {
        let path = |sent| sent + 500;
        assert_eq!(Frames::find(&client(&[0], 8, path), false), None, "round trips");
        let asks: Vec<u64> = (0..8).map(|index| index * 1000).collect();
        let near = |sent| sent + 40;
        assert_eq!(Frames::find(&client(&asks, 0, near), false), None, "asked each second");
        // A server that writes each second, and answers at once at first.
        let paced = |sent: u64| if sent < 50 { sent + 30 } else { (sent / 1000 + 1) * 1000 };
        assert_eq!(Frames::find(&client(&[0, 30], 8, paced), false), None, "paced");
        // Acknowledged at once at first, and then held back for 400 ms.
        let held = |sent| if sent < 100 { sent + 40 } else { sent + 440 };
        assert_eq!(Frames::find(&client(&[0, 50], 8, held), false), None, "held back");
    }

    /// A server of QUIC without keys: what it sends at a time is acknowledged when `arrives` says.
    /// Each acknowledgement brings packets for 200 ms, in milliseconds.
    fn covered_server(arrives: impl Fn(u64) -> u64) -> CapturedConnection {
        let application = || Packet { is_application: true, ..Packet::default() };
        let answer = Packet { acknowledged: vec![(0, 0)].into(), ..Packet::default() };
        let mut events = vec![
            (20, Event::Received(Packet::default())),
            (100, Event::Sent(Packet::default())),
            (arrives(100), Event::Received(answer)),
        ];
        let mut now = arrives(100);
        for _ in 0..7 {
            let next = arrives(now);
            for after in (0..200).step_by(10) {
                events.push((now + after, Event::Sent(application())));
                events.push((arrives(now + after), Event::Received(application())));
            }
            // The client's own clock.
            let asked = Packet {
                data: vec![StreamPart { stream: 0, offset: 0, length: 90 }].into(),
                ..application()
            };
            events.push((now + 300, Event::Received(asked)));
            now = next;
        }
        events.sort_by_key(|(at, _)| *at);
        CapturedConnection {
            events: events.into_iter().map(|(at, one)| (Time::from_millis(at), one)).collect(),
            is_encrypted: true,
            ..CapturedConnection::empty(Transport::Quic, Side::Server)
        }
    }

    #[test]
    fn without_keys_a_sender_of_long_bursts_shows_frames_and_a_long_path_shows_none() {
        let frame = |sent: u64| (sent + 60).div_ceil(500) * 500 + 7;
        let frames = Frames::find(&covered_server(frame), true).expect("frames");
        assert!((frames.period.as_millis_f64() - 500.0).abs() < 1.0, "{frames:?}");
        // A queue of the data makes round trips longer than that of the handshake.
        let path = |sent: u64| if sent < 200 { sent + 400 } else { sent + 500 };
        assert_eq!(Frames::find(&covered_server(path), true), None);
    }
}

//! When stations have had a satellite, from which follows when links over the sky existed.

use bentpipe_orbit::Topology;
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A link over the sky.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkyLink {
    /// From this station to whichever satellite it uses.
    Up(usize),
    /// From this satellite to this station.
    Down(u32, usize),
    /// From this satellite to all stations below it.
    Ground(u32),
}

/// A change of one station.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// It has begun to use a satellite.
    Attached(u32),
    /// It uses a satellite no more.
    Left(u32),
    /// A handover silences it until then.
    Outage(Time),
}

/// The changes of all stations in the order of time.
#[derive(Debug, Default)]
pub struct CoverageLog {
    changes: Vec<(Time, usize, Change)>,
    /// Satellites that each station uses, and the end of its last outage.
    now: Vec<(Vec<u32>, Time)>,
}

impl CoverageLog {
    /// Creates the log of the stations of `topology`, which holds from the start of the run.
    pub fn new(topology: &Topology, stations: usize) -> Self {
        let mut log = Self { changes: Vec::new(), now: vec![(Vec::new(), Time::ZERO); stations] };
        log.update(Time::ZERO, topology);
        log
    }

    /// Adds what differs in `topology`, which holds from `at` on.
    pub fn update(&mut self, at: Time, topology: &Topology) {
        for (station, (satellites, outage)) in self.now.iter_mut().enumerate() {
            let until = topology.outage_until(station);
            if until > at && until != *outage {
                *outage = until;
                self.changes.push((at, station, Change::Outage(until)));
            }
            let attached = topology.attached(station);
            if attached == satellites.as_slice() {
                continue;
            }
            let left = satellites.iter().filter(|satellite| !attached.contains(satellite));
            let new = attached.iter().filter(|satellite| !satellites.contains(satellite));
            let changes = left.copied().map(Change::Left).chain(new.copied().map(Change::Attached));
            self.changes.extend(changes.map(|change| (at, station, change)));
            satellites.clear();
            satellites.extend_from_slice(attached);
        }
    }

    /// Returns the times up to `end`, from and until, in which `link` could carry nothing: a
    /// handover silenced its station, or satellite and station were not linked.
    pub fn outages(&self, link: SkyLink, end: Time) -> Vec<(Time, Time)> {
        // Satellites in use and the end of the outage, of each station concerned.
        let mut stations: BTreeMap<usize, (usize, Time)> = BTreeMap::new();
        let mut outages = Vec::new();
        let mut since = Some(Time::ZERO);
        let mut settle = |at: Time, stations: &BTreeMap<usize, (usize, Time)>| {
            let up = stations.values().any(|(links, outage)| *links > 0 && *outage <= at);
            match since {
                Some(from) if up => {
                    outages.extend((from < at).then_some((from, at)));
                    since = None;
                }
                None if !up => since = Some(at),
                _ => {}
            }
        };
        let concerns = |satellite: u32, station: usize| match link {
            SkyLink::Up(own) => own == station,
            SkyLink::Down(from, own) => own == station && from == satellite,
            SkyLink::Ground(from) => from == satellite,
        };
        let mut silent_until = Time::MAX;
        let mut changes = self.changes.iter().filter(|(at, ..)| *at <= end).peekable();
        while let Some(&(at, station, change)) = changes.next() {
            while silent_until < at {
                settle(silent_until, &stations);
                silent_until = next_end(&stations, silent_until);
            }
            match change {
                Change::Attached(satellite) if concerns(satellite, station) => {
                    stations.entry(station).or_insert((0, Time::ZERO)).0 += 1;
                }
                Change::Left(satellite) if concerns(satellite, station) => {
                    let links = &mut stations.entry(station).or_insert((0, Time::ZERO)).0;
                    *links = links.saturating_sub(1);
                }
                Change::Outage(until) => {
                    stations.entry(station).or_insert((0, Time::ZERO)).1 = until;
                }
                Change::Attached(_) | Change::Left(_) => {}
            }
            if changes.peek().is_none_or(|(next, ..)| *next > at) {
                settle(at, &stations);
                silent_until = next_end(&stations, at);
            }
        }
        while silent_until <= end {
            settle(silent_until, &stations);
            silent_until = next_end(&stations, silent_until);
        }
        outages.extend(since.filter(|from| *from < end).map(|from| (from, Time::MAX)));
        outages
    }
}

/// Returns the first end of an outage after `at`, or [`Time::MAX`].
fn next_end(stations: &BTreeMap<usize, (usize, Time)>, at: Time) -> Time {
    let ends = stations.values().map(|(_, outage)| *outage).filter(|outage| *outage > at);
    ends.min().unwrap_or(Time::MAX)
}

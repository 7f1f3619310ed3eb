//! A network at one time.

use crate::selection::{SLOT, SLOT_OFFSET, VisibleSatellite, choose};
use crate::{Ecef, Ephemeris, Network, Node, OrbitError, SPEED_OF_LIGHT, SatelliteSelection};
use bentpipe_units::{Span, Time};

mod visibility;
mod visibility_end;

/// The delay of an ISL that cannot be used now.
pub(crate) const NO_LINK: u32 = u32::MAX;

/// The network at one time: positions, visible satellites and attachments.
///
/// Selections with a memory (longest visibility, slots) depend on the times through which the
/// topology has advanced: [`Topology::new`], then [`Topology::advance`] with ascending times. A
/// station notices events between two of those times (a slot starts, its satellite sets) at the
/// second one. Selections are as fine as the steps, and outages start there.
#[derive(Debug, Clone)]
pub struct Topology {
    at: Time,
    ephemeris: Ephemeris,
    /// Satellites, then stations.
    positions: Vec<Ecef>,
    /// Of station `s`: from `visible_starts[s]` to `visible_starts[s + 1]`.
    visible: Vec<VisibleSatellite>,
    visible_starts: Vec<u32>,
    /// Satellites attached to station `s`: `attached_starts[s]` to `attached_starts[s + 1]`.
    attached: Vec<u32>,
    attached_starts: Vec<u32>,
    outage_until: Vec<Time>,
    /// Delay of each inter-satellite link in nanoseconds, or [`NO_LINK`].
    isl_ns: Vec<u32>,
}

impl Topology {
    /// Creates the network at `at`.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub fn new(network: &Network, at: Time) -> Result<Self, OrbitError> {
        let stations = network.stations().len();
        let mut made = Self {
            at,
            ephemeris: Ephemeris::new(network.begins()),
            positions: Vec::with_capacity(network.nodes()),
            visible: Vec::new(),
            visible_starts: Vec::with_capacity(stations + 1),
            attached: Vec::new(),
            attached_starts: vec![0; stations + 1],
            outage_until: vec![Time::ZERO; stations],
            isl_ns: Vec::with_capacity(network.isls().len()),
        };
        made.advance(network, at)?;
        // The initial attachment is no handover.
        made.outage_until.fill(Time::ZERO);
        Ok(made)
    }

    /// Replaces this topology by that which follows `before` at `at`, reusing memory.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub(crate) fn follow(
        &mut self,
        network: &Network,
        before: &Self,
        at: Time,
    ) -> Result<(), OrbitError> {
        self.at = before.at;
        self.ephemeris.clone_from(&before.ephemeris);
        self.attached.clone_from(&before.attached);
        self.attached_starts.clone_from(&before.attached_starts);
        self.outage_until.clone_from(&before.outage_until);
        self.advance(network, at)
    }

    /// Advances to `at`.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub fn advance(&mut self, network: &Network, at: Time) -> Result<(), OrbitError> {
        self.ephemeris.positions(network.constellation(), at, &mut self.positions)?;
        let new_slot = slot(network, at) != slot(network, self.at);
        self.at = at;
        visibility::visible_satellites(
            network,
            &self.positions,
            &mut self.visible,
            &mut self.visible_starts,
        );
        self.positions.extend_from_slice(network.station_positions());
        self.attach(network, new_slot);
        self.measure_isls(network);
        Ok(())
    }

    /// Selects the satellites of each station.
    fn attach(&mut self, network: &Network, new_slot: bool) {
        let before = std::mem::take(&mut self.attached);
        let before_starts = std::mem::take(&mut self.attached_starts);
        self.attached.reserve(before.len());
        self.attached_starts.push(0);
        for (index, station) in network.stations().iter().enumerate() {
            let visible = &self.visible
                [self.visible_starts[index] as usize..self.visible_starts[index + 1] as usize];
            if station.selection == SatelliteSelection::All {
                self.attached.extend(visible.iter().map(|satellite| satellite.satellite));
            } else {
                let current = before
                    [before_starts[index] as usize..before_starts[index + 1] as usize]
                    .first()
                    .copied();
                let mut visible_until =
                    |satellite| visibility_end::visible_until(network, index, satellite, self.at);
                let chosen =
                    choose(station.selection, visible, current, new_slot, &mut visible_until);
                let satellite = chosen.map(|chosen| visible[chosen].satellite);
                if satellite.is_some() && satellite != current {
                    self.outage_until[index] = self.at + station.handover_outage;
                }
                self.attached.extend(satellite);
            }
            self.attached_starts.push(self.attached.len() as u32);
        }
    }

    fn measure_isls(&mut self, network: &Network) {
        let positions = &self.positions;
        let range = network.max_isl_length_m();
        let clear_m = visibility::clear_length_m(&positions[..network.satellites()]);
        let length = |&(a, b): &(Node, Node)| {
            let (a, b) = (positions[a.0 as usize], positions[b.0 as usize]);
            let distance_m = a.distance_m(b);
            let open = match range {
                Some(range) => distance_m <= range,
                None => distance_m < clear_m || visibility::clear_of_ground(a, b),
            };
            if open { nanos(distance_m) } else { NO_LINK }
        };
        self.isl_ns.clear();
        self.isl_ns.extend(network.isls().iter().map(length));
    }

    /// Returns the time of the topology.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the Earth-fixed position of `node`, the Earth's centre for a node of another
    /// network.
    pub fn position(&self, node: Node) -> Ecef {
        self.positions.get(node.0 as usize).copied().unwrap_or_default()
    }

    /// Returns the satellites visible from station `index`, highest first.
    pub fn visible(&self, index: usize) -> &[VisibleSatellite] {
        slice(&self.visible, &self.visible_starts, index)
    }

    /// Returns the satellites attached to station `index`: all visible ones, one, or none.
    pub fn attached(&self, index: usize) -> &[u32] {
        slice(&self.attached, &self.attached_starts, index)
    }

    /// End of the handover outage of station `index`; [`Time::ZERO`] if there is none.
    pub fn outage_until(&self, index: usize) -> Time {
        self.outage_until.get(index).copied().filter(|&until| until > self.at).unwrap_or(Time::ZERO)
    }

    /// Returns true if two nodes are linked now: by an ISL within range, an attachment, or a fibre.
    pub fn has_link(&self, network: &Network, a: Node, b: Node) -> bool {
        match (network.station_of(a), network.station_of(b)) {
            (None, None) => {
                let open =
                    |&(to, link): &(u32, u32)| to == b.0 && self.isl_ns[link as usize] != NO_LINK;
                network.isls_of(a.0).iter().any(open)
            }
            (Some(station), None) => self.attached(station).contains(&b.0),
            (None, Some(station)) => self.attached(station).contains(&a.0),
            (Some(_), Some(_)) => network.fibre(a, b).is_some(),
        }
    }

    /// Propagation delay between two nodes, along a straight line or over their fibre. At least a
    /// nanosecond.
    pub fn delay(&self, network: &Network, a: Node, b: Node) -> Span {
        let fibre = match (network.station_of(a), network.station_of(b)) {
            (Some(_), Some(_)) => network.fibre(a, b),
            _ => None,
        };
        fibre.unwrap_or_else(|| {
            Span::from_nanos(u64::from(nanos(self.position(a).distance_m(self.position(b)))))
        })
    }

    /// Returns true if inter-satellite link `link` is within range.
    pub(crate) fn has_isl(&self, link: usize) -> bool {
        self.isl_ns[link] != NO_LINK
    }

    /// Returns the delay of inter-satellite link `link` in nanoseconds, or [`NO_LINK`].
    pub(crate) fn isl_ns(&self, link: usize) -> u32 {
        self.isl_ns[link]
    }
}

/// Returns the propagation delay in nanoseconds over a straight line.
///
/// At least one, so that no cycle of links has length zero and shortest paths are unique. At most
/// 4.3 s, three times the distance of the Moon.
fn nanos(distance_m: f64) -> u32 {
    let nanos = (distance_m * (1e9 / SPEED_OF_LIGHT)).clamp(1.0, f64::from(NO_LINK - 1));
    // Rounds half up. `f64::round` is a function call on processors without SSE 4.1.
    (nanos + 0.5) as u32
}

/// Returns the number of the slot of [`SatelliteSelection::Slots`] that contains `at`, in UTC.
fn slot(network: &Network, at: Time) -> i128 {
    let wall =
        i128::from(network.begins().as_unix_millis()) * 1_000_000 + i128::from(at.as_nanos());
    (wall - i128::from(SLOT_OFFSET.as_nanos())).div_euclid(i128::from(SLOT.as_nanos()))
}

/// Returns part `index` of `all`, whose parts start at `starts`. Empty beyond the last.
fn slice<'a, T>(all: &'a [T], starts: &[u32], index: usize) -> &'a [T] {
    match (starts.get(index), starts.get(index + 1)) {
        (Some(&start), Some(&end)) => &all[start as usize..end as usize],
        _ => &[],
    }
}

#[cfg(test)]
mod tests;

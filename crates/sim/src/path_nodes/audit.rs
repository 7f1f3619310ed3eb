//! State of nodes for the checks at the end of a run.

use super::{DIRECTIONS, Due, PathNodes, Point, count};
use crate::checks::{LinkAudit, NodeAudit};
use crate::node::PathDirection;
use bentpipe_link::{Counters, PacketTotals};

impl PathNodes {
    /// Returns the state of all nodes for the checks at the end of a run with these links.
    pub fn audits<'a>(&'a self, links: &[LinkAudit<'_>]) -> Vec<NodeAudit<'a>> {
        let mut audits = Vec::new();
        for point in &self.points {
            for toward in DIRECTIONS {
                let order = point.in_order(toward);
                let left = |number: usize| self.nodes[number].counters[toward as usize].left;
                for (at, &number) in order.iter().enumerate() {
                    let next = order.get(at + 1);
                    let is_entrance = point.is_entrance(toward);
                    let node = &self.nodes[number];
                    audits.push(NodeAudit {
                        name: &node.name,
                        counters: node.counters[toward as usize],
                        held: self.held(number, toward),
                        offered: match at.checked_sub(1) {
                            Some(before) => Some(left(order[before])),
                            None => (!is_entrance).then(|| {
                                of_links(point, toward, links, |c| (c.packets_out, c.bytes_out))
                            }),
                        },
                        taken: match next {
                            Some(&next) => Some(self.nodes[next].counters[toward as usize].arrived),
                            None => is_entrance.then(|| {
                                of_links(point, toward, links, |c| (c.packets_in, c.bytes_in))
                            }),
                        },
                    });
                }
            }
        }
        audits
    }

    /// Returns the packets in this direction that node `number` delays.
    fn held(&self, number: usize, toward: PathDirection) -> PacketTotals {
        let mut held = PacketTotals::default();
        for due in self.due.values() {
            if let Due::Packet(at, _, packet) = due
                && (*at, packet.payload.toward) == (number, toward)
            {
                count(&mut held, packet.bytes);
            }
        }
        held
    }
}

/// Adds up what `counted` returns of the links of a point in one direction, each of which several
/// terminals may share.
fn of_links(
    point: &Point,
    toward: PathDirection,
    links: &[LinkAudit<'_>],
    counted: impl Fn(&Counters) -> (u64, u64),
) -> PacketTotals {
    let mut numbers: Vec<usize> = point.links.iter().map(|by| by[toward as usize].0).collect();
    numbers.dedup();
    let mut sum = PacketTotals::default();
    for number in numbers {
        let (packets, bytes) = counted(&links[number].counters);
        sum.packets += packets;
        sum.bytes += bytes;
    }
    sum
}

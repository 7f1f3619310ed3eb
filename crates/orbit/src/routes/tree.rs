//! Shortest-path trees, computed from scratch or repaired.
//!
//! Lengths are integer nanoseconds (plus hops above them), so sums do not depend on their order.
//! The next hop is the neighbour with the lowest index among those on a shortest path. Lengths and
//! next hops therefore depend only on the graph, not on how they were computed.

use super::graph::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Length if there is no path.
pub(super) const FAR: u64 = u64::MAX / 2;
/// No next hop.
pub(super) const NO_NEXT_HOP: u32 = u32::MAX;

/// Buffers of a search, kept to reuse their memory.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchBuffers {
    /// Nodes whose length has decreased and has not been propagated yet, shortest first.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes whose next hop has been set, with the previous one. The first entry of a node has the
    /// value before the search.
    changed: Vec<(u32, u32)>,
}

/// The shortest paths from every node to one destination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShortestPathTree {
    to: u32,
    length: Vec<u64>,
    next: Vec<u32>,
    /// All nodes except `to`, each after its next hop: ordered by length when next hops last
    /// changed.
    order: Vec<u32>,
    /// By node: index of the link to its next hop, as found last.
    place: Vec<u8>,
}

impl ShortestPathTree {
    /// Creates the tree towards `to`. Empty if the graph has no such node.
    pub(super) fn new(graph: &Graph, to: u32, search: &mut SearchBuffers) -> Self {
        let nodes = graph.nodes();
        let order = (0..nodes as u32).filter(|&node| node != to).collect();
        let mut made = Self {
            to,
            length: vec![FAR; nodes],
            next: vec![NO_NEXT_HOP; nodes],
            order,
            place: vec![0; nodes],
        };
        search.changed.clear();
        if let Some(length) = made.length.get_mut(to as usize) {
            *length = 0;
            made.offer_to_neighbours(graph, search, to);
        }
        made.relax(graph, search);
        made.sort();
        made
    }

    /// Repairs the tree for a slightly different graph of the same nodes. Returns true if any next
    /// hop has changed.
    ///
    /// First updates the lengths along the present tree. Then each node checks its neighbours for a
    /// shorter path. Usually there is none, and the tree is still optimal; otherwise Dijkstra's
    /// algorithm repairs the nodes behind the improvements.
    pub(super) fn update(&mut self, graph: &Graph, search: &mut SearchBuffers) -> bool {
        if self.to as usize >= self.next.len() {
            return false;
        }
        search.changed.clear();
        self.update_lengths(graph, search);
        self.offer_to_neighbours(graph, search, self.to);
        self.find_shorter(graph, search);
        self.relax(graph, search);
        if search.changed.is_empty() {
            return false;
        }
        self.insertion_sort();
        // The sort is stable: the first entry of each node stays first.
        search.changed.sort_by_key(|&(node, _)| node);
        search.changed.dedup_by_key(|(node, _)| *node);
        search.changed.iter().any(|&(node, before)| self.next[node as usize] != before)
    }

    /// Updates the lengths along the present tree. They are upper bounds; nodes on broken paths
    /// count as unreachable until a neighbour offers a path.
    fn update_lengths(&mut self, graph: &Graph, search: &mut SearchBuffers) {
        for &node in &self.order {
            let index = node as usize;
            let next = self.next[index];
            if next == NO_NEXT_HOP {
                continue;
            }
            let arcs = if next == self.to { graph.around(node) } else { graph.passing(node) };
            let arc = match arcs.get(usize::from(self.place[index])) {
                Some(arc) if arc.to == next => Some(*arc),
                _ => {
                    let place = arcs.iter().position(|arc| arc.to == next);
                    // A cached index. Beyond 255 it is searched each time.
                    self.place[index] =
                        place.map_or(0, |place| u8::try_from(place).unwrap_or(u8::MAX));
                    place.map(|place| arcs[place])
                }
            };
            match arc {
                Some(arc) if self.length[next as usize] < FAR => {
                    self.length[index] = self.length[next as usize] + graph.length(arc);
                }
                _ => {
                    self.length[index] = FAR;
                    self.next[index] = NO_NEXT_HOP;
                    search.changed.push((node, next));
                }
            }
        }
    }

    /// Each node looks for a forwarding neighbour that gives a shorter path, or an equal one with a
    /// lower index.
    fn find_shorter(&mut self, graph: &Graph, search: &mut SearchBuffers) {
        for node in 0..graph.nodes() as u32 {
            let index = node as usize;
            let known = (self.length[index], self.next[index]);
            let (mut length, mut next) = known;
            for arc in graph.passing(node) {
                let through = self.length[arc.to as usize] + graph.length(*arc);
                // A single condition, which is rarely true.
                if (through < length) | ((through == length) & (arc.to < next)) {
                    (length, next) = (through, arc.to);
                }
            }
            if (length, next) != known {
                self.set_next_hop(search, node, length, next);
            }
        }
    }

    /// Propagates shorter lengths to neighbours, nearest first (Dijkstra 1959).
    fn relax(&mut self, graph: &Graph, search: &mut SearchBuffers) {
        while let Some(Reverse((length, node))) = search.queue.pop() {
            if length == self.length[node as usize] && graph.forwards(node) {
                self.offer_to_neighbours(graph, search, node);
            }
        }
    }

    /// Offers the neighbours of `node` a path through it. Since every improved node does so with
    /// its final length, and all others have been compared, each finds its next hop of lowest
    /// index.
    fn offer_to_neighbours(&mut self, graph: &Graph, search: &mut SearchBuffers, node: u32) {
        let length = self.length[node as usize];
        for arc in graph.around(node) {
            let through = length + graph.length(*arc);
            let (known, next) = (self.length[arc.to as usize], self.next[arc.to as usize]);
            if through < known || (through == known && node < next) {
                self.set_next_hop(search, arc.to, through, node);
            }
        }
    }

    /// Sets a better path of `node` through `next`.
    fn set_next_hop(&mut self, search: &mut SearchBuffers, node: u32, length: u64, next: u32) {
        let known = std::mem::replace(&mut self.length[node as usize], length);
        let before = std::mem::replace(&mut self.next[node as usize], next);
        if length < known {
            search.queue.push(Reverse((length, node)));
        }
        if next != before {
            search.changed.push((node, before));
        }
    }

    fn sort(&mut self) {
        let length = &self.length;
        self.order.sort_unstable_by_key(|&node| (length[node as usize], node));
    }

    /// Insertion sort for nearly sorted input; returns early if it is not.
    fn insertion_sort(&mut self) {
        let mut moves = self.order.len() * 8;
        for index in 1..self.order.len() {
            let node = self.order[index];
            let length = self.length[node as usize];
            let mut place = index;
            while place > 0 && self.length[self.order[place - 1] as usize] > length {
                self.order[place] = self.order[place - 1];
                place -= 1;
            }
            self.order[place] = node;
            moves = moves.saturating_sub(index - place);
            if moves == 0 {
                return self.sort();
            }
        }
    }

    /// Returns the next hop of `node`.
    pub(super) fn next(&self, node: u32) -> Option<u32> {
        self.next.get(node as usize).copied().filter(|&next| next != NO_NEXT_HOP)
    }

    /// Returns the length of the path from `node`.
    pub(super) fn length(&self, node: u32) -> Option<u64> {
        self.length.get(node as usize).copied().filter(|&length| length < FAR)
    }
}

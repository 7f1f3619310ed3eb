//! The shortest ways from everywhere to one node, found anew or repaired.
//!
//! A length is a whole number of nanoseconds (and hops above them), so that sums do not depend on their order. The next hop of a node is, among the
//! neighbours through which its way is shortest, the one of lowest index: lengths and next hops follow from the graph alone, whichever way they were found.

use super::graph::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No way.
pub(super) const FAR: u64 = u64::MAX / 2;
/// No next hop.
pub(super) const NO_NEXT_HOP: u32 = u32::MAX;

/// What a search needs, kept between searches for its memory.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchBuffers {
    /// Nodes whose length has fallen and whose neighbours have not been told, shortest first.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes whose next hop was set, each with the one before: the first of a node is that before the search.
    changed: Vec<(u32, u32)>,
}

/// The shortest ways from every node to one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShortestPathTree {
    to: u32,
    length: Vec<u64>,
    next: Vec<u32>,
    /// All nodes but `to`, each after its next hop: by length when next hops last changed.
    order: Vec<u32>,
    /// By node: where among its links that to its next hop was found last.
    place: Vec<u8>,
}

impl ShortestPathTree {
    /// The ways to `to`, which may be a node that the graph does not have: there is none then.
    pub(super) fn new(graph: &Graph, to: u32, search: &mut SearchBuffers) -> Self {
        let nodes = graph.nodes();
        let order = (0..nodes as u32).filter(|&node| node != to).collect();
        let mut made =
            Self { to, length: vec![FAR; nodes], next: vec![NO_NEXT_HOP; nodes], order, place: vec![0; nodes] };
        search.changed.clear();
        if let Some(length) = made.length.get_mut(to as usize) {
            *length = 0;
            made.offer_to_neighbours(graph, search, to);
        }
        made.relax(graph, search);
        made.sort();
        made
    }

    /// The ways over a graph of the same nodes that differs a little. True where some next hop differs from before.
    ///
    /// First the ways of before get their new lengths. Then each node looks whether some neighbour is a shorter way; nearly always none is, and ways of which
    /// that holds everywhere are the shortest. Where one is, what lies behind it is repaired by a search (Dijkstra's, from there).
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
        // Stable: the first of each node stays the first.
        search.changed.sort_by_key(|&(node, _)| node);
        search.changed.dedup_by_key(|(node, _)| *node);
        search.changed.iter().any(|&(node, before)| self.next[node as usize] != before)
    }

    /// The lengths of the ways of before: no node is farther than that, and each whose way is broken counts as far until it is told of another.
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
                    // A hint: beyond 255 it is searched for each time.
                    self.place[index] = place.map_or(0, |place| u8::try_from(place).unwrap_or(u8::MAX));
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

    /// Each node looks for a neighbour that passes on through which it is nearer, or as near and of lower index.
    fn find_shorter(&mut self, graph: &Graph, search: &mut SearchBuffers) {
        for node in 0..graph.nodes() as u32 {
            let index = node as usize;
            let known = (self.length[index], self.next[index]);
            let (mut length, mut next) = known;
            for arc in graph.passing(node) {
                let through = self.length[arc.to as usize] + graph.length(*arc);
                // One condition, hardly ever true.
                if (through < length) | ((through == length) & (arc.to < next)) {
                    (length, next) = (through, arc.to);
                }
            }
            if (length, next) != known {
                self.set_next_hop(search, node, length, next);
            }
        }
    }

    /// Carries what has become shorter to the neighbours, nearest first (Dijkstra 1959).
    fn relax(&mut self, graph: &Graph, search: &mut SearchBuffers) {
        while let Some(Reverse((length, node))) = search.queue.pop() {
            if length == self.length[node as usize] && graph.forwards(node) {
                self.offer_to_neighbours(graph, search, node);
            }
        }
    }

    /// Tells the neighbours of `node` how far they are through it. As each node that has come nearer does so with its final length, and all others were compared,
    /// each finds its next hop of lowest index.
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

    /// `node` has a better way, through `next`.
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

    /// Sorts by insertion what is nearly sorted; gives up where it is not.
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

    /// The next hop from `node`.
    pub(super) fn next(&self, node: u32) -> Option<u32> {
        self.next.get(node as usize).copied().filter(|&next| next != NO_NEXT_HOP)
    }

    /// The length of the way from `node`.
    pub(super) fn length(&self, node: u32) -> Option<u64> {
        self.length.get(node as usize).copied().filter(|&length| length < FAR)
    }
}

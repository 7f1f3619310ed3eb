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
pub(super) const NOWHERE: u32 = u32::MAX;

/// Nodes whose length has fallen, shortest first; kept between searches for its memory.
pub(super) type Queue = BinaryHeap<Reverse<(u64, u32)>>;

/// The shortest ways from every node to one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    to: u32,
    length: Vec<u64>,
    next: Vec<u32>,
    /// All nodes but `to`, by length at the last step: nearly by length at this one.
    order: Vec<u32>,
}

impl Tree {
    /// The ways to `to`, which may be a node that the graph does not have: there is none then.
    pub(super) fn new(graph: &Graph, to: u32, queue: &mut Queue) -> Self {
        let nodes = graph.nodes();
        let order = (0..nodes as u32).filter(|&node| node != to).collect();
        let mut made = Self { to, length: vec![FAR; nodes], next: vec![NOWHERE; nodes], order };
        made.plant(graph);
        if (to as usize) < nodes {
            queue.extend(graph.around(to).iter().map(|arc| Reverse((graph.length(*arc), arc.to))));
        }
        made.settle(graph, queue);
        made.sort();
        made
    }

    /// The destination and the nodes next to it.
    fn plant(&mut self, graph: &Graph) {
        self.length.fill(FAR);
        self.next.fill(NOWHERE);
        let to = self.to;
        if let Some(length) = self.length.get_mut(to as usize) {
            *length = 0;
            for arc in graph.around(to) {
                self.length[arc.to as usize] = graph.length(*arc);
                self.next[arc.to as usize] = to;
            }
        }
    }

    /// The ways over a graph of the same nodes that differs a little.
    ///
    /// Nodes are visited in the order of their last lengths: what was before a node on its way has its new length already, so that one round follows the
    /// old tree and takes new links on the way. A second round finds what that order hid, and a search from there repairs the rest. Few nodes need it as
    /// long as little changes; where much does, it is a search like any other. True where some next hop differs from before.
    pub(super) fn update(&mut self, graph: &Graph, queue: &mut Queue) -> bool {
        let before = self.next.clone();
        self.plant(graph);
        for &node in &self.order {
            let mut shortest = self.length[node as usize];
            for arc in graph.onward(node) {
                shortest = shortest.min(self.length[arc.to as usize] + graph.length(*arc));
            }
            self.length[node as usize] = shortest;
        }
        for &node in &self.order {
            let known = self.length[node as usize];
            let (mut shortest, mut next) = (FAR, NOWHERE);
            for arc in graph.onward(node) {
                let length = self.length[arc.to as usize] + graph.length(*arc);
                if (length, arc.to) < (shortest, next) {
                    (shortest, next) = (length, arc.to);
                }
            }
            if shortest < known {
                self.length[node as usize] = shortest;
                queue.push(Reverse((shortest, node)));
            }
            // Where no neighbour is as short as what is known, the destination itself is next.
            if shortest <= known {
                self.next[node as usize] = next;
            }
        }
        let repairs = queue.len();
        self.settle(graph, queue);
        self.prefer_destination(graph);
        if repairs * 8 > self.order.len() {
            self.sort()
        } else {
            self.tidy()
        }
        self.next != before
    }

    /// Carries what has become shorter to the neighbours, nearest first (Dijkstra 1959).
    fn settle(&mut self, graph: &Graph, queue: &mut Queue) {
        while let Some(Reverse((length, node))) = queue.pop() {
            if length != self.length[node as usize] || !graph.passes_on(node) {
                continue;
            }
            for arc in graph.around(node) {
                let through = length + graph.length(*arc);
                let known = &mut self.length[arc.to as usize];
                if through < *known {
                    *known = through;
                    self.next[arc.to as usize] = node;
                    queue.push(Reverse((through, arc.to)));
                } else if through == *known && node < self.next[arc.to as usize] {
                    self.next[arc.to as usize] = node;
                }
            }
        }
    }

    /// The destination is a neighbour like others where ways are equally long, also where it passes nothing on.
    fn prefer_destination(&mut self, graph: &Graph) {
        if (self.to as usize) < graph.nodes() {
            for arc in graph.around(self.to) {
                let next = &mut self.next[arc.to as usize];
                if self.length[arc.to as usize] == graph.length(*arc) && self.to < *next {
                    *next = self.to;
                }
            }
        }
    }

    fn sort(&mut self) {
        let length = &self.length;
        self.order.sort_unstable_by_key(|&node| (length[node as usize], node));
    }

    /// Sorts by insertion what is nearly sorted; gives up where it is not.
    fn tidy(&mut self) {
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
        self.next.get(node as usize).copied().filter(|&next| next != NOWHERE)
    }

    /// The length of the way from `node`.
    pub(super) fn length(&self, node: u32) -> Option<u64> {
        self.length.get(node as usize).copied().filter(|&length| length < FAR)
    }
}

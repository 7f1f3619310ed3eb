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

/// What a search needs, kept between searches for its memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    /// Nodes whose length has fallen after they were visited, shortest first.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// By node: it was visited.
    visited: Vec<bool>,
}

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
    pub(super) fn new(graph: &Graph, to: u32, search: &mut Search) -> Self {
        let nodes = graph.nodes();
        let order = (0..nodes as u32).filter(|&node| node != to).collect();
        let mut made = Self { to, length: vec![FAR; nodes], next: vec![NOWHERE; nodes], order };
        made.plant(graph, search, true);
        made.settle(graph, search);
        made.sort();
        made
    }

    /// The ways over a graph of the same nodes that differs a little. True where some next hop differs from before.
    ///
    /// Nodes are visited in the order of their last lengths, each telling its neighbours how far they are through it: the search of Dijkstra without its queue.
    /// Where the order is not that of the lengths any more, a node learns of a shorter way after it was visited; it is queued then, and a search with the queue
    /// repairs what lies behind it. Few nodes need it as long as little changes.
    pub(super) fn update(&mut self, graph: &Graph, search: &mut Search) -> bool {
        let before = self.next.clone();
        self.length.fill(FAR);
        self.next.fill(NOWHERE);
        self.plant(graph, search, false);
        for place in 0..self.order.len() {
            let node = self.order[place];
            search.visited[node as usize] = true;
            if graph.passes_on(node) && self.length[node as usize] < FAR {
                self.tell(graph, search, node);
            }
        }
        let repairs = search.queue.len();
        self.settle(graph, search);
        if repairs * 8 > self.order.len() {
            self.sort()
        } else {
            self.tidy()
        }
        self.next != before
    }

    /// Begins a search: the destination tells its neighbours, whether it passes on others' packets or not.
    fn plant(&mut self, graph: &Graph, search: &mut Search, visited: bool) {
        search.visited.clear();
        search.visited.resize(graph.nodes(), visited);
        if let Some(length) = self.length.get_mut(self.to as usize) {
            *length = 0;
            self.tell(graph, search, self.to);
        }
    }

    /// Carries what has become shorter to the neighbours, nearest first (Dijkstra 1959).
    fn settle(&mut self, graph: &Graph, search: &mut Search) {
        while let Some(Reverse((length, node))) = search.queue.pop() {
            if length == self.length[node as usize] && graph.passes_on(node) {
                self.tell(graph, search, node);
            }
        }
    }

    /// Tells the neighbours of `node` how far they are through it. As each node does so with its final length, each finds its next hop of lowest index.
    fn tell(&mut self, graph: &Graph, search: &mut Search, node: u32) {
        let length = self.length[node as usize];
        for arc in graph.around(node) {
            let through = length + graph.length(*arc);
            let known = &mut self.length[arc.to as usize];
            if through < *known {
                *known = through;
                self.next[arc.to as usize] = node;
                if search.visited[arc.to as usize] {
                    search.queue.push(Reverse((through, arc.to)));
                }
            } else if through == *known && node < self.next[arc.to as usize] {
                self.next[arc.to as usize] = node;
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

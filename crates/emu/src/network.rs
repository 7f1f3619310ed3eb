//! A network that carries both directions, such as that of a constellation.
//!
//! Unlike the hops of a [`PathSpec`](crate::PathSpec), its links may be shared by packets of both
//! directions, and its routes change. It is a state machine behind a lock, which the threads of
//! both directions drive.

use crate::link_pipeline::{Outcome, PipelinePacket};
use crate::loss_cause::LossCause;
use bentpipe_link::{Ecn, Packet};
use bentpipe_units::Time;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A packet that enters a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkPacket {
    /// Its number, unique among the packets inside.
    pub id: u32,
    /// Index of the terminal that sends or receives it.
    pub terminal: usize,
    /// True if it goes to the server.
    pub to_server: bool,
    /// Its header fields.
    pub header: Packet<()>,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkEvent {
    /// It has arrived, with this ECN field.
    Delivered {
        /// Number of the packet.
        id: u32,
        /// Its ECN field.
        ecn: Ecn,
    },
    /// It is lost.
    Lost {
        /// Number of the packet.
        id: u32,
        /// Cause of the loss.
        cause: LossCause,
    },
}

/// A network between all terminals and the server. Times never decrease between calls.
pub trait Network: Send {
    /// Returns true if a queue tells flows apart by [`Packet::flow`].
    fn needs_flow(&self) -> bool;

    /// Accepts a packet.
    fn enqueue(&mut self, now: Time, packet: NetworkPacket);

    /// Returns the time of the next event. `None` if there is none until a packet enters.
    fn next_deadline(&self) -> Option<Time>;

    /// Returns the next packet that arrived or was lost by `now`, and when.
    fn poll(&mut self, now: Time) -> Option<(Time, NetworkEvent)>;

    /// Returns the packets and bytes in queues.
    fn waiting(&self) -> (u64, u64);
}

/// A network with the packets inside.
struct Shared<P> {
    network: Box<dyn Network>,
    /// Packets by number, with their direction.
    packets: Vec<Option<(bool, PipelinePacket<P>)>>,
    free: Vec<u32>,
    /// Packets that have left, for the thread of each direction: to the clients, to the server.
    left: [VecDeque<(Time, Outcome<P>)>; 2],
}

impl<P> Shared<P> {
    /// Moves the packets that left by `now` to the threads of their directions.
    fn advance(&mut self, now: Time) {
        while let Some((at, event)) = self.network.poll(now) {
            let (NetworkEvent::Delivered { id, .. } | NetworkEvent::Lost { id, .. }) = event;
            let slot = self.packets.get_mut(id as usize);
            let Some((to_server, mut packet)) = slot.and_then(Option::take) else { continue };
            self.free.push(id);
            let outcome = match event {
                NetworkEvent::Delivered { ecn, .. } => {
                    packet.ecn = ecn;
                    Outcome::Out { at, packet }
                }
                NetworkEvent::Lost { cause, .. } => Outcome::Lost(cause, packet),
            };
            self.left[usize::from(to_server)].push_back((at, outcome));
        }
    }
}

/// One direction of a network.
pub struct NetworkDirection<P> {
    shared: Arc<Mutex<Shared<P>>>,
    to_server: bool,
}

impl<P> NetworkDirection<P> {
    /// Returns both directions of `network`: to the clients, and to the server.
    pub fn both(network: Box<dyn Network>) -> [Self; 2] {
        let shared = Shared {
            network,
            packets: Vec::new(),
            free: Vec::new(),
            left: [VecDeque::new(), VecDeque::new()],
        };
        let shared = Arc::new(Mutex::new(shared));
        [false, true].map(|to_server| Self { shared: Arc::clone(&shared), to_server })
    }

    fn shared(&self) -> MutexGuard<'_, Shared<P>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a packet.
    pub fn enqueue(&mut self, now: Time, packet: PipelinePacket<P>) {
        let (mut guard, to_server) = (self.shared(), self.to_server);
        let shared = &mut *guard;
        // The other thread may have advanced the network while this one read the clock.
        shared.advance(now);
        let id = shared.free.pop().unwrap_or_else(|| {
            shared.packets.push(None);
            (shared.packets.len() - 1) as u32
        });
        let (header, terminal) = (packet.with_payload(()), packet.payload.terminal);
        shared.packets[id as usize] = Some((to_server, packet));
        shared.network.enqueue(now, NetworkPacket { id, terminal, to_server, header });
    }

    /// Returns true if a queue tells flows apart.
    pub fn needs_flow(&self) -> bool {
        self.shared().network.needs_flow()
    }

    /// Returns the time at which the next packet may leave, in either direction: what the other
    /// thread does may let one of this direction leave, but not earlier.
    pub fn next_output(&self) -> Option<Time> {
        let shared = self.shared();
        let left = shared.left[usize::from(self.to_server)].front().map(|(at, _)| *at);
        left.or_else(|| shared.network.next_deadline())
    }

    /// Returns the next packet of this direction that left or was lost by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Outcome<P>> {
        let to_server = usize::from(self.to_server);
        let mut shared = self.shared();
        if shared.left[to_server].is_empty() {
            shared.advance(now);
        }
        shared.left[to_server].pop_front().map(|(_, outcome)| outcome)
    }

    /// Returns the packets and bytes in queues, of both directions.
    pub fn waiting(&self) -> (u64, u64) {
        self.shared().network.waiting()
    }

    /// Returns the number of packets of this direction inside.
    pub fn inside(&self) -> u64 {
        let shared = self.shared();
        let inside = shared.packets.iter().flatten();
        let left = shared.left[usize::from(self.to_server)].len() as u64;
        inside.filter(|(to_server, _)| *to_server == self.to_server).count() as u64 + left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link_pipeline::Addressed;
    use bentpipe_units::Span;

    /// Delivers packets to the server after 10 ms and loses others at once.
    #[derive(Default)]
    struct OneWay(VecDeque<(Time, NetworkEvent)>);

    impl Network for OneWay {
        fn needs_flow(&self) -> bool {
            false
        }

        fn enqueue(&mut self, now: Time, packet: NetworkPacket) {
            let NetworkPacket { id, to_server, header, .. } = packet;
            self.0.push_back(if to_server {
                (now + Span::from_millis(10), NetworkEvent::Delivered { id, ecn: header.ecn })
            } else {
                (now, NetworkEvent::Lost { id, cause: LossCause::Routing })
            });
        }

        fn next_deadline(&self) -> Option<Time> {
            self.0.front().map(|(at, _)| *at)
        }

        fn poll(&mut self, now: Time) -> Option<(Time, NetworkEvent)> {
            self.0.pop_front_if(|(at, _)| *at <= now)
        }

        fn waiting(&self) -> (u64, u64) {
            (self.0.len() as u64, 0)
        }
    }

    fn packet(number: u32) -> PipelinePacket<u32> {
        let payload = Addressed { terminal: 0, payload: number, service: Default::default() };
        Packet::new(100, Ecn::NotEct, payload)
    }

    #[test]
    fn each_direction_gets_its_own_packets() {
        let [mut down, mut up] = NetworkDirection::both(Box::<OneWay>::default());
        let at = Time::from_millis;
        up.enqueue(at(1), packet(1));
        down.enqueue(at(2), packet(2));
        assert_eq!((down.inside(), up.inside()), (1, 1));
        assert_eq!(down.next_output(), Some(at(11)));
        // The thread of one direction advances the network for both.
        assert!(up.poll(at(5)).is_none());
        assert!(up.poll(at(11)).is_some_and(|outcome| matches!(outcome,
            Outcome::Out { at: out, packet } if out == at(11) && packet.payload.payload == 1)));
        assert_eq!(down.next_output(), Some(at(2)));
        assert!(down.poll(at(11)).is_some_and(|outcome| matches!(outcome,
            Outcome::Lost(LossCause::Routing, packet) if packet.payload.payload == 2)));
        assert_eq!((down.inside(), up.inside(), up.next_output()), (0, 0, None));
        // Numbers are used again.
        up.enqueue(at(20), packet(3));
        assert_eq!(up.shared().packets.len(), 2);
    }
}

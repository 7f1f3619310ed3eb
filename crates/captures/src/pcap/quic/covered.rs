//! Packets of the application that are not opened.

use crate::event::Packet;

/// A packet that passed the capture: when, in nanoseconds, the index of its sender, the packet.
pub type Seen = (u64, usize, Packet);

/// A packet of the application that is not opened.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// Its place among all packets.
    pub index: usize,
    /// Bytes of its header before the packet number.
    pub overhead: usize,
    /// The spin bit, if it was kept and the header is short.
    pub spin: Option<bool>,
}

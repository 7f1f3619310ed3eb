//! Queue disciplines: one file per discipline.
//!
//! To add a discipline, write its file after the pattern of the others, declare and list it here,
//! and describe it in the book. `discipline.rs` defines the traits to implement; `fifo.rs` keeps
//! packets in order within a limit, `arrival_aqm.rs` decides about them as they arrive, and
//! `fair_queue.rs` has a queue for each flow.

mod arrival_aqm;
mod cake;
mod cobalt;
mod codel;
mod control_law;
mod discipline;
mod drop_tail;
mod dualpi2;
mod fair_queue;
mod fifo;
mod flow_queues;
mod fq;
mod fq_codel;
mod head_drop;
mod packet_lists;
mod pi2;
mod pie;
mod priority;
mod red;
mod registry;

use super::accepted::Accepted;
use crate::ConfigError;
use crate::fields::Fields;
use crate::random::Stream;
use bentpipe_units::Time;
pub use cake::Tins;
use discipline::{Discipline, PacketQueue};
pub(crate) use discipline::{Effects, QueueContext, Refused};
pub use dualpi2::Overload;
pub use fair_queue::{FlowQueueing, Overflow};
pub use flow_queues::FlowHash;
use registry::{Row, check_keys, unknown};

registry::queue_disciplines! {
    drop_tail::DropTail,
    head_drop::HeadDrop,
    codel::CoDel,
    fq::Fq,
    fq_codel::FqCoDel,
    priority::Priority,
    pie::Pie,
    red::Red,
    cake::Cake,
    dualpi2::DualPi2,
}

impl QueueDiscipline {
    /// Name of the discipline of queues that do not name one.
    pub(crate) const DEFAULT: &str = <DropTail as Discipline>::NAME;
}

//! Endpoints against each other, their memory of paths, and their bounds.
//! One program: each would be linked with all that it tests.

mod acks;
mod amplification;
mod contract;
mod endpoints;
mod floods;
mod flow_control;
mod migration;
mod network_hosts;
mod path_memory;
mod tokens;

//! Every controller on random histories, and whole transfers over small networks.
//! One program: each would be linked with all that it tests.

mod bbr1;
mod bbr3;
mod bbr3_draft;
mod bottleneck;
mod controllers;
mod lean;
mod path_change;
mod resume;
mod resume_loss;
mod resume_path;
mod starts;

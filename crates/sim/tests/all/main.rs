//! Whole transfers with known answers.
//! One program: each would be linked with all that it tests.

mod acks;
mod adapting_calls;
mod adaptive_video;
mod calls;
mod capture;
mod common;
mod connection_probes;
mod duration;
mod early_data;
mod echoes;
mod encryption;
mod late_handshake;
mod mesh;
mod nodes;
mod pages;
mod proxies;
mod qlog;
mod quic_calls;
mod responsiveness;
mod returns;
mod streams;
mod tokens;
mod transfers;
mod utilisation;

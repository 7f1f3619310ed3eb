//! The command itself, as a program.
//! One program: each would be linked with all that it tests.

#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod clock;
mod command;
mod compare;
mod control_characters;
mod descriptors;
mod explain_both_ends;
mod explain_json;
mod explain_logs;
mod explain_page;
mod explain_trace;
mod first_steps;
mod front;
mod get;
mod interop;
mod links;
mod matrix;
mod orbit;
mod path_memory;
mod pep;
mod program;
mod proxy;
mod real_clock;
mod real_clock_tcp;
mod running;
mod service_manager;
mod serving;
mod shell;
mod shell_signals;
mod studio;
mod study;

//! Two TCP endpoints over links.
//! One program: each would be linked with all that it tests.

mod flow;
mod fuzz;
mod garbage;
mod recovery;
mod relay;
mod starts;
mod support;
mod theory;
mod transfers;
mod window;

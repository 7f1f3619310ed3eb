//! The virtual clock.

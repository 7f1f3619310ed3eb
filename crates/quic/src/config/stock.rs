//! The congestion controllers of the stack itself.

use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// A congestion controller of the stack itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockController {
    /// Its NewReno.
    NewReno,
    /// Its CUBIC.
    Cubic,
    /// Its BBR.
    Bbr,
}

impl StockController {
    /// Returns its factory.
    pub fn factory(self) -> Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync> {
        match self {
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Bbr => Arc::new(Bbr3Config::default()),
        }
    }
}

//! Congestion control algorithms, one module each. The [catalogue](crate::catalogue) names them.

pub mod bbr;
pub mod copa;
pub mod cubic;
pub mod cubic_linux;
pub mod fixed_rate;
pub mod geo_reno;
pub mod hybla;
pub mod ledbat_plus_plus;
pub mod newreno;
pub mod prague;
pub mod vegas;

//! Written by `tools/book/check --write` from results in `atlas/`.

use super::costs::Cost;

/// What each choice of a controller costs.
#[rustfmt::skip]
pub const COSTS: &[Cost] = &[
    Cost { controller: "bbr1", time_ratio: 1.0088, worst_ratio: 1.1891, others_kept: 0.7527 },
    Cost { controller: "bbr3", time_ratio: 1.0147, worst_ratio: 1.2129, others_kept: 0.8431 },
    Cost { controller: "copa", time_ratio: 1.2529, worst_ratio: 8.6063, others_kept: 1.1438 },
    Cost { controller: "cubic", time_ratio: 1.0327, worst_ratio: 1.2415, others_kept: 0.9626 },
    Cost { controller: "hybla", time_ratio: 1.4229, worst_ratio: 11.5782, others_kept: 0.8426 },
    Cost { controller: "newreno", time_ratio: 1.0976, worst_ratio: 2.2340, others_kept: 1.1229 },
];

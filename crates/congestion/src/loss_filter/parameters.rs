//! Parameters of the filter of losses by chance.

use crate::parameters::parameters;

parameters! {
    /// Parameters of [`ChanceFilter`](super::ChanceFilter). Decision 82 documents the measurements
    /// behind the defaults.
    Parameters {
        cap: 0.03, 0.0 => 0.5, "", "largest rate of losses that chance may explain";
        below: 0.75, 0.1 => 1.0, "",
            "part of the window before a reduction below which losses teach their rate";
        least_losses: 2.0, 1.0 => 100.0, "packets", "losses that teach a rate, at least";
        least_rounds: 2.0, 1.0 => 100.0, "round trips", "round trips with such losses, at least";
        dispersion: 2.0, 1.0 => 1000.0, "",
            "largest ratio of variance to mean of the losses per round trip; 1 for losses that \
             are independent of each other";
        rank: 0.6, 0.0 => 1.0, "",
            "mean rank of RTTs at losses among those without, from 0 to 1, that is exceeded where \
             a queue loses packets";
        alike: 0.005, 0.0 => 0.1, "",
            "difference of RTTs, relative to the minimum RTT, up to which they rank alike";
        queue: 4.0, 0.0 => 1000.0, "ms", "smallest increase of the RTT that is a queue";
        queue_share: 0.01, 0.0 => 1.0, "", "the same, relative to the minimum RTT";
        queue_most: 0.06, 0.0 => 1.0, "",
            "increase over the minimum RTT that is a queue whatever the noise, relative to it";
        jitter: 8.0, 0.0 => 100.0, "",
            "added to `queue_most`: multiple of the mean difference between successive RTTs";
        noise: 0.98, 0.0 => 1.0, "", "quantile of RTTs without losses that is their noise";
        room: 0.5, 0.0 => 1.0, "",
            "part of the largest queue without losses up to which a queue has room";
        few: 2.0, 0.0 => 100.0, "packets",
            "losses in two round trips that are by chance where a queue of the path had room for \
             more than what is in it, and after which the controller's own slow start goes on";
        undo: 1.0, 0.0 => 1.0, "", "0.5 or more: undo a reduction that proves to be by chance";
    }
}

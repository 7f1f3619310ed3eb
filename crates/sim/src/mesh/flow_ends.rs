//! Location of flows in the network.

use bentpipe_orbit::{Node, Path, Routes};

/// Location of a flow's ends.
pub struct Ends {
    /// Stations of client and server.
    pub stations: [usize; 2],
    pub nodes: [Node; 2],
    /// Their indices among the destinations of routes.
    pub destinations: [usize; 2],
    /// True if the first visit is a download.
    pub download: bool,
}

impl Ends {
    /// Returns the path of the flow's data.
    pub fn data_path(&self, routes: &Routes) -> Option<Path> {
        let to = usize::from(!self.download);
        routes.path(self.nodes[1 - to], self.destinations[to])
    }
}

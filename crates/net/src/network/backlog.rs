//! Back-pressure: hosts that know when the first queue on their way has room for more.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Network, NodeId};
use crate::node::Port;

/// By addresses of a host and its peer, the first link on the way and the IP bytes in it from which on there is no
/// room.
pub(super) type Limits = BTreeMap<(IpAddr, IpAddr), (NodeId, Port, u64)>;

impl Network {
    /// Tells `src` that there is room for packets to `dst` only while the first link on the way holds less than
    /// `max_ip_bytes`, as a modem does that takes no more from its host. It drops nothing: whoever asks
    /// [`Self::has_room`] waits. Returns false where no link is on the way.
    pub fn limit_backlog(&mut self, src: IpAddr, dst: IpAddr, max_ip_bytes: u64) -> bool {
        let is_link =
            |(node, port): &(NodeId, Port)| self.link_stats(*node, *port, self.now()).is_some();
        let Some((node, port)) = self.nodes_between(src, dst).into_iter().find(is_link) else {
            return false;
        };
        self.backlog_limits.insert((src, dst), (node, port, max_ip_bytes));
        true
    }

    /// True if there is room for packets from `src` to `dst`; always where no limit is set.
    pub fn has_room(&self, src: IpAddr, dst: IpAddr) -> bool {
        if self.backlog_limits.is_empty() {
            return true;
        }
        let limit = self.backlog_limits.get(&(src, dst));
        limit.is_none_or(|(node, port, max)| self.node_counters(*node, *port).held.1 < *max)
    }
}

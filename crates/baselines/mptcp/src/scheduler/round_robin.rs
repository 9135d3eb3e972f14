//! One after the other: the scheduler `roundrobin` of mptcp v0.9x with its parameters as they come,
//! one segment each and no more than the congestion window allows. A path without room is passed
//! over.

use super::View;

#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    last: usize,
}

impl RoundRobin {
    pub(crate) fn pick(&self, paths: &[View]) -> Option<usize> {
        let mut free = paths.iter().filter(|p| p.is_usable && p.has_room).map(|p| p.path);
        let first = free.next()?;
        if first > self.last {
            return Some(first);
        }
        Some(free.find(|path| *path > self.last).unwrap_or(first))
    }

    pub(crate) fn on_taken(&mut self, path: usize) {
        self.last = path;
    }
}

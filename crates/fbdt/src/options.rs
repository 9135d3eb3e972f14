//! Parts of the sender that can be left out, and the paper's sender as it is printed.

use std::time::Duration;

use crate::path::Path;

/// Rule by which a path sends what another has on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redundancy {
    /// No path does.
    Off,
    /// Once the other path's mean round trip has passed since all of the window was taken (3.2).
    Published,
    /// Once that round trip and four deviations have passed; and before, where memory is full and the copy
    /// would be there far sooner.
    #[default]
    Estimated,
}

impl Redundancy {
    /// Time after which others send what `path` took and has not delivered.
    pub(crate) fn timeout(self, path: &Path) -> Duration {
        match self {
            Self::Off | Self::Published => path.time(),
            Self::Estimated => path.redundancy_timeout(),
        }
    }
}

/// Parts of the sender that are in use: by default all. Without a part it shows what that part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Paths take a window from both ends (3.1); otherwise all from its beginning on.
    pub is_two_way: bool,
    /// Rule by which other paths also send what is late on one path.
    pub redundancy: Redundancy,
    /// The most reliable path goes forward (3.2); otherwise the one that joined first.
    pub adapts_directions: bool,
    /// A path is held to its part of the memory.
    pub shares_memory: bool,
    /// Several windows are open at once, as long as paths need them to be. Otherwise the next one is cut,
    /// as long as was agreed on, when every segment of the last has arrived or was sent again (3.2).
    pub pipelines_windows: bool,
    /// A stream with no more bytes under way than this sends them on all paths at once, so that they
    /// take as long as on the best path of the moment: a keystroke, say. 0, the default: none does.
    /// That costs each further path so many bytes per round trip of the best one at most.
    pub copied_bytes: u64,
}

impl Options {
    /// The sender as section 3.2 prints it: one window at a time, taken from both ends in directions that
    /// stay, and what is late sent again after a mean round trip. Nothing bounds what a path takes of it.
    pub const PUBLISHED: Self = Self {
        is_two_way: true,
        redundancy: Redundancy::Published,
        adapts_directions: false,
        shares_memory: false,
        pipelines_windows: false,
        copied_bytes: 0,
    };
}

impl Default for Options {
    fn default() -> Self {
        Self {
            is_two_way: true,
            redundancy: Redundancy::Estimated,
            adapts_directions: true,
            shares_memory: true,
            pipelines_windows: true,
            copied_bytes: 0,
        }
    }
}

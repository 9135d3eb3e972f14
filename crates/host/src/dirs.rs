//! The user's folders, by the XDG base directory specification.

use std::path::PathBuf;

/// The folder for data that Airlane makes; `None` where there is no home folder. There is no other place
/// then: what stands in a shared one, such as /tmp, others can make before.
pub fn data() -> Option<PathBuf> {
    of("XDG_DATA_HOME", ".local/share")
}

/// The folder for what Airlane must know when it is started again; `None` where there is no home
/// folder.
pub fn state() -> Option<PathBuf> {
    of("XDG_STATE_HOME", ".local/state")
}

fn of(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|f| f.is_absolute());
    // Without HOME the system's table of users says where it is.
    let home = || std::env::home_dir().filter(|h| h.parent().is_some() && h.is_dir());
    Some(named.or_else(|| Some(home()?.join(below_home)))?.join("airlane"))
}

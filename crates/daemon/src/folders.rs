//! The user's folders, by the XDG base directory specification.

use std::path::PathBuf;

/// The folder for data that Airlane makes.
pub fn data() -> PathBuf {
    of("XDG_DATA_HOME", ".local/share").unwrap_or_else(|| std::env::temp_dir().join("airlane"))
}

/// The folder for what Airlane must know when it is started again; `None` where there is no home.
pub fn state() -> Option<PathBuf> {
    of("XDG_STATE_HOME", ".local/state")
}

fn of(variable: &str, below_home: &str) -> Option<PathBuf> {
    let value = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let named = value(variable).filter(|folder| folder.is_absolute());
    Some(named.or_else(|| Some(value("HOME")?.join(below_home)))?.join("airlane"))
}

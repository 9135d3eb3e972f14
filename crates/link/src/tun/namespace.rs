//! Network namespaces by name, as `ip netns` keeps them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

use airlane_base::InputError;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::LinkError;

/// Namespaces that were made for a link, and go with it.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    made: Vec<String>,
}

impl Namespaces {
    /// Makes a namespace, with its loopback up, if there is none of this name.
    pub(super) fn ensure(&mut self, name: &str) -> Result<(), LinkError> {
        if path(name).exists() {
            return Ok(());
        }
        ip(&["netns", "add", name])?;
        self.made.push(name.to_owned());
        ip(&["-n", name, "link", "set", "lo", "up"])
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.made {
            // Whoever removed it already did what is wanted here.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name)
}

fn ip(arguments: &[&str]) -> Result<(), LinkError> {
    let output = Command::new("ip").args(arguments).output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            let expected = "install iproute2, or make the namespace by other means";
            LinkError::from(InputError::new("the command `ip` is missing", expected))
        }
        _ => LinkError::device("run `ip`")(e),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let kind = match said.contains("not permitted") || said.contains("denied") {
        true => io::ErrorKind::PermissionDenied,
        false => io::ErrorKind::Other,
    };
    let tried = format!("run `ip {}`", arguments.join(" "));
    Err(LinkError::device(tried)(io::Error::new(kind, said)))
}

/// Does something in a namespace, on a thread of its own that ends there.
pub(super) fn within<T: Send>(
    name: Option<&str>,
    act: impl FnOnce() -> Result<T, LinkError> + Send,
) -> Result<T, LinkError> {
    let Some(name) = name else { return act() };
    let enter = || {
        let file = File::open(path(name))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok::<_, io::Error>(())
    };
    let there = || {
        enter().map_err(LinkError::device(format!("enter the namespace {name}")))?;
        act()
    };
    std::thread::scope(|scope| scope.spawn(there).join()).unwrap_or(Err(LinkError::Gone))
}

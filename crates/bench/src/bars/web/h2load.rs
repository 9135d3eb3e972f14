//! The client: h2load of nghttp2.

use std::process::Command;

use crate::bar::Problem;
use crate::process::output;

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

impl Version {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http1 => "h1",
            Self::Http2 => "h2",
        }
    }
}

/// Requests to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) version: Version,
    pub(super) requests: usize,
    pub(super) connections: usize,
    /// Requests at a time on a connection over HTTP/2.
    pub(super) streams: usize,
}

impl Load {
    /// Asks for `url`. Requests per second; all must have succeeded.
    pub(super) fn run(self, url: &str) -> Result<f64, Problem> {
        let mut command = Command::new("h2load");
        match self.version {
            Version::Http1 => command.arg("--h1"),
            Version::Http2 => command.args(["--npn-list=h2", &format!("-m{}", self.streams)]),
        };
        command.args([format!("-n{}", self.requests), format!("-c{}", self.connections)]);
        let printed = printed(command.arg(url))?;
        let broke = || Problem::Broke(format!("h2load on {url} printed: {printed}"));
        let succeeded = format!(" {} succeeded, 0 failed, 0 errored", self.requests);
        if !printed.contains(&succeeded) {
            return Err(broke());
        }
        // finished in 1.40s, 43003.29 req/s, 63.16MB/s
        let line = printed.lines().find(|l| l.starts_with("finished in")).ok_or_else(broke)?;
        let rate = line.split(", ").find_map(|part| part.strip_suffix(" req/s"));
        rate.and_then(|rate| rate.parse().ok()).ok_or_else(broke)
    }
}

/// Its name and version.
pub(super) fn version() -> Result<String, Problem> {
    Ok(printed(Command::new("h2load").arg("--version"))?.trim().to_owned())
}

fn printed(command: &mut Command) -> Result<String, Problem> {
    Ok(String::from_utf8_lossy(&output(command)?.stdout).into_owned())
}

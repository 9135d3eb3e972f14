//! A peer that speaks HTTP/3: Caddy, asked by our client.

use std::process::Command;

use super::ours::fetch;
use super::{Load, Moved};
use crate::bar::Problem;
use crate::process::{Running, Scratch, free_port, output};

/// It serves the folder `www`.
pub(super) struct Caddy {
    running: Running,
    address: String,
    version: String,
}

impl Caddy {
    /// Starts it at a free port, with the certificate of ours.
    pub(super) fn start(folder: &Scratch) -> Result<Self, Problem> {
        let broke = |e: std::io::Error| Problem::Broke(format!("caddy: {e}"));
        let said = output(Command::new("caddy").arg("version"))?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let at = free_port()?;
        let address = format!("https://localhost:{}", at.port());
        let (www, certificate) =
            (folder.path("www"), folder.path("data").join("airlane/development.pem"));
        let certificate = certificate.display();
        let settings = format!(
            "{{\n admin off\n auto_https off\n default_sni localhost\n}}\n{address} {{\n \
             tls {certificate} {certificate}\n root * {}\n file_server\n}}\n",
            www.display()
        );
        let file = folder.path("Caddyfile");
        std::fs::write(&file, settings).map_err(broke)?;
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file);
        // Where it keeps what it keeps.
        command.env("XDG_DATA_HOME", folder.path("caddy"));
        command.env("XDG_CONFIG_HOME", folder.path("caddy"));
        command.stderr(std::process::Stdio::null());
        let mut running = Running::start("caddy", &mut command)?;
        running.answers_at(at)?;
        Ok(Self { running, address, version })
    }

    /// Its version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Fetches the object as often as there are to be objects.
    pub(super) fn run(&self, load: Load) -> Result<Moved, Problem> {
        fetch(&self.running, &self.address, load)
    }
}

//! The peer: nginx.

use std::process::Command;

use crate::bar::Problem;
use crate::process::{Running, Scratch, free_port, output};

/// It serves the folder `www`.
pub(super) struct Nginx {
    running: Running,
    address: String,
    version: String,
}

impl Nginx {
    /// Starts it at a free port, with the certificate of ours.
    pub(super) fn start(folder: &Scratch) -> Result<Self, Problem> {
        let broke = |e: std::io::Error| Problem::Broke(format!("nginx: {e}"));
        let said = output(Command::new("nginx").arg("-v"))?;
        let version = String::from_utf8_lossy(&said.stderr).replace("nginx version: ", "");
        let at = free_port()?;
        let own = folder.path("nginx");
        std::fs::create_dir_all(&own).map_err(broke)?;
        let (own, www) = (own.display(), folder.path("www"));
        let certificate = folder.path("data").join("airlane/development.pem");
        let (www, certificate) = (www.display(), certificate.display());
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|of| format!("{of}_temp_path {own}/{of};\n"))
            .concat();
        let settings = format!(
            "daemon off; user root; worker_processes auto; worker_cpu_affinity auto;\n\
             pid {own}/pid; error_log {own}/error.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{\n access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n\
             {temporary} server {{\n listen {at} ssl http2 reuseport; root {www};\n\
             ssl_protocols TLSv1.3; ssl_certificate {certificate};\n\
             ssl_certificate_key {certificate};\n}}\n}}\n"
        );
        let file = folder.path("nginx.conf");
        std::fs::write(&file, settings).map_err(broke)?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&file).arg("-e").arg(folder.path("nginx").join("error.log"));
        let mut running = Running::start("nginx", &mut command)?;
        running.answers_at(at)?;
        let version = version.trim().to_owned();
        Ok(Self { running, address: format!("https://{at}"), version })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Its name and version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers go on if it is killed, and it ends them if it is asked to end.
        let _ = self.running.stop();
    }
}

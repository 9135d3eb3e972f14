//! Programs that the bench starts, and what they use.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;

use crate::bar::Problem;
use crate::clock::Watch;

/// A program that was started. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Starts `command`, called `name` in messages; what it prints is nobody's business.
    pub(crate) fn start(name: &str, command: &mut Command) -> Result<Self, Problem> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self::spawn(name, command)
    }

    /// Starts `command`, and waits for the first line that it prints, which must be its last.
    pub(crate) fn announced(name: &str, command: &mut Command) -> Result<(Self, String), Problem> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Self::spawn(name, command)?;
        let output = running.child.stdout.take().ok_or_else(|| running.broke(&"no output"))?;
        let mut line = String::new();
        match BufReader::new(output).read_line(&mut line) {
            Ok(0) => Err(running.broke(&"it ended early")),
            Ok(_) => Ok((running, line)),
            Err(e) => Err(running.broke(&e)),
        }
    }

    fn spawn(name: &str, command: &mut Command) -> Result<Self, Problem> {
        let child = command.spawn().map_err(|e| Problem::Broke(format!("{name}: {e}")))?;
        Ok(Self { child, name: name.to_owned() })
    }

    /// Resources that it has used so far.
    pub(crate) fn usage(&self) -> Result<Usage, Problem> {
        Usage::of(&self.child.id().to_string())
    }

    /// Outcome if it has ended: true if it ended well.
    pub(crate) fn ended(&mut self) -> Result<Option<bool>, Problem> {
        let status = self.child.try_wait().map_err(|e| self.broke(&e))?;
        Ok(status.map(|s| s.success()))
    }

    /// Waits until something answers at `address`, over TCP.
    #[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
    pub(crate) fn answers_at(&mut self, address: SocketAddr) -> Result<(), Problem> {
        let watch = Watch::start();
        while TcpStream::connect(address).is_err() {
            if watch.elapsed() > Duration::from_secs(5) || self.ended()?.is_some() {
                return Err(self.broke(&"it does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Asks it to end, as Ctrl-C does, and waits until it has.
    #[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
    pub(crate) fn stop(&mut self) -> Result<(), Problem> {
        self.signal(Signal::INT)?;
        let watch = Watch::start();
        while self.ended()?.is_none() {
            if watch.elapsed() > Duration::from_secs(30) {
                return Err(self.broke(&"it does not end"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Problem> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|e| self.broke(&e))
    }

    /// Descriptors that it has open.
    pub(crate) fn descriptors(&self) -> Result<usize, Problem> {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        Ok(folder.map_err(|e| self.broke(&e))?.count())
    }

    fn broke(&self, what: &dyn std::fmt::Display) -> Problem {
        Problem::Broke(format!("{}: {what}", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Resources that a process has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Processor time, all threads, those that ended included.
    pub(crate) cpu: Duration,
    /// Memory that it has resident.
    pub(crate) resident_bytes: u64,
    /// That part of it that no file on disk can be read again for.
    pub(crate) anonymous_bytes: u64,
    /// The most that it ever had resident.
    pub(crate) peak_bytes: u64,
    /// Threads that it has.
    pub(crate) threads: u64,
}

impl Usage {
    /// That of this process.
    pub(crate) fn own() -> Result<Self, Problem> {
        Self::of("self")
    }

    fn of(process: &str) -> Result<Self, Problem> {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
        };
        let (status, stat) = (read("status"), read("stat"));
        let number = |key: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let bytes = |key: &str| number(key).map(|kib| kib * 1024);
        // The name in brackets may hold anything; the time in user mode and in the kernel are the
        // 12th and 13th field behind it.
        let ticks = || {
            let (_, fields) = stat.rsplit_once(')')?;
            let mut times = fields.split_whitespace().skip(11).map(|t| t.parse::<u64>().ok());
            Some(times.next()?? + times.next()??)
        };
        let known = || {
            let cpu = ticks()? as f64 / rustix::param::clock_ticks_per_second() as f64;
            Some(Self {
                cpu: Duration::from_secs_f64(cpu),
                resident_bytes: bytes("VmRSS:")?,
                anonymous_bytes: bytes("RssAnon:")?,
                peak_bytes: bytes("VmHWM:")?,
                threads: number("Threads:")?,
            })
        };
        known()
            .ok_or_else(|| Problem::Skipped("the system does not tell what processes use".into()))
    }
}

/// The airlane command that was built with this program.
pub(crate) fn airlane() -> Result<PathBuf, Problem> {
    let own = std::env::current_exe().map_err(|e| Problem::Broke(format!("where am I? {e}")))?;
    let airlane = own.with_file_name("airlane");
    if !airlane.exists() {
        return Err(Problem::Skipped("no airlane beside this program: make build".into()));
    }
    Ok(airlane)
}

/// `airlane serve` on a folder, at a free port of the loopback interface, its address, and that of
/// its listener for operators.
pub(crate) fn serve(folder: &Scratch) -> Result<(Running, String, String), Problem> {
    serve_with(folder, &[])
}

/// The same with further arguments.
pub(crate) fn serve_with(
    folder: &Scratch,
    arguments: &[OsString],
) -> Result<(Running, String, String), Problem> {
    let mut command = Command::new(airlane()?);
    command.args(["serve", "--quiet", "--listen", "127.0.0.1:0"]).arg(folder.path("www"));
    // All clients are at one address, and as fast as they can be.
    command.args(["--connections-per-address=10000", "--request-rate=1000000"]);
    command.args(arguments);
    // Where it keeps its certificate.
    command.env("XDG_DATA_HOME", folder.path("data"));
    let (server, line) = Running::announced("airlane serve", &mut command)?;
    let word =
        |start| line.split_whitespace().find_map(|w| w.strip_prefix(start)?.strip_suffix('/'));
    match word("https://").zip(word("admin=")).filter(|_| line.starts_with("ready:")) {
        Some((address, admin)) => Ok((server, format!("https://{address}"), admin.to_owned())),
        None => Err(Problem::Broke(format!("airlane serve printed: {line}"))),
    }
}

/// Output of a program that is a peer, or asks one; skipped if it is not there.
pub(crate) fn output(command: &mut Command) -> Result<Output, Problem> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Problem::Skipped(format!("no {name}: scripts/bench/web-peers installs it"))
        }
        _ => Problem::Broke(format!("{name}: {e}")),
    })
}

/// Runs this program once more with these arguments, and reads the JSON that it prints: a measurement
/// in a process of its own.
pub(crate) fn run_child<T: DeserializeOwned>(arguments: &[String]) -> Result<T, Problem> {
    let broke = |what: String| Problem::Broke(format!("{}: {what}", arguments.join(" ")));
    let own = std::env::current_exe().map_err(|e| broke(e.to_string()))?;
    let output = Command::new(own).args(arguments).output().map_err(|e| broke(e.to_string()))?;
    if !output.status.success() {
        return Err(broke(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| broke(e.to_string()))
}

/// An address of the loopback interface at which nobody listens, as far as can be told.
pub(crate) fn free_port() -> Result<SocketAddr, Problem> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
    bound.map_err(|e| Problem::Broke(format!("a free port: {e}")))
}

/// A folder that goes when this is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new one in the system's temporary folder, with a folder `www` in it.
    pub(crate) fn new(name: &str) -> Result<Self, Problem> {
        let own = format!("airlane-bench-{name}-{}", std::process::id());
        let scratch = Self(std::env::temp_dir().join(own));
        let made = std::fs::create_dir_all(scratch.path("www"));
        made.map_err(|e| Problem::Broke(format!("{}: {e}", scratch.0.display())))?;
        Ok(scratch)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.0.join(name.as_ref())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind in the system's temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! What a world depends on, as a key: worlds with the same key are the same.

use std::fmt::Write;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

use airlane_base::Fnv64;
use airlane_net::trace::Trace;

use airlane_sim::plan::{Plan, RunKey, identity};
use airlane_sim::{COMMIT, VERSION};

/// Keys of the worlds of one command; remembers the digests of traces, which are long.
#[derive(Debug, Default)]
pub struct Identities {
    traces: Vec<(Trace, u64)>,
}

impl Identities {
    /// The key of a run of `plan`: a hash of this build of Airlane, and after `-` one of the content, the traces, and
    /// everything in the scenario but names for people. Both have 16 hexadecimal digits.
    pub fn key(&mut self, plan: &Plan, key: RunKey) -> String {
        let traces = &plan.cases[key.case].traces;
        let traces: Vec<_> = traces.iter().map(|(way, t)| (way, self.digest(t))).collect();
        let build = hashed(format_args!("{VERSION} {COMMIT} {:x}", build()));
        format!("{build:016x}-{:016x}", hashed(format_args!("{} {traces:?}", identity(plan, key))))
    }

    fn digest(&mut self, trace: &Trace) -> u64 {
        if let Some((_, digest)) = self.traces.iter().find(|(known, _)| known == trace) {
            return *digest;
        }
        let digest = hashed(format_args!("{:?}", trace.supply()));
        self.traces.push((trace.clone(), digest));
        digest
    }
}

/// The part of a key that is the same in every build of Airlane.
pub fn world_of(key: &str) -> &str {
    key.rsplit('-').next().unwrap_or(key)
}

fn hashed(text: std::fmt::Arguments<'_>) -> u64 {
    let mut hash = HashWriter(Fnv64::new());
    hash.write_fmt(text).expect("a hash takes everything");
    hash.0.finish()
}

struct HashWriter(Fnv64);

impl Write for HashWriter {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.0.write(s.as_bytes());
        Ok(())
    }
}

/// File of what computes worlds, if that is not the program of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file that computes worlds, where that is a library in the program of somebody else, as an extension
/// module of an interpreter. To be called once, before the first command with a journal.
pub fn set_program(file: PathBuf) {
    PROGRAM.get_or_init(|| file);
}

/// A hash of the program that runs: during development the commit stays the same and
/// what it computes does not. Zero where the program cannot read itself.
fn build() -> u64 {
    static BUILD: OnceLock<u64> = OnceLock::new();
    *BUILD.get_or_init(|| program_hash().unwrap_or(0))
}

fn program_hash() -> std::io::Result<u64> {
    let mut file = match PROGRAM.get() {
        Some(file) => std::fs::File::open(file)?,
        None => std::fs::File::open(std::env::current_exe()?)?,
    };
    let mut hash = Fnv64::new();
    let mut block = vec![0_u8; 1 << 20];
    loop {
        let n = file.read(&mut block)?;
        if n == 0 {
            return Ok(hash.finish());
        }
        let (words, rest) = block[..n].as_chunks::<32>();
        for word in words {
            let (parts, _) = word.as_chunks::<8>();
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| u64::from_le_bytes(parts[i]));
            hash.write_record([a, b, c, d]);
        }
        hash.write(rest);
    }
}

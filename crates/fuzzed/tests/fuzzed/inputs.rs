//! Every target on what was found before, on damaged valid inputs and on random bytes.

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use airlane_base::Seed;
use airlane_fuzzed::{TARGETS, Target};
use parking_lot::{Mutex, MutexGuard};
use rand::RngExt;

use crate::damage::{damaged, random};

/// Damaged inputs of each target, and random ones.
const DAMAGED: usize = 10_000;
const RANDOM: usize = 2_000;
/// Bytes of a random input at most.
const MAX_RANDOM: usize = 512;
/// A target that takes longer hangs: all of them together take seconds.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The input that a target is being tried on: what it is, and its bytes.
type Tried = (String, Vec<u8>);

/// What each of the targets is being tried on.
#[derive(Default)]
struct Trial(Mutex<BTreeMap<&'static str, Tried>>);

impl Trial {
    /// Tries inputs up to the first that the target panics on, and says which that is.
    fn first_failure(
        &self,
        target: &Target,
        inputs: impl Iterator<Item = Tried>,
    ) -> Option<String> {
        let check = target.check;
        for (what, data) in inputs {
            self.locked().insert(target.name, (what, data.clone()));
            if catch_unwind(|| check(&data)).is_err() {
                return self.done(target);
            }
        }
        self.done(target);
        None
    }

    /// The target's last input, which it is tried on no more.
    fn done(&self, target: &Target) -> Option<String> {
        self.locked().remove(target.name).map(|tried| shown(target.name, &tried))
    }

    /// What the targets are being tried on now.
    fn now(&self) -> Vec<String> {
        self.locked().iter().map(|(name, tried)| shown(name, tried)).collect()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, Tried>> {
        self.0.lock()
    }
}

fn shown(target: &str, (what, data): &Tried) -> String {
    format!("{target}, {what}, {} bytes: b\"{}\"", data.len(), data.escape_ascii())
}

/// Tries every target on the inputs that `inputs_of` has for it, on as many threads as there are cores.
/// Panics with the input of each that fails, or that does not come to an end.
fn no_target_fails<I: Iterator<Item = Tried> + 'static>(inputs_of: fn(&'static Target) -> I) {
    let (trial, next) = (Arc::new(Trial::default()), Arc::new(AtomicUsize::new(0)));
    let (ended, results) = mpsc::channel();
    for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
        let (trial, next, ended) = (trial.clone(), next.clone(), ended.clone());
        thread::spawn(move || {
            while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                ended.send(trial.first_failure(target, inputs_of(target))).expect("the test waits");
            }
        });
    }
    // Only the threads hold senders then: if all of them have panicked, waiting ends.
    drop(ended);
    let mut failures = Vec::new();
    for _ in TARGETS {
        match results.recv_timeout(LIMIT) {
            Ok(result) => failures.extend(result),
            Err(e) => {
                failures.push(format!("{e}; what did not end:"));
                failures.extend(trial.now());
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The target's seeds, damaged ones, and random bytes.
fn made(target: &'static Target) -> impl Iterator<Item = Tried> {
    let seed = Seed(1).split(target.name);
    let seeds = (target.seeds)();
    let valid: Vec<_> =
        (0..).zip(&seeds).map(|(n, data)| (format!("seed {n}"), data.clone())).collect();
    let mut rng = seed.split("damaged").rng();
    let damaged = (0..DAMAGED).map(move |round| {
        let mut any = || &seeds[rng.random_range(0..seeds.len())];
        let (one, other) = (any(), any());
        (format!("damaged input {round}"), damaged(one, other, &mut rng))
    });
    let mut rng = seed.split("random").rng();
    let random = (0..RANDOM)
        .map(move |round| (format!("random input {round}"), random(MAX_RANDOM, &mut rng)));
    valid.into_iter().chain(damaged).chain(random)
}

/// The files in the target's folder of regressions.
fn found_before(target: &'static Target) -> impl Iterator<Item = Tried> {
    let folder = fuzz_folder().join("regressions").join(target.name);
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let data = std::fs::read(&path).expect("a readable file");
        (path.display().to_string(), data)
    };
    paths.into_iter().map(read)
}

#[test]
fn damaged_and_random_inputs_are_survived() {
    no_target_fails(made);
}

#[test]
fn what_was_found_before_is_survived() {
    no_target_fails(found_before);
}

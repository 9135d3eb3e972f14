//! Folders in which the binary is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// A folder of its own for each test, gone when the test is.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("airlane-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn file(&self, name: &str, text: &str) {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// The command, to be run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airlane"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    /// Runs the command in this folder.
    pub fn airlane(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// Runs the command, which must refuse its input with one message and leave nothing.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let before = listing(&self.0);
        let output = self.airlane(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
        assert_eq!(listing(&self.0), before, "{arguments:?} left something");
        message.strip_prefix("airlane: ").unwrap_or(&message).trim_end().to_owned()
    }
}

/// A process that does not outlive the test.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files and folders below.
pub fn listing(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

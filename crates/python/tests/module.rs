//! The extension module that was built, in an interpreter.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::process::Command;

/// Imports the module from its file, alone, and prints the names of the scenarios that it has.
const SCRIPT: &str = "
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.ExtensionFileLoader('_airlane', sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader('_airlane', loader))
loader.exec_module(module)
print(module.VERSION, *module.embedded())
";

#[test]
fn an_interpreter_imports_it_by_itself() {
    let program = std::env::current_exe().expect("a path");
    let name = format!("{DLL_PREFIX}airlane_python{DLL_SUFFIX}");
    let module = program.with_file_name(name);
    let output =
        Command::new("python3").args(["-c", SCRIPT]).arg(&module).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with(env!("CARGO_PKG_VERSION")), "{printed}");
    assert!(printed.contains("four-viewers"), "{printed}");
}

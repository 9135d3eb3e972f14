//! Lists the tables of `corpus/tables` for the product to embed.
//!
//! The folder may be missing (then nothing is embedded, and `Corpus::embedded` says so).

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let folder = manifest.join("../../corpus/tables");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|f| f.to_string_lossy().ends_with(".json.gz"));
    files.sort();
    let mut code = String::from("static TABLES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.file_name().expect("it has an extension").to_string_lossy().into_owned();
        let file = file.to_string_lossy();
        writeln!(code, "    ({name:?}, include_bytes!({file:?})),").expect("a String takes it");
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("tables.rs"), code).expect("cargo's own folder is writable");
}

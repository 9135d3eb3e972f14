//! Lists the tables of `corpus/tables`, `corpus/tiles`, `corpus/layers` and `corpus/clouds` for the
//! product to embed.
//!
//! A folder may be missing (then nothing of it is embedded, and `Corpus::embedded`,
//! `TileContent::embedded` or `LayerContent::embedded` says so).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed=build.rs");
    let folders =
        [("tables", "TABLES"), ("tiles", "TILES"), ("layers", "LAYERS"), ("clouds", "CLOUDS")];
    for (folder, list) in folders {
        let code = embedded(&manifest.join("../../corpus").join(folder), list);
        fs::write(out.join(format!("{folder}.rs")), code).expect("cargo's own folder is writable");
    }
}

/// The code of a static `list` of the names and bytes of the tables of a folder.
fn embedded(folder: &Path, list: &str) -> String {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|f| f.to_string_lossy().ends_with(".json.gz"));
    files.sort();
    let mut code = format!("static {list}: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.file_name().expect("it has an extension").to_string_lossy().into_owned();
        let file = file.to_string_lossy();
        writeln!(code, "    ({name:?}, include_bytes!({file:?})),").expect("a String takes it");
    }
    code.push_str("];\n");
    code
}

//! Lists the parts of the pages, as `web/assets.json` names them, for the server to carry.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let web = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../web");
    let web = web.canonicalize().expect("the folder web is part of the sources");
    let list = web.join("assets.json");
    println!("cargo:rerun-if-changed={}", list.display());
    let text = fs::read_to_string(&list).expect("web/assets.json is part of the sources");
    let assets: std::collections::BTreeMap<String, String> =
        serde_json::from_str(&text).expect("web/assets.json maps names to files");
    let mut code = String::from("&[\n");
    for (name, file) in assets {
        let file = web.join(file);
        println!("cargo:rerun-if-changed={}", file.display());
        writeln!(code, "({name:?}, include_str!({file:?})),").expect("a String takes all");
    }
    code.push(']');
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("assets.rs");
    fs::write(out, code).expect("cargo's folder can be written");
}

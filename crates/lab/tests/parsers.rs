//! Every parser of user input on damaged input: an error or a value, never a panic.
//!
//! The seconds that this takes are what runs in CI; `fuzz/` has the first four targets for
//! libFuzzer, and what it ever found lies in `fuzz/regressions/TARGET/` and is replayed here.

use std::path::{Path, PathBuf};

use airlane_apps::cmcd::Cmcd;
use airlane_base::{Rng, Seed};
use airlane_lab::popularity::Popularity;
use airlane_lab::scenario::{EMBEDDED, Grid, Scenario};
use airlane_media::{synthetic, table};
use airlane_minerva::StoredNormalisation;
use airlane_net::Trace;
use rand::RngExt;

const ROUNDS: usize = 4_000;

fn trace(data: &[u8]) {
    let _ = Trace::parse(data, "damaged");
}

fn chunk_table(data: &[u8]) {
    let _ = table::parse(data);
}

fn scenario(data: &[u8]) {
    let _ = Scenario::from_bytes(data, Path::new("damaged.toml"), &[]);
    if let Ok(grid) = Grid::from_bytes(data, Path::new("damaged.toml"), &[], &[]) {
        assert!((1..=10_000).contains(&grid.cells()));
        let _ = grid.scenario(grid.cells() - 1);
    }
}

fn cmcd(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = Cmcd::parse(&text);
    assert_eq!(Cmcd::from_query(&read.to_query()).map(|c| c.to_text()), Some(read.to_text()));
    let _ = Cmcd::from_query(&text);
}

fn popularity(data: &[u8]) {
    if let Ok(read) = Popularity::parse(data, Path::new("damaged.csv")) {
        let _ = read.of(["news", "cave"], &["news", "cave", "short"], "content");
    }
}

fn normalisation(data: &[u8]) {
    if let Ok(read) = StoredNormalisation::from_json(data) {
        assert!(read.normalisation.eval(0.0) > 0.0);
        assert_eq!(StoredNormalisation::from_json(read.to_json().as_bytes()), Ok(read));
    }
}

/// Cuts, doubles, overwrites and splices what was valid before.
fn damage(valid: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut data = valid.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        if data.is_empty() {
            break;
        }
        let (a, b) = (rng.random_range(0..data.len()), rng.random_range(0..data.len()));
        let (from, to) = (a.min(b), (a.max(b) + 1).min(a.min(b) + 64));
        match rng.random_range(0..6) {
            0 => data.truncate(a),
            1 => drop(data.drain(from..to)),
            2 => data[a] = rng.random(),
            3 => {
                let part = data[from..to].to_vec();
                drop(data.splice(b..b, part));
            }
            4 => {
                let words: [&[u8]; 8] =
                    [b"NaN", b"-1", b"1e999", b"99999999999999999999", b"\0", b"\xff", b"[[", b"="];
                drop(data.splice(a..a, words[rng.random_range(0..words.len())].iter().copied()));
            }
            _ => {
                let end = (from + 32).min(other.len());
                let part = other.get(from.min(end)..end).unwrap_or_default().to_vec();
                drop(data.splice(a..a, part));
            }
        }
    }
    data
}

fn batter(name: &str, target: fn(&[u8]), valid: &[Vec<u8>]) {
    let mut rng = Seed(1).split(name).rng();
    for round in 0..ROUNDS {
        let (i, j) = (rng.random_range(0..valid.len()), rng.random_range(0..valid.len()));
        let data = damage(&valid[i], &valid[j], &mut rng);
        let survived = std::panic::catch_unwind(|| target(&data));
        assert!(survived.is_ok(), "{name}, round {round}: {:?}", String::from_utf8_lossy(&data));
    }
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(name);
    for file in std::fs::read_dir(kept).into_iter().flatten().flatten() {
        target(&std::fs::read(file.path()).unwrap());
    }
}

#[test]
fn damaged_traces_are_survived() {
    let valid = [
        b"0\n1\n1\n5\n9\n".to_vec(),
        b"0.0 12.5\n1.0 0\n2.0 7 3\n".to_vec(),
        b"time,DL_bitrate,state\n2020.01.16_07.26.43,1200,D\n2020.01.16_07.26.44,900,I\n".to_vec(),
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x33, 0xe4, 2, 0],
    ];
    batter("trace", trace, &valid);
}

#[test]
fn damaged_tables_are_survived() {
    let valid: Vec<Vec<u8>> =
        synthetic::corpus(2, 3, Seed(1)).iter().map(|v| table::to_json(v).into_bytes()).collect();
    batter("table", chunk_table, &valid);
}

#[test]
fn damaged_scenarios_are_survived() {
    let mut valid: Vec<Vec<u8>> =
        EMBEDDED.iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    let grid = "[grid]\n\"link.rate_bps\" = [4e6, 10e6]\nlink.queue = [{ kind = \"pie\" }, {}]\n";
    valid.push([EMBEDDED[0].1, grid].concat().into_bytes());
    batter("scenario", scenario, &valid);
}

#[test]
fn damaged_cmcd_is_survived() {
    let valid = [
        br#"bl=21300,br=3200,bs,cid="a,b",d=4004,mtp=25400,sid="6e2fb550",su,tb=6000"#.to_vec(),
        b"CMCD=bl%3D1000%2Ccid%3D%22a%2Cb%22%2Ccom.airlane-qoe%3D-1.5&z=2".to_vec(),
    ];
    batter("cmcd", cmcd, &valid);
}

#[test]
fn damaged_popularities_are_survived() {
    let valid = [
        b"title,popularity\nnews,2.5\ncave,0\n".to_vec(),
        b"\xef\xbb\xbftitle, popularity\r\nshort,1e3\r\n\r\n*,1\r\n".to_vec(),
    ];
    batter("popularity", popularity, &valid);
}

#[test]
fn damaged_normalisations_are_survived() {
    let valid = br#"{
  "format": "airlane-normalisation",
  "version": 1,
  "airlane": "0.1.0",
  "corpus": {"name": "x", "content_hash": "00", "min_chunks": 50, "titles": 2},
  "metric": "vmaf",
  "abr": "robust-mpc",
  "player": {"horizon": 5, "buffer_cap_s": 40.0, "overhead_s": 0.6, "beta": 25.0, "gamma": 2.5,
    "smoothness": "mean_curve"},
  "popularity": {"news": 2.5},
  "normalisation": {"form": "fixed-rate", "alpha": 2.0,
    "points": [[0.9, 104204.2], [40.0, 400000.0], [94.0, 8.1e6]]}
}"#;
    assert!(StoredNormalisation::from_json(valid).is_ok());
    batter("normalisation", normalisation, &[valid.to_vec()]);
}

//! What `make dist` hands out, made of the binary under test.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program, which must succeed: what it prints, and what it says beside.
fn run(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{stderr}");
    (String::from_utf8(stdout).unwrap(), stderr)
}

/// Runs a program, which must succeed and find nothing to complain of.
fn quietly(command: &mut Command) -> String {
    let (stdout, stderr) = run(command);
    assert!(stderr.is_empty(), "{command:?}: {stderr}");
    stdout
}

/// Whether a program is at hand; says what is left out without it.
fn at_hand(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("left out: what {program} says of it");
    }
    found
}

/// What `scripts/dist` makes.
struct Distribution {
    archive: PathBuf,
    /// The folder that is in the archive.
    folder: PathBuf,
    /// The package for Debian, where it can be made.
    package: Option<PathBuf>,
}

impl Distribution {
    /// Makes it in a folder of the scratch folder, and unpacks the archive beside it.
    fn new(scratch: &Scratch, out: &str) -> Self {
        let out = scratch.0.join(out);
        let mut script = Command::new(root().join("scripts/dist"));
        script.args(["--binary", env!("CARGO_BIN_EXE_airlane"), "--out"]).arg(&out);
        let printed = run(&mut script).0;
        let mut files = printed.lines().map(PathBuf::from);
        let archive = files.next().expect("the archive's path");
        let package = files.next();
        assert_eq!(package.is_some(), at_hand("dpkg-deb"));
        let made: Vec<&PathBuf> = package.iter().chain([&archive]).collect();
        let mut found = listing(&out);
        found.sort_by_key(|file| file.extension() != Some("deb".as_ref()));
        assert_eq!(found.iter().collect::<Vec<_>>(), made);
        quietly(Command::new("tar").arg("-xzf").arg(&archive).current_dir(&out));
        let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
        let folder = out.join(name);
        let unpacked = fs::read_dir(&out).unwrap().count() - made.len();
        assert_eq!(unpacked, 1, "one folder is in the archive");
        Self { archive, folder, package }
    }
}

/// Checks a package for Debian by unpacking it where it would be installed.
fn check_package(scratch: &Scratch, package: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    let field = |name: &str| {
        let mut command = Command::new("dpkg-deb");
        quietly(command.arg("--field").arg(package).arg(name)).trim_end().to_owned()
    };
    assert_eq!((field("Package"), field("Version")), ("airlane".to_owned(), version.to_owned()));
    assert!(field("Depends").starts_with("libc6 (>= 2."), "{}", field("Depends"));
    let contents = quietly(Command::new("dpkg-deb").arg("--contents").arg(package));
    for line in contents.lines() {
        assert!(line.contains(" root/root "), "{line}");
    }
    let into = scratch.0.join("root");
    quietly(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&into));
    let said = quietly(Command::new(into.join("usr/bin/airlane")).arg("--version"));
    assert_eq!(said, format!("airlane {version}\n"));
    for file in [
        "usr/share/man/man1/airlane-serve.1.gz",
        "usr/share/bash-completion/completions/airlane",
        "usr/share/zsh/vendor-completions/_airlane",
        "usr/share/fish/vendor_completions.d/airlane.fish",
        "usr/share/airlane/wireshark/octopus.lua",
        "usr/share/doc/airlane/LICENCES-OF-OTHERS",
        "usr/share/doc/airlane/docs/guide/serve.md",
    ] {
        assert!(into.join(file).is_file(), "no {file} in\n{contents}");
    }
    let copyright = fs::read_to_string(into.join("usr/share/doc/airlane/copyright")).unwrap();
    for part in ["License: MIT or Apache-2.0", "Permission is hereby granted", "Apache License"] {
        assert!(copyright.contains(part), "{copyright}");
    }
    for name in ["serve", "tunnel", "send"] {
        let unit = into.join(format!("usr/lib/systemd/system/airlane-{name}.service"));
        let unit = fs::read_to_string(unit).unwrap();
        assert!(unit.contains("\nExecStart=/usr/bin/airlane "), "{unit}");
    }
}

#[test]
fn the_distribution_is_complete_and_repeatable() {
    let scratch = Scratch::new("dist");
    // Two at once: they take long to compress.
    let (made, again) = std::thread::scope(|scope| {
        let again = scope.spawn(|| Distribution::new(&scratch, "b"));
        (Distribution::new(&scratch, "a"), again.join().expect("the second one"))
    });
    let Distribution { archive, folder, package } = made;
    let name = folder.file_name().unwrap().to_str().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(name.starts_with(&format!("airlane-{version}-{}-", std::env::consts::ARCH)), "{name}");

    let said = quietly(Command::new(folder.join("airlane")).arg("--version"));
    assert_eq!(said, format!("airlane {version}\n"));
    let text = |file: &str| fs::read_to_string(folder.join(file)).expect(file);
    for (file, part) in [
        ("README.md", "# Airlane"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("LICENSE-APACHE", "Apache License"),
        ("LICENCES-OF-OTHERS", "\nrustls "),
        ("docs/README.md", "# Documentation"),
        ("docs/guide/serve.md", "# Serving titles"),
        ("airlane-serve.service", "airlane serve "),
        ("airlane-tunnel.service", "airlane tunnel serve "),
        ("airlane-send.service", "airlane send "),
        ("wireshark/octopus.lua", "octopus.message"),
    ] {
        assert!(text(file).contains(part), "{file} lacks {part:?}");
    }
    let pages = listing(&folder.join("man"));
    let names: Vec<_> = pages.iter().filter_map(|p| p.file_name()?.to_str()).collect();
    for name in ["airlane.1", "airlane-serve.1", "airlane-corpus.1", "airlane-corpus-normalise.1"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for page in pages.iter().filter(|_| at_hand("groff")) {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-P-cbou"]).arg(page);
        assert!(quietly(&mut groff).contains("\nNAME\n"), "{}", page.display());
    }
    for (shell, check, file) in [
        ("bash", "-n", "airlane.bash"),
        ("zsh", "-n", "_airlane"),
        ("fish", "--no-execute", "airlane.fish"),
    ] {
        let file = folder.join("completions").join(file);
        assert!(fs::read_to_string(&file).unwrap().contains("serve"), "{}", file.display());
        if at_hand(shell) {
            quietly(Command::new(shell).arg(check).arg(&file));
        }
    }

    if at_hand("systemd-analyze") {
        let binary = folder.join("airlane");
        let unit = text("airlane-serve.service");
        // Where it will be installed, nothing is yet.
        let unit = unit.replace("/usr/local/bin/airlane", binary.to_str().unwrap());
        scratch.file("airlane-serve.service", &unit);
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no"]).arg(scratch.0.join("airlane-serve.service"));
        let complaints = run(&mut verify).1;
        // It looks at the units of the machine too.
        assert!(!complaints.contains("airlane-serve"), "{complaints}");
    }

    assert!(fs::read(archive).unwrap() == fs::read(again.archive).unwrap(), "another archive");
    if let Some((package, again)) = package.zip(again.package) {
        check_package(&scratch, &package);
        assert!(fs::read(package).unwrap() == fs::read(again).unwrap(), "another package");
    }
}

#[test]
fn the_image_is_built_by_the_toolchain_of_the_sources_from_what_is_there() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let (container, toolchain) = (read("Containerfile"), read("rust-toolchain.toml"));
    let version = toolchain.split('"').nth(1).expect("a channel in quotes");
    for part in [format!("/rust:{version}-"), format!("RUSTUP_TOOLCHAIN={version} ")] {
        assert!(container.contains(&part), "Containerfile lacks {part}");
    }
    let copied = container.lines().filter_map(|line| line.strip_prefix("COPY "));
    for line in copied.filter(|line| !line.starts_with("--from=")) {
        let (files, _) = line.rsplit_once(' ').expect("a place to copy to");
        for file in files.split(' ') {
            assert!(root().join(file).exists(), "Containerfile copies {file}");
        }
    }
    for ignored in read(".dockerignore").lines().filter_map(|line| line.strip_prefix('/')) {
        let is_needed = ["Cargo.lock", "claims", "corpus", "crates", "scenarios", "web"];
        assert!(!is_needed.contains(&ignored), "{ignored} is needed");
    }
}

#[test]
fn the_unit_is_the_one_that_the_page_shows_and_its_options_exist() {
    let unit = fs::read_to_string(root().join("dist/airlane-serve.service")).unwrap();
    let page = fs::read_to_string(root().join("docs/guide/serve.md")).unwrap();
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    let shown: Vec<String> = unit.lines().map(indent).collect();
    assert!(page.contains(&shown.join("\n")), "docs/guide/serve.md shows another unit");

    let scratch = Scratch::new("unit");
    let help = String::from_utf8(scratch.airlane(&["serve", "--help"]).stdout).unwrap();
    let start = unit.split("ExecStart=").nth(1).unwrap().split("\nExecReload").next().unwrap();
    for option in start.split_whitespace().filter(|word| word.starts_with("--")) {
        assert!(help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")));
    }
}

#[test]
fn units_expose_little() {
    if !at_hand("systemd-analyze") {
        return;
    }
    for name in ["serve", "tunnel", "send"] {
        let unit = root().join(format!("dist/airlane-{name}.service"));
        let mut analyze = Command::new("systemd-analyze");
        // 20 stands for 2.0: above it the command fails.
        analyze.args(["security", "--offline=true", "--threshold=20", "--no-pager"]).arg(&unit);
        let output = analyze.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // Of an old version, which has no such option, nothing is known.
        let is_old = String::from_utf8_lossy(&output.stderr).contains("unrecognized option");
        assert!(is_old || output.status.success(), "{said}");
    }
}

#[test]
fn units_start_what_there_is() {
    let scratch = Scratch::new("units");
    for (name, verb) in [("tunnel", &["tunnel", "serve"][..]), ("send", &["send"][..])] {
        let unit = fs::read_to_string(root().join(format!("dist/airlane-{name}.service"))).unwrap();
        let help =
            String::from_utf8(scratch.airlane(&[verb, &["--help"]].concat()).stdout).unwrap();
        let start = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert!(start.contains(&format!("/airlane {} ", verb.join(" "))), "{start}");
        for option in start.split_whitespace().filter(|word| word.starts_with("--")) {
            let is_there =
                help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n"));
            assert!(is_there, "{name}: {option}");
        }
    }
}

#[test]
fn an_option_of_the_script_that_is_none_is_refused() {
    let output = Command::new(root().join("scripts/dist")).arg("--bin").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--binary FILE"));
}

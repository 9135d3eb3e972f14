//! `airlane serve` as a process.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::*;

/// A server, and what it said before it was ready.
fn serve(scratch: &Scratch, more: &[&str], environment: &[(&str, &str)]) -> (Process, String) {
    let mut command = scratch.command(&["serve", "titles", "--listen", "127.0.0.1:0"]);
    command.args(more).env_remove("XDG_DATA_HOME").envs(environment.iter().copied());
    let mut server =
        Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("ready: "), "{said}");
    let mut hints = BufReader::new(server.0.stderr.take().unwrap());
    while !hints.buffer().is_empty() || !said.contains("airlane/player") {
        assert!(hints.read_line(&mut said).unwrap() > 0, "{said}");
    }
    (server, said)
}

#[test]
fn without_a_home_the_development_key_is_written_nowhere() {
    let scratch = Scratch::new("homeless");
    scratch.file("titles/index.html", "titles");
    scratch.file("tmp/there", "");
    let before = listing(&scratch.0);
    let tmp = scratch.0.join("tmp");
    let home = scratch.0.join("nowhere");
    let environment = [("TMPDIR", tmp.to_str().unwrap()), ("HOME", home.to_str().unwrap())];
    let (_server, said) = serve(&scratch, &[], &environment);
    assert!(said.contains("development certificate: kept nowhere"), "{said}");
    assert_eq!(listing(&scratch.0), before, "{said}");
}

#[cfg(unix)]
#[test]
fn addresses_are_signed_on_the_command_line() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("sign");
    scratch.file("sign.key", &"k".repeat(32));
    let key = scratch.0.join("sign.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let sign = ["sign", "--sign-key", "sign.key", "--for", "1h"];
    let refused = |path| scratch.refused(&[&sign[..], &[path]].concat());
    assert!(refused("/film/").contains("chmod 600"), "{}", refused("/film/"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refused("film").contains("expected the path of a URL"), "{}", refused("film"));
    let output = scratch.airlane(&[&sign[..], &["/film/", "/a/b.mpd"]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("/film/~") && lines[0].ends_with('/'), "{said}");
    assert!(lines[1].starts_with("/a/~") && lines[1].ends_with("/b.mpd"), "{said}");
}

#[test]
fn every_certificate_needs_its_key() {
    let scratch = Scratch::new("pairs");
    scratch.file("titles/index.html", "titles");
    let said = scratch
        .refused(&["serve", "titles", "--cert", "a.pem", "--key", "a.key", "--cert", "b.pem"]);
    assert_eq!(said, "2 --cert and 1 --key; expected a --key FILE for each --cert FILE");
}

/// What a server has does not grow by pages of 2 MiB of which it uses a few bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_server_has_no_huge_pages() {
    let scratch = Scratch::new("pages");
    scratch.file("titles/index.html", "titles");
    let (server, _) = serve(&scratch, &[], &[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.0.id())).unwrap();
    let line = status.lines().find(|l| l.starts_with("THP_enabled:"));
    // Kernels without huge pages, or before 5.0, do not tell.
    assert!(line.is_none_or(|l| l.ends_with('0')), "{line:?}");
}

//! `airlane tunnel`: keys, rules, and a server whose name is not known yet.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{Process, Scratch};

#[test]
fn keys_of_clients_are_made_listed_and_revoked() {
    let scratch = Scratch::new("tunnel-keys");
    let said = |arguments: &[&str]| {
        let output = scratch.airlane(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    said(&["tunnel", "key", "server.key"]);
    said(&["tunnel", "key", "--client", "laptop", "server.key", "laptop.key"]);
    said(&["tunnel", "key", "--client", "phone", "server.key", "phone.key"]);
    assert_eq!(said(&["tunnel", "key", "--list", "server.key"]), "laptop\nphone\n");
    said(&["tunnel", "key", "--revoke", "laptop", "server.key"]);
    assert_eq!(said(&["tunnel", "key", "--list", "server.key"]), "phone\n");

    for (arguments, expected) in [
        (&["--client", "phone", "server.key", "other.key"][..], "there is a client phone already"),
        (&["--client", "a b", "server.key", "other.key"], "is no name of a client"),
        (&["--client", "tablet", "phone.key", "other.key"], "this is a client's key"),
        (&["--client", "tablet", "server.key", "phone.key"], "it is there already"),
        (&["--revoke", "tablet", "server.key"], "expected one of phone"),
        (&["server.key"], "it is there already"),
        (&["--client", "tablet", "server.key"], "CLIENT_FILE"),
    ] {
        let message = scratch.refused(&[&["tunnel", "key"], arguments].concat());
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    let message = scratch.refused(&["tunnel", "serve", "--key", "phone.key"]);
    assert!(message.contains("phone.key") && message.contains("a client's key"), "{message}");
}

#[test]
fn a_name_is_no_rule_of_what_is_denied() {
    let scratch = Scratch::new("tunnel-deny");
    for name in ["internal.example.org", "*.example.org:443"] {
        let message = scratch.refused(&["tunnel", "serve", "--key", "k", "--deny", name]);
        assert!(message.contains("expected an address"), "{message}");
    }
}

#[test]
fn a_server_whose_name_is_not_known_is_waited_for_and_that_is_said() {
    let scratch = Scratch::new("tunnel-name");
    assert!(scratch.airlane(&["tunnel", "key", "k"]).status.success());
    let arguments = ["tunnel", "connect", "vps.invalid:4434", "--key", "k", "--path", "127.0.0.1"];
    let mut command = scratch.command(&arguments);
    command.args(["--socks", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut ready = String::new();
    let stdout = process.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready: socks="), "{ready}");
    let stderr = BufReader::new(process.0.stderr.take().unwrap());
    let said = stderr.lines().map(Result::unwrap).find(|line| line.contains("vps.invalid:4434"));
    assert!(said.is_some_and(|line| line.contains("down")));
    assert_eq!(process.0.try_wait().unwrap(), None, "it goes on");
}

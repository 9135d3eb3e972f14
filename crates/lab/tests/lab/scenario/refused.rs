//! What is said about a bad scenario.

use std::path::Path;

use airlane_scenario::Scenario;

use super::{GOOD, message, read, with_set};

#[test]
fn unknown_keys_come_with_a_suggestion() {
    let at = |from: &str, to: &str| message(&GOOD.replace(from, to));
    assert_eq!(
        at("rate_bps = 50e6", "rate_bps = 50e6\nrtt_ms = 20"),
        "a/s.toml:4: link.rtt_ms: unknown key; did you mean `rtt_s`?"
    );
    assert_eq!(
        at("[[bulk]]", "[[bulk]]\nname = \"a\"\n[[bulk]]\nstrat_s = 1"),
        "a/s.toml:11: bulk.1.strat_s: unknown key; did you mean `start_s`?"
    );
    assert_eq!(
        at("[link]", "buffer_cap_s = 20\n[link]"),
        "a/s.toml:2: buffer_cap_s: unknown key; did you mean `player.buffer_cap_s`?"
    );
    let host = at("[[bulk]]", "[host]\nfoo = 1\n[[bulk]]");
    assert_eq!(host, "a/s.toml:9: host.foo: unknown key; expected one of send_jitter_packets");
    let misspelt = at("name = \"cubic\"", "name = \"cubic\"\ncontroller = \"cubik\"");
    assert!(misspelt.ends_with("did you mean \"cubic\"?"), "{misspelt}");
}

#[test]
fn values_out_of_bounds_say_what_was_expected() {
    for value in ["-3", "0", "nan", "inf", "-inf", "1e300", "\"fast\"", "[1]", "true", "1979-05-27"]
    {
        let text = GOOD.replace("50e6", value);
        let message = message(&text);
        assert!(message.starts_with("a/s.toml:3: link.rate_bps: found "), "{message}");
        let expected = "; expected a number from 1000 to 1e12 bit/s, such as 10e6";
        assert!(message.ends_with(expected), "{message}");
    }
    assert!(message(&GOOD.replace("50e6", "-3")).contains("found -3;"));
    assert!(message(&GOOD.replace("50e6", "nan")).contains("found NaN;"));
}

#[test]
fn every_rule_between_keys_has_a_message() {
    let cases = [
        ("rate_bps = 50e6", "", "a/s.toml:2: link.rate_bps: missing; expected exactly one of"),
        ("50e6", "50e6\ntrace = \"a\"", "a/s.toml:4: link.trace: found 2 capacities"),
        ("50e6", "50e6\ntrace_scale = 2", "a/s.toml:4: link.trace_scale: found without a trace"),
        ("rate_bps = 50e6", "steps = [[1, 1e6]]", "3: link.steps: found no capacity at time 0"),
        ("rate_bps = 50e6", "steps = []", "3: link.steps: found no capacity at time 0"),
        ("rate_bps = 50e6", "steps = [[0, 0]]", "found no capacity at any time"),
        ("rate_bps = 50e6", "steps = [[0, 1e6], [5, 1e6], [4, 1e6]]", "found 4 after 5"),
        ("rate_bps = 50e6", "steps = [[0, 1e6], [5]]", "found a row of 1; expected a list of [t_s"),
        ("rate_bps = 50e6", "steps = [[0, -1]]", "link.steps: found -1; expected a number from 0"),
        ("50e6", "50e6\nqueue = { kind = \"red\" }", "4: link.queue.kind: found the text \"red\""),
        ("50e6", "50e6\nqueue = { target_s = 0.1 }", "found beside kind \"droptail\""),
        ("50e6", "50e6\nqueue = { limit_bdp = 1, limit_bytes = 9000 }", "found several limits"),
        ("50e6", "50e6\nqueue = { limit_packets = 0 }", "expected a whole number from 1 to"),
        ("50e6", "50e6\nqueue = 5", "link.queue: found 5; expected a table"),
        ("50e6", "50e6\nloss = { kind = \"bernoulli\" }", "link.loss.p: missing"),
        ("50e6", "50e6\nloss = { p = 2 }", "link.loss.p: found 2; expected a number from 0 to 1"),
        ("50e6", "50e6\nloss = { p = 0, p_bad_to_good = 1 }", "beside another kind of loss"),
        ("50e6", "50e6\nloss = { kind = \"periodic\" }", "link.loss.every: missing"),
        ("50e6", "50e6\nloss = { kind = \"periodic\", every = 0 }", "link.loss.every: found 0"),
        ("name = \"cubic\"", "", "scheme.0.name: missing"),
        ("name = \"cubic\"", "name = \"../up\"", "expected a name of at most 64 letters"),
        ("[[scheme]]\nname = \"cubic\"", "", "scheme: found no scheme"),
        ("[[bulk]]", "[[scheme]]\nname = \"cubic\"\n[[bulk]]", "scheme: found \"cubic\" twice"),
        ("[[bulk]]", "", "viewer: found nobody who uses the network"),
        ("[[bulk]]", "[[bulk]]\nname=\"v1\"\n[[viewer]]", "viewer: found \"v1\" twice"),
        ("[[bulk]]", "[[bulk]]\nstart_s = 200", "found 200; expected less than duration_s = 200"),
        ("[[bulk]]", "[[bulk]]\nstart_s = 2\nstop_s = 1", "found 1; expected a time after start_s"),
        ("[[bulk]]", "[[bulk]]\nstop_s = 2\nbytes = 1", "bytes: found beside stop_s"),
        ("[[bulk]]", "[[bulk]]\ncount = 1.5", "bulk.0.count: found 1.5; expected a whole number"),
        ("[[bulk]]", "[[bulk]]\nweight = 2", "only Cubic, FAST and Cupid have a weight"),
        ("\"cubic\"", "\"x\"\ncontroller = \"explicit\"", "scheme.0.rate_bps: missing"),
        ("\"cubic\"", "\"x\"\nrate_bps = 4e6", "only that controller has a rate"),
        ("\"cubic\"", "\"x\"\nbbr = {}", "only that controller has these options"),
        (
            "\"cubic\"",
            "\"x\"\ncontroller = \"bbr\"\nbbr = { drop_pacing_gain = -1 }",
            "bbr.drop_pacing_gain: found -1; expected a number from 0",
        ),
        ("\"cubic\"", "\"x\"\ncontroller = \"bbr\"\nminerva = {}", "without weights"),
        (
            "\"cubic\"",
            "\"x\"
minerva = { mu = 0.5 }",
            "minerva.mu: found 0.5; expected a number from 1",
        ),
        ("[[bulk]]", "[player]\nabr = \"fixed\"\n[[bulk]]", "player.fixed_rung: missing"),
        ("[[bulk]]", "[player]\nfixed_rung = 1\n[[bulk]]", "found without abr = \"fixed\""),
        ("[[bulk]]", "[cases]\ncount = 2\n[[viewer]]\nvideo = \"a\"", "2 cases of the same videos"),
        ("[link]", "seeds = []\n[link]", "seeds: found no seed"),
        ("[link]", "seeds = [1, 1]\n[link]", "seeds: found 1 twice"),
        ("[link]", "seeds = [-1]\n[link]", "seeds: found -1; expected a whole number"),
        ("[link]\nrate_bps = 50e6", "link = 3", "a/s.toml:2: link: found 3; expected a table"),
    ];
    for (from, to, expected) in cases {
        let message = message(&GOOD.replacen(from, to, 1));
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("a/s.toml:"), "{message}");
    }
}

#[test]
fn what_is_no_toml_is_named_with_its_line() {
    let message = message("[link]\nrate_bps = = 3\n");
    assert!(message.starts_with("a/s.toml:2: "), "{message}");
    assert!(message.ends_with("; expected a TOML document"), "{message}");
    let e = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        b"a = 1\n\xff",
        Path::new("b.toml"),
        &[],
    )
    .unwrap_err();
    assert_eq!(
        e.to_string(),
        "b.toml:2: bytes that are no text; expected a TOML document in UTF-8"
    );
    let deep = format!("a = {}1{}", "[".repeat(60), "]".repeat(60));
    assert!(read(&deep).is_err());
}

#[test]
fn the_first_error_of_the_file_is_reported() {
    let first = message("duration_s = -1\n[link]\nrate_bps = -1\n");
    assert!(first.starts_with("a/s.toml:1: duration_s"), "{first}");
    // A misspelt key is unknown here and missing there: the cause is reported.
    let cause = message("seeds = []\n[link]\nrate_bsp = 1e6\n");
    assert_eq!(cause, "a/s.toml:3: link.rate_bsp: unknown key; did you mean `rate_bps`?");
}

#[test]
fn a_missing_file_names_the_built_in_ones() {
    let e =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("no/such.toml"), &[])
            .unwrap_err()
            .to_string();
    assert!(e.starts_with("no/such.toml: no such file; expected a scenario, or one of"), "{e}");
    assert!(e.contains("four-viewers"), "{e}");
    assert!(
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("."), &[])
            .unwrap_err()
            .to_string()
            .contains("cannot read")
    );
}

#[test]
fn errors_in_set_name_it_and_not_the_file() {
    let error = |set| with_set(GOOD, &[set]).unwrap_err().to_string();
    assert_eq!(
        error("link.rate_bps=-1"),
        "--set link.rate_bps: found -1; expected a number from 1000 to 1e12 bit/s, such as 10e6"
    );
    assert_eq!(error("link.rtt=0.1"), "--set link.rtt: unknown key; did you mean `rtt_s`?");
    assert!(error("link").starts_with("--set link: no equals sign; expected key=value"));
    assert!(error("bulk.3.count=1").starts_with("--set bulk.3.count: there is no entry 3 among 1"));
    assert!(error("bulk.count=1").starts_with("--set bulk.count: \"count\" in a list"));
    assert!(error("link.rate_bps.x=1").starts_with("--set link.rate_bps.x: rate_bps is 50e6;"));
    assert!(error("a..b=1").starts_with("--set a..b: not a key"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}", set in ".{0,40}") {
        let _ = Scenario::from_bytes(airlane_lab::registry().scenarios(), text.as_bytes(), Path::new("x"), &[]);
        let _ = with_set(GOOD, &[&set]);
    }

    #[test]
    fn no_value_makes_the_reader_panic(
        key in proptest::sample::select(airlane_lab::registry().scenarios().keys().iter().map(|k| k.key.clone()).collect::<Vec<_>>()),
        value in proptest::sample::select(vec![
            "0", "-1", "1", "2", "1e400", "nan", "\"\"", "\"a\"", "[]", "[[]]", "[0, 1]", "{}", "true",
            "1e18", "9223372036854775807", "99999999999999999999", "0x10", "[[0, 1e6]]", "2026-01-01",
        ]),
    ) {
        let key = key.replace("scheme.", "scheme.0.").replace("bulk.", "bulk.0.");
        let _ = with_set(GOOD, &[&format!("{key}={value}")]);
    }
}

#[test]
fn a_horizon_is_no_longer_than_mpc_looks() {
    let longest = airlane_abr::mpc::MAX_HORIZON;
    let with = |horizon| format!("{GOOD}[player]\nhorizon = {horizon}\n");
    assert!(read(&with(longest)).is_ok());
    let said = message(&with(longest + 1));
    assert!(
        said.contains("player.horizon: found 9; expected a whole number from 1 to 8"),
        "{said}"
    );
}

#[test]
fn a_fixed_share_needs_its_coordination() {
    let text = "[link]\nrate_bps = 50e6\n[[scheme]]\nname = \"a\"\ncall_up_share = 0.8\n[[call]]\n";
    let error = message(text);
    assert!(error.contains("call_up_share") && error.contains("fixed-share"), "{error}");
    let shared = text.replace("[[call]]", "call_coordination = \"fixed-share\"\n[[call]]");
    assert!(read(&shared).is_ok());
}

#[test]
fn a_transfer_goes_both_ways_over_one_access_and_at_a_constant_rate_that_is_said() {
    let with = |keys: &str| {
        format!("[link]\nrate_bps = 50e6\n[[scheme]]\nname = \"a\"\n[[bulk]]\n{keys}\n")
    };
    assert!(message(&with("both_ways = true\nupload = true")).contains("both_ways"));
    assert!(message(&with("up_limit_bps = 1e6")).contains("both_ways = true"));
    assert!(read(&with("both_ways = true\nup_limit_bps = 1e6")).is_ok());
}

#[test]
fn an_allocator_of_layers_needs_layers() {
    let text = "[link]\nrate_bps = 50e6\n[[scheme]]\nname = \"a\"\ncall_allocator = \"livekit\"\n[[call]]\n";
    let error = message(text);
    assert!(error.contains("call_allocator") && error.contains("call_thinning"), "{error}");
    let layered = text.replace("[[call]]", "call_thinning = \"layers\"\n[[call]]");
    assert!(read(&layered).is_ok());
}

#[test]
fn back_pressure_is_none_of_webrtc() {
    let text = "[link]\nrate_bps = 50e6\n[[scheme]]\nname = \"a\"\ncall_uplink_limit_bytes = 6000\n[[call]]\n";
    assert!(read(text).is_ok());
    let error = message(&text.replace("[[call]]", "call_transport = \"webrtc\"\n[[call]]"));
    assert!(error.contains("call_uplink_limit_bytes") && error.contains("pacer"), "{error}");
}

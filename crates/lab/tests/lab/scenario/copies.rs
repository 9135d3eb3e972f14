//! Tables that stand for several.

use airlane_scenario::Scenario;

use super::{message, read, with_set};

const SEVERAL: &str = r#"
[core]
rtt_s = 0.02

[[access]]
name = "server"
down = { rate_bps = 100e6 }

[[access]]
name = "c#"
copies = 3
behind = "server"
down = { rate_bps = 5e6 }

[[scheme]]
name = "cubic"

[[bulk]]
name = "b#"
copies = 3
at = "c#"
"#;

#[test]
fn a_table_with_copies_is_that_many() {
    let one_by_one = {
        let access = |n: u32| {
            format!(
                "[[access]]\nname = \"c{n}\"\nbehind = \"server\"\ndown = {{ rate_bps = 5e6 }}\n"
            )
        };
        let bulk = |n: u32| format!("[[bulk]]\nname = \"b{n}\"\nat = \"c{n}\"\n");
        let all = |of: &dyn Fn(u32) -> String| (1..=3).map(of).collect::<String>();
        format!(
            "[core]\nrtt_s = 0.02\n[[access]]\nname = \"server\"\ndown = {{ rate_bps = 100e6 }}\n{}\
             [[scheme]]\nname = \"cubic\"\n{}",
            all(&access),
            all(&bulk)
        )
    };
    let (copied, written) = (read(SEVERAL).unwrap(), read(&one_by_one).unwrap());
    assert_eq!(copied.network, written.network);
    let text = |s: &Scenario| airlane_sim::identity::text(&s.participants);
    assert_eq!(text(&copied), text(&written));
    let names: Vec<_> = copied.network.accesses.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["server", "c1", "c2", "c3"]);
}

#[test]
fn settings_of_the_command_line_apply_to_the_table_that_is_copied() {
    let more = with_set(SEVERAL, &["access.1.copies=5", "bulk.0.copies=5"]).unwrap();
    assert_eq!(more.network.accesses.len(), 6);
}

#[test]
fn a_bad_number_of_copies_is_named() {
    for (value, found) in [("0", "0"), ("-1", "-1"), ("1.5", "1.5"), ("1001", "1001")] {
        let text = SEVERAL.replacen("copies = 3", &format!("copies = {value}"), 1);
        assert_eq!(
            message(&text),
            format!(
                "a/s.toml:11: access.1.copies: found {found}; expected a whole number from 1 to 1000"
            )
        );
    }
    let many = SEVERAL.replace("copies = 3", "copies = 1000");
    let repeated = many.clone() + &"[[bulk]]\ncopies = 1000\nat = \"c#\"\n".repeat(10);
    assert!(message(&repeated).contains("found more than 10000 entries"), "{}", message(&repeated));
}

#[test]
fn copies_without_a_number_in_their_names_are_alike() {
    let text = SEVERAL.replace("name = \"c#\"", "name = \"c\"");
    assert!(message(&text).contains("found \"c\" twice"), "{}", message(&text));
}

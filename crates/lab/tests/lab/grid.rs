//! Scenarios with a grid: what the cells are, and what is said about a bad one.

use std::path::Path;
use std::time::Duration;

use airlane_lab::workloads::vod::minerva_of;
use airlane_scenario::*;
use proptest::prelude::*;

const SWEEP: &str = r#"
duration_s = 10
[link]
rate_bps = 50e6
[link.queue]
kind = "droptail"
[[scheme]]
name = "cubic"
[[scheme]]
name = "reno"
controller = "reno"
[[bulk]]
[grid]
"link.rate_bps" = [4e6, 10_000_000]
link.queue.kind = [
    "pie",
    "droptail",
]
"#;

fn grid_with(text: &str, set: &[&str], grid: &[&str]) -> Result<Grid, String> {
    let all = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    Grid::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("s.toml"),
        &all(set),
        &all(grid),
    )
    .map_err(|e| e.to_string())
}

/// What is wrong with a grid or, if nothing is, with its first bad cell.
fn message(text: &str, set: &[&str], grid: &[&str]) -> String {
    match grid_with(text, set, grid) {
        Err(e) => e,
        Ok(grid) => (0..grid.cells())
            .find_map(|cell| grid.scenario(cell).err())
            .map_or_else(|| "nothing".to_owned(), |e| e.to_string()),
    }
}

fn shape(grid: &Grid) -> Vec<(String, Vec<String>)> {
    let texts = |a: &Axis| a.values.iter().map(|v| v.text().to_owned()).collect();
    grid.axes().iter().map(|a| (a.key.clone(), texts(a))).collect()
}

fn axis(key: &str, values: &[&str]) -> (String, Vec<String>) {
    (key.to_owned(), values.iter().map(|v| (*v).to_owned()).collect())
}

#[test]
fn cells_are_the_cross_product_in_the_order_of_the_file() {
    let grid = grid_with(SWEEP, &[], &[]).unwrap();
    assert_eq!(
        shape(&grid),
        [
            axis("link.rate_bps", &["4000000", "10000000"]),
            axis("link.queue.kind", &["pie", "droptail"])
        ]
    );
    assert_eq!(grid.cells(), 4);
    let cells: Vec<Scenario> = (0..4).map(|c| grid.scenario(c).unwrap()).collect();
    let seen: Vec<(u64, bool)> = cells
        .iter()
        .map(|s| {
            match (
                &s.network.bottleneck().unwrap().capacity,
                s.network.bottleneck().unwrap().queue.discipline,
            ) {
                (Capacity::Constant(rate), Discipline::Pie { .. }) => (rate.bps(), true),
                (Capacity::Constant(rate), Discipline::DropTail) => (rate.bps(), false),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(
        seen,
        [(4_000_000, true), (4_000_000, false), (10_000_000, true), (10_000_000, false)]
    );
    assert_eq!(grid.label(1), "link.rate_bps=4000000, link.queue.kind=droptail");
    assert_eq!(grid.position(2), [1, 0]);
    assert!(cells.iter().all(|s| s.schemes.len() == 2 && s.duration == Duration::from_secs(10)));
}

#[test]
fn the_command_line_changes_all_cells_and_gives_axes() {
    let grid = grid_with(
        SWEEP,
        &["duration_s=3"],
        &["link.queue.kind=pie", "scheme.0.weight=1,2.5", "scheme.0.minerva={},{mu=2, alpha=1}"],
    )
    .unwrap();
    assert_eq!(
        shape(&grid),
        [
            axis("link.rate_bps", &["4000000", "10000000"]),
            axis("link.queue.kind", &["pie"]),
            axis("scheme.0.weight", &["1", "2.5"]),
            axis("scheme.0.minerva", &["{}", "{alpha = 1, mu = 2}"]),
        ]
    );
    let last = grid.scenario(grid.cells() - 1).unwrap();
    assert_eq!(last.duration, Duration::from_secs(3));
    assert_eq!(last.schemes[0].control.weight(), 2.5);
    assert_eq!(minerva_of(&last.schemes[0]).unwrap().mu, Some(2.0));

    let bulk = grid_with(SWEEP.split("[grid]").next().unwrap(), &[], &["bulk.0.count=[1, 2]"]);
    assert_eq!(shape(&bulk.unwrap()), [axis("bulk.0.count", &["1", "2"])]);
}

#[test]
fn an_axis_of_one_kind_of_capacity_takes_the_others_away() {
    let text = SWEEP.replace("\"link.rate_bps\"", "\"link.steps\"");
    let text = text.replace("[4e6, 10_000_000]", "[[[0, 4e6]], [[0, 4e6], [5, 8e6]]]");
    let grid = grid_with(&text, &[], &[]).unwrap();
    assert_eq!(grid.axes()[0].values[1].text(), "[[0, 4000000], [5, 8000000]]");
    assert!(
        matches!(&grid.scenario(3).unwrap().network.bottleneck().unwrap().capacity, Capacity::Steps(s) if s.len() == 2)
    );
}

#[test]
fn bad_axes_are_named_with_file_line_and_key() {
    let about = |from: &str, to: &str| {
        assert!(SWEEP.contains(from), "{from}");
        message(&SWEEP.replacen(from, to, 1), &[], &[])
    };
    assert_eq!(
        about("\"link.rate_bps\"", "\"link.rate_bsp\""),
        "s.toml:14: link.rate_bsp: unknown key; did you mean `rate_bps`?"
    );
    assert_eq!(
        about("[4e6, 10_000_000]", "4e6"),
        "s.toml:14: link.rate_bps: found 4e6; expected a list of values, such as [4e6, 10e6]"
    );
    assert_eq!(
        about("[4e6, 10_000_000]", "[]"),
        "s.toml:14: link.rate_bps: found no value; expected at least one"
    );
    assert_eq!(
        about("[4e6, 10_000_000]", "[4e6, 4000000]"),
        "s.toml:14: link.rate_bps: found 4000000 twice; expected distinct values"
    );
    assert_eq!(
        about("\"link.rate_bps\"", "seeds"),
        "s.toml:14: seeds: no key of a grid; expected `seeds = [...]` outside of the grid: every \
         cell has them all"
    );
    assert!(about("\"link.rate_bps\"", "scheme").contains("expected [[scheme]] tables"));
    assert!(about("\"link.rate_bps\"", "name").contains("no key of a grid"));
    assert_eq!(
        about("\"link.rate_bps\"", "\"scheme.2.weight\""),
        "s.toml:14: scheme.2.weight: there is no entry 2 among 2; expected the number of an entry, \
         counted from 0"
    );
    assert_eq!(
        about("\"link.rate_bps\"", "\"link..rate_bps\""),
        "s.toml:14: link..rate_bps: not a key; expected a path such as link.rate_bps"
    );
    let clash = "\"link.trace\" = [\"a\"]\nlink.queue.kind";
    assert_eq!(
        about("link.queue.kind", clash),
        "s.toml:15: link.trace: it takes away what link.rate_bps sets; expected keys that go \
         together"
    );
    let no_table = SWEEP.split("[grid]").next().unwrap();
    assert_eq!(
        message(&format!("grid = 3\n{no_table}"), &[], &[]),
        "s.toml:1: grid: found 3; expected a table of keys, each with a list of values"
    );
    let none = "s.toml: no grid; expected a table [grid], or --grid key=v1,v2";
    assert_eq!(message(no_table, &[], &[]), none);
    assert_eq!(message(&format!("{no_table}[grid]\n"), &[], &[]), none);
    assert!(message("[grid", &[], &[]).starts_with("s.toml:1: "));
}

#[test]
fn bad_values_are_named_with_the_line_of_the_value() {
    let absurd = "expected a number from 1000 to 1e12 bit/s, such as 10e6";
    let rate = SWEEP.replace("10_000_000", "-3");
    assert_eq!(message(&rate, &[], &[]), format!("s.toml:14: link.rate_bps: found -3; {absurd}"));
    let kind = SWEEP.replace("    \"droptail\",", "    \"dropptail\",");
    assert_eq!(
        message(&kind, &[], &[]),
        "s.toml:17: link.queue.kind: found the text \"dropptail\"; expected one of \"droptail\", \
         \"pie\", \"octopus\", \"codel\", \"fq-codel\", \"priority-drop\", \"abc\", \
         \"discard-timer\", \"dualpi2\": did you mean \"droptail\"?"
    );
    // A key that is only wrong in some cells is named with the cell.
    let both = SWEEP.replace("[link.queue]", "[link.queue]\nlimit_bytes = 3000");
    let text = both.replace(
        "link.queue.kind = [",
        "\"scheme.0.queue\" = [{}, {limit_bdp = 1, limit_bytes = 2000}]\nx = [",
    );
    let text = text.split("x = [").next().unwrap();
    let said = message(text, &[], &[]);
    assert!(said.starts_with("s.toml:16: scheme.0.queue"), "{said}");
    let fixed = message(SWEEP, &[], &["player.abr=fixed"]);
    assert!(fixed.contains("player.fixed_rung: "), "{fixed}");
    assert!(fixed.contains("(with link.rate_bps=4000000, "), "{fixed}");
}

#[test]
fn bad_axes_of_the_command_line_are_named() {
    let of = |grid: &str| message(SWEEP, &[], &[grid]);
    assert_eq!(
        of("link.rate_bps=4e6,0"),
        "--grid link.rate_bps: found 0; expected a number from 1000 to 1e12 bit/s, such as 10e6"
    );
    assert_eq!(of("link.rtt=1,2"), "--grid link.rtt: unknown key; did you mean `rtt_s`?");
    let example = "expected key=v1,v2, such as link.rate_bps=4e6,10e6";
    assert_eq!(of("link.rtt_s"), format!("--grid link.rtt_s: no equals sign; {example}"));
    for missing in ["link.rtt_s=", "link.rtt_s=1,", "link.rtt_s=[]"] {
        assert_eq!(of(missing), format!("--grid link.rtt_s: a value is missing; {example}"));
    }
    assert_eq!(
        message(SWEEP, &["link.rate_bps=3e6"], &[]),
        "--set link.rate_bps: the grid takes it away with link.rate_bps; expected it in the grid: \
         --grid link.rate_bps=..."
    );
    assert!(message(SWEEP, &["link.trace=x"], &[]).starts_with("--set link.trace: the grid takes"));
    assert_eq!(message(SWEEP, &["link.queue.limit_bdp=3"], &[]), "nothing");
    let many = "bulk.0.count=1,2,3,4,5,6,7,8,9,10";
    let large = message(
        SWEEP,
        &[],
        &[
            many,
            "link.rtt_s=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0",
            "duration_s=1,2,3,4,5,6,7,8,9,10",
            "min_chunks=1,2,3,4,5,6,7,8,9,10",
        ],
    );
    assert_eq!(large, "s.toml: grid: 40000 cells; expected at most 10000");
}

#[test]
fn a_grid_is_no_scenario() {
    let error = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        SWEEP.as_bytes(),
        Path::new("s.toml"),
        &[],
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "s.toml:13: grid: a grid of scenarios; run it with `airlane sweep`"
    );
}

proptest! {
    /// An axis given again as an argument is the same axis.
    #[test]
    fn arguments_read_back(
        text in prop_oneof!["[a-z,\\[\\]{}\"'= .0-9]{1,12}", Just("12".to_owned())],
        number in -1e12f64..1e12,
        list in prop::collection::vec(0i64..100, 0..4),
    ) {
        let values = format!("{}, {number:?}, {list:?}", serde_json::to_string(&text).unwrap());
        let text = format!("{}[grid]\nx = [{values}]\n", SWEEP.split("[grid]").next().unwrap());
        let grid = grid_with(&text, &[], &[]);
        // Two values that look the same in a table are refused.
        prop_assume!(!matches!(&grid, Err(e) if e.contains(" twice")));
        let grid = grid.unwrap();
        let axis = &grid.axes()[0];
        let again = |argument: String| grid_with(&text, &[], &[&argument]).unwrap();
        for (i, value) in axis.values.iter().enumerate() {
            let again = again(axis.argument(Some(i)));
            let values = &again.axes()[0].values;
            prop_assert_eq!(values.len(), 1, "{}", axis.argument(Some(i)));
            prop_assert_eq!(values[0].text(), value.text());
            prop_assert_eq!(values[0].number(), value.number());
        }
        let all = again(axis.argument(None));
        prop_assert_eq!(shape(&all), shape(&grid));
        prop_assert!(all.axes()[0].is_of_command_line() && !axis.is_of_command_line());
    }
}

#[test]
fn the_sweep_of_the_documentation_is_sound() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/sweeps.md");
    let page = std::fs::read_to_string(page).unwrap();
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let grid = grid_with(text, &[], &[]).unwrap();
    let runs = |s: Scenario| s.schemes.len() * s.seeds.len() * s.cases.count;
    let cells: Vec<usize> = (0..grid.cells()).map(|c| runs(grid.scenario(c).unwrap())).collect();
    assert_eq!((cells.len(), cells.iter().sum::<usize>()), (6, 36), "as the page says");
    // The axes that its table shows.
    let rows = page.lines().filter(|l| l.starts_with("| `") && l.contains(" = ["));
    let shown: Vec<&str> = rows.filter_map(|l| l.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(shown.len(), 4, "{shown:?}");
    let scenario = text.split("[grid]").next().unwrap();
    for axis in shown {
        let said = message(&format!("{scenario}[grid]\n{axis}\n"), &[], &[]);
        assert_eq!(said, "nothing", "{axis}");
    }
}

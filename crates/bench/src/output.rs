//! What the bench leaves: `bench.json`, and a table for people.

use serde::{Deserialize, Serialize};

use crate::bar::{Figure, Problem, REPORTED};

/// One entry of `bench.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Its name, such as `speed.tls`; the name of the bar alone if there is no figure.
    pub(crate) bar: String,
    /// Value that Airlane reaches; `None` if it was not measured.
    pub(crate) ours: Option<f64>,
    /// Value that the peer reaches, if there is one.
    pub(crate) peer: Option<f64>,
    /// Unit of both.
    pub(crate) unit: String,
    /// Ours over the peer's; where there is no peer, over what is asked.
    pub(crate) ratio: Option<f64>,
    /// True if the bar holds; `None` if it was skipped, or if nothing is asked.
    pub(crate) holds: Option<bool>,
    /// Rule that the figure must meet, in words.
    pub(crate) rule: String,
    /// Note on the measurement, or the reason for which there is none.
    pub(crate) note: String,
    /// Machine that it ran on.
    pub(crate) machine: String,
    /// Date and time, UTC.
    pub(crate) date: String,
    /// The commit of Airlane.
    pub(crate) commit: String,
}

/// The circumstances, the same for all rows of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circumstances {
    pub(crate) machine: String,
    pub(crate) date: String,
    pub(crate) commit: String,
}

impl Circumstances {
    /// The rows of one bar.
    pub(crate) fn rows(&self, bar: &str, measured: Result<Vec<Figure>, Problem>) -> Vec<Row> {
        match measured {
            Ok(figures) => figures.into_iter().map(|f| self.row(&f)).collect(),
            Err(problem) => {
                let broke = matches!(problem, Problem::Broke(_));
                vec![Row {
                    bar: bar.to_owned(),
                    ours: None,
                    peer: None,
                    unit: String::new(),
                    ratio: None,
                    holds: broke.then_some(false),
                    rule: String::new(),
                    note: problem.to_string(),
                    machine: self.machine.clone(),
                    date: self.date.clone(),
                    commit: self.commit.clone(),
                }]
            }
        }
    }

    fn row(&self, figure: &Figure) -> Row {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        Row {
            bar: figure.bar.clone(),
            ours: finite(figure.ours),
            peer: figure.peer.and_then(finite),
            unit: figure.unit.to_owned(),
            ratio: figure.ratio(),
            holds: figure.holds(),
            rule: figure.rule.words(),
            note: figure.note.clone(),
            machine: self.machine.clone(),
            date: self.date.clone(),
            commit: self.commit.clone(),
        }
    }
}

impl Row {
    /// The verdict in a word.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "MISSES",
            None if self.is_reported() => REPORTED,
            None => "skipped",
        }
    }

    /// True if nothing is asked.
    fn is_reported(&self) -> bool {
        self.rule == REPORTED
    }

    /// True if the bar misses or was skipped.
    pub(crate) fn is_open(&self) -> bool {
        self.holds != Some(true) && !self.is_reported()
    }
}

/// The content of `bench.json`: an array, a line per row.
pub(crate) fn json(rows: &[Row]) -> String {
    let lines: Vec<String> =
        rows.iter().map(|r| serde_json::to_string(r).expect("plain fields")).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The table in Markdown, which also reads well in a terminal, and the notes below it.
pub(crate) fn table(rows: &[Row]) -> String {
    let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), figure);
    let mut cells = vec![["bar", "ours", "peer", "unit", "ratio", "asked", ""].map(str::to_owned)];
    cells.extend(rows.iter().map(|r| {
        [
            r.bar.clone(),
            number(r.ours),
            number(r.peer),
            r.unit.clone(),
            r.ratio.map_or_else(|| "-".to_owned(), |x| format!("{x:.3}")),
            r.rule.clone(),
            r.verdict().to_owned(),
        ]
    }));
    let widths: [usize; 7] =
        std::array::from_fn(|i| cells.iter().map(|c| c[i].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for (i, row) in cells.iter().enumerate() {
        let padded: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                1 | 2 | 4 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            })
            .collect();
        out.push_str(&format!("| {} |\n", padded.join(" | ")));
        if i == 0 {
            let rule = |(column, width): (usize, usize)| match column {
                1 | 2 | 4 => format!("{}:", "-".repeat(width + 1)),
                _ => "-".repeat(width + 2),
            };
            let rules: Vec<String> = widths.into_iter().enumerate().map(rule).collect();
            out.push_str(&format!("|{}|\n", rules.join("|")));
        }
    }
    out.push('\n');
    for row in rows.iter().filter(|r| !r.note.is_empty()) {
        out.push_str(&format!("- {}: {}\n", row.bar, row.note));
    }
    out
}

/// The circumstances and the table.
pub(crate) fn page(rows: &[Row], circumstances: &Circumstances) -> String {
    let Circumstances { machine, date, commit } = circumstances;
    format!("{machine}; {date}; commit {commit}\n\n{}", table(rows))
}

/// Tally of the bars that hold, miss and were skipped, in one line.
pub(crate) fn tally(rows: &[Row]) -> String {
    let names = |holds: Option<bool>| -> Vec<&str> {
        let of = |r: &&Row| r.holds == holds && !r.is_reported();
        rows.iter().filter(of).map(|r| r.bar.as_str()).collect()
    };
    let (misses, skipped) = (names(Some(false)), names(None));
    let list = |names: &[&str]| match names {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    };
    format!(
        "{} hold, {} miss{}, {} skipped{}",
        names(Some(true)).len(),
        misses.len(),
        list(&misses),
        skipped.len(),
        list(&skipped)
    )
}

/// A number for people: four digits, or whole with the thousands apart.
pub(crate) fn figure(x: f64) -> String {
    if x.abs() < 1000.0 {
        let decimals = if x == 0.0 { 0 } else { (3 - x.abs().log10().floor() as i32).clamp(0, 4) };
        return format!("{x:.*}", decimals as usize);
    }
    let digits = format!("{:.0}", x.abs());
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    if x < 0.0 { format!("-{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bar::Rule;

    fn rows() -> Vec<Row> {
        let circumstances = Circumstances {
            machine: "a machine".into(),
            date: "2026-01-01T00:00:00Z".into(),
            commit: "abc".into(),
        };
        let figure = |bar: &str, ours, peer, rule| Figure {
            bar: bar.into(),
            ours,
            peer,
            unit: "packets/s",
            rule,
            note: String::new(),
        };
        let mut rows = circumstances.rows(
            "speed",
            Ok(vec![
                figure("speed.null", 330_000.0, Some(60_000.0), Rule::TimesPeer(4.5)),
                figure("speed.tls", 120_000.0, Some(60_000.0), Rule::TimesPeer(3.0)),
            ]),
        );
        rows.extend(circumstances.rows("fuzz", Err(Problem::Skipped("no nightly".into()))));
        rows.extend(circumstances.rows("demo", Err(Problem::Broke("exit code 70".into()))));
        rows
    }

    #[test]
    fn the_file_is_an_array_of_rows_with_the_pinned_fields_and_the_machine() {
        let text = json(&rows());
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let array = value.as_array().expect("an array");
        assert_eq!(array.len(), 4);
        for row in array {
            for key in ["bar", "ours", "peer", "unit", "ratio", "holds"] {
                assert!(row.get(key).is_some(), "{key} in {row}");
            }
            assert_eq!(row["machine"], "a machine");
        }
        assert_eq!(array[0]["ratio"], 5.5);
        assert_eq!(array[0]["holds"], true);
        assert_eq!(array[1]["holds"], false);
        assert!(array[2]["holds"].is_null() && array[2]["ours"].is_null());
        assert_eq!(array[2]["note"], "skipped: no nightly");
        let back: Vec<Row> = serde_json::from_str(&text).expect("rows");
        assert_eq!(back, rows());
    }

    #[test]
    fn a_bar_that_misses_says_so() {
        let text = table(&rows());
        let line = |name: &str| text.lines().find(|l| l.contains(name)).expect(name).to_owned();
        assert!(line("speed.null").contains("| holds "), "{text}");
        assert!(line("speed.tls").contains("| MISSES "), "{text}");
        assert!(line("| fuzz").contains("| skipped "), "{text}");
        assert!(text.contains("- fuzz: skipped: no nightly"), "{text}");
        assert!(text.contains("- demo: broke: exit code 70"), "{text}");
        assert_eq!(tally(&rows()), "1 hold, 2 miss (speed.tls, demo), 1 skipped (fuzz)");
    }

    #[test]
    fn a_figure_of_which_nothing_is_asked_neither_holds_nor_is_skipped() {
        let figure = Figure {
            bar: "cost".into(),
            ours: 2.0,
            peer: Some(1.0),
            unit: "s/GB",
            rule: Rule::Reported,
            note: String::new(),
        };
        let rows = Circumstances::default().rows("cost", Ok(vec![figure]));
        assert_eq!((rows[0].holds, rows[0].ratio), (None, Some(2.0)));
        assert!(!rows[0].is_open());
        assert!(table(&rows).contains("| reported |"), "{}", table(&rows));
        assert_eq!(tally(&rows), "0 hold, 0 miss, 0 skipped");
    }

    #[test]
    fn figures_have_four_digits_or_thousands_apart() {
        for (x, text) in [
            (0.0, "0"),
            (0.9987, "0.9987"),
            (47.986, "47.99"),
            (330_001.4, "330 001"),
            (5_200_000.0, "5 200 000"),
        ] {
            assert_eq!(figure(x), text);
        }
    }
}

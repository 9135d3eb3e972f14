//! Sweeps of a few virtual seconds: what they leave, and that it does not depend on how often they
//! were stopped.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use airlane_base::Seed;
use airlane_judge::request::{Outcome, SweepRequest};
use airlane_judge::summary::Summary;
use airlane_lab::sweep;
use airlane_sim::LabError;
use airlane_sim::RunInfo;
use airlane_sim::pool::{Progress, StopFlag};
use airlane_sim::{Captures, Common};
use parking_lot::Mutex;

/// Two schemes, two cells, two seeds: eight runs.
const SWEEP: &str = r#"
name = "small"
title = "Small"
duration_s = 2
seeds = [1, 2]
[link]
rate_bps = 2e6
[[scheme]]
name = "cubic"
title = "Cubic"
[[scheme]]
name = "reno"
title = "Reno"
controller = "reno"
[[bulk]]
[[bulk]]
[grid]
"link.rate_bps" = [1e6, 2e6]
"#;

/// A folder of this test's own, gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("airlane-sweep-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("s.toml"), SWEEP).unwrap();
        Self(path)
    }

    /// Sweeps into `out` as `change` says.
    fn sweep(
        &self,
        out: &str,
        change: impl FnOnce(&mut SweepRequest<'_>),
    ) -> Result<Outcome, LabError> {
        let mut request = SweepRequest {
            common: Common { out: self.0.join(out), jobs: 2, ..Common::default() },
            scenario: self.0.join("s.toml"),
            set: Vec::new(),
            grid: Vec::new(),
            fresh: false,
        };
        change(&mut request);
        sweep(&request)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    fn info(&self, out: &str) -> RunInfo {
        serde_json::from_str(&self.read(&format!("{out}/run.json"))).unwrap()
    }

    fn summary(&self, out: &str) -> Summary {
        serde_json::from_str(&self.read(&format!("{out}/summary.json"))).unwrap()
    }

    /// Whether two folders hold the same results, byte for byte.
    fn assert_same(&self, a: &str, b: &str) {
        for file in ["summary.json", "sweep.csv", "report.html"] {
            let (one, two) = (self.read(&format!("{a}/{file}")), self.read(&format!("{b}/{file}")));
            assert!(one == two, "{file} of {a} and {b} differ");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Asks for a stop once so many jobs have finished.
pub(crate) struct StopAfter(AtomicUsize, StopFlag);

impl StopAfter {
    pub(crate) fn new(jobs: usize, stop: StopFlag) -> Self {
        Self(AtomicUsize::new(jobs), stop)
    }
}

impl Progress for StopAfter {
    fn begin(&self, _what: &str, _units: u64) {}
    fn advance(&self, _units: u64) {}
    fn finished(&self, _label: &str) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.1.stop();
        }
    }
    fn end(&self) {}
}

/// The title that stands above the work.
#[derive(Default)]
struct Title(Mutex<String>);

impl Progress for Title {
    fn begin(&self, what: &str, _units: u64) {
        *self.0.lock() = what.to_owned();
    }
    fn advance(&self, _units: u64) {}
    fn finished(&self, _label: &str) {}
    fn end(&self) {}
}

fn set(text: &str) -> impl FnOnce(&mut SweepRequest<'_>) {
    let text = text.to_owned();
    move |request| request.set = vec![text]
}

fn grid(text: &str) -> impl FnOnce(&mut SweepRequest<'_>) {
    let text = text.to_owned();
    move |request| request.grid = vec![text]
}

#[test]
fn a_sweep_leaves_one_tidy_table_in_the_order_of_the_grid() {
    let folder = Folder::new("table");
    let outcome = folder.sweep("out", |_| {}).unwrap();
    assert_eq!((outcome.stopped, outcome.failed, outcome.exit_code()), (false, 0, 0));
    assert!(outcome.table.contains("1 Mbit/s") && outcome.table.contains("Reno"));
    let summary = folder.summary("out");
    let runs: Vec<String> = summary
        .runs
        .iter()
        .map(|r| format!("{} {} {} {}", r.experiment, r.case, r.scheme, r.seed))
        .collect();
    assert_eq!(runs.len(), 8);
    assert_eq!(runs[0], "small: link.rate_bps=1000000 1 cubic 1");
    assert_eq!(runs[3], "small: link.rate_bps=1000000 1 reno 2");
    assert_eq!(runs[4], "small: link.rate_bps=2000000 1 cubic 1");
    assert_eq!((summary.seeds.as_slice(), summary.virtual_s), (&[1, 2][..], 16.0));

    let csv = folder.read("out/sweep.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("link.rate_bps,case,scheme,seed,metric,unit,value"));
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), summary.rows.len());
    for (cells, row) in rows.iter().zip(&summary.rows) {
        assert!(row.experiment.ends_with(&format!("link.rate_bps={}", cells[0])));
        let seed = row.seed.to_string();
        assert_eq!(cells[1..6], [&row.case, &row.scheme, &seed, &row.metric, &row.unit]);
        assert_eq!(cells[6].parse(), Ok(row.value), "the same number, bit for bit");
    }
    let page = folder.read("out/report.html");
    for text in ["Slowest transfer", "Link use", "<table class=\"facets\"", "2 Mbit/s", "Reno"] {
        assert!(page.contains(text), "{text}");
    }
    let info = folder.info("out");
    assert_eq!((info.runs_planned, info.runs_finished, info.runs_reused), (8, 8, 0));
}

#[test]
fn a_sweep_that_was_stopped_goes_on_to_the_same_bytes() {
    let folder = Folder::new("resume");
    folder.sweep("whole", |r| r.common.jobs = 1).unwrap();
    for after in [1, 4, 7] {
        let out = format!("stopped{after}");
        let stop = StopFlag::default();
        let progress = StopAfter::new(after, stop.clone());
        let mut request = SweepRequest {
            common: Common {
                out: folder.0.join(&out),
                jobs: 1,
                stop,
                progress: &progress,
                ..Common::default()
            },
            scenario: folder.0.join("s.toml"),
            set: Vec::new(),
            grid: Vec::new(),
            fresh: false,
        };
        let outcome = sweep(&request).unwrap();
        assert_eq!((outcome.stopped, outcome.exit_code()), (true, 130));
        let start = format!("Stopped after {after} of 8 runs.");
        assert!(outcome.line.starts_with(&start), "{}", outcome.line);
        // What is there is complete and readable, and spread over the cells.
        let partial = folder.summary(&out);
        assert_eq!(partial.runs.len(), after);
        assert!(folder.info(&out).stopped);
        assert!(folder.read(&format!("{out}/report.html")).contains("This was stopped"));
        if after == 4 {
            let first = |r: &&airlane_judge::summary::RunEntry| r.seed == 1;
            assert_eq!(partial.runs.iter().filter(first).count(), 4, "all cells, the first seed");
        }

        let title = Title::default();
        request.common.stop = StopFlag::default();
        request.common.progress = &title;
        let outcome = sweep(&request).unwrap();
        assert!(!outcome.stopped);
        let told = format!("{after} of 8 runs were there from before.");
        assert!(outcome.line.contains(&told), "{}", outcome.line);
        let above = format!("sweep small, {after} of 8 runs from before");
        assert_eq!(*title.0.lock(), above);
        assert_eq!(folder.info(&out).runs_reused, after);
        folder.assert_same("whole", &out);
    }
}

#[test]
fn a_stop_before_anything_leaves_readable_files_too() {
    let folder = Folder::new("nothing");
    let stop = StopFlag::default();
    stop.stop();
    let outcome = folder.sweep("out", |r| r.common.stop = stop).unwrap();
    assert_eq!((outcome.exit_code(), outcome.table.as_str()), (130, ""));
    assert!(folder.summary("out").runs.is_empty());
    assert_eq!(folder.read("out/sweep.csv").lines().count(), 1);
    folder.sweep("out", |_| {}).unwrap();
    assert_eq!(folder.summary("out").runs.len(), 8);
}

#[test]
fn a_torn_or_damaged_journal_costs_what_was_damaged_and_no_more() {
    let folder = Folder::new("torn");
    folder.sweep("out", |_| {}).unwrap();
    folder.sweep("again", |_| {}).unwrap();
    let journal = folder.0.join("out/sweep.journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, &whole[..whole.len() - 40]).unwrap();
    let outcome = folder.sweep("out", |_| {}).unwrap();
    assert!(outcome.line.contains("7 of 8 runs were there from before."), "{}", outcome.line);
    assert!(outcome.line.contains("1 damaged line of sweep.journal.jsonl left out."));
    folder.assert_same("out", "again");

    let text = String::from_utf8(whole).unwrap();
    fs::write(
        &journal,
        text.replacen("link_utilisation\",\"\",0.", "link_utilisation\",\"\",1.", 1),
    )
    .unwrap();
    folder.sweep("out", |_| {}).unwrap();
    assert_eq!(folder.info("out").runs_reused, 7);
    folder.assert_same("out", "again");
}

#[test]
fn a_changed_grid_takes_over_what_still_fits() {
    let folder = Folder::new("changed");
    let reused = |change: &dyn Fn(&mut SweepRequest<'_>)| {
        folder.sweep("out", |r| change(r)).unwrap();
        let info = folder.info("out");
        (info.runs_reused, info.runs_planned)
    };
    assert_eq!(reused(&|_| {}), (0, 8));
    // A value more, a value less, another key whose default was in force.
    assert_eq!(reused(&|r| r.grid = vec!["link.rate_bps=1e6,2e6,3e6".to_owned()]), (8, 12));
    assert_eq!(reused(&|r| r.grid = vec!["link.rate_bps=3e6".to_owned()]), (4, 4));
    let rtt = |r: &mut SweepRequest<'_>| r.grid = vec!["link.rtt_s=0.02,0.05".to_owned()];
    assert_eq!(reused(&rtt), (8, 16));
    // Seeds and names for people.
    assert_eq!(reused(&|r| r.set = vec!["seeds=[2, 3]".to_owned()]), (4, 8));
    assert_eq!(reused(&|r| r.set = vec!["scheme.1.name=newreno".to_owned()]), (8, 8));
    assert!(folder.summary("out").runs.iter().any(|r| r.scheme == "newreno"));
    // Everything else is another run.
    for other in ["duration_s=3", "host.send_jitter_packets=1", "bulk.0.start_s=0.5"] {
        assert_eq!(reused(&|r| r.set = vec![other.to_owned()]).0, 0, "{other}");
    }
    assert_eq!(reused(&|r| r.set = vec!["scheme.0.weight=2".to_owned()]), (4, 8));
    assert_eq!(reused(&|_| {}), (8, 8));
    assert_eq!(reused(&|r| r.fresh = true), (0, 8));
    assert_eq!(reused(&|r| r.grid = vec!["link.rtt_s=0.02,0.05".to_owned()]).0, 8);
}

#[test]
fn worlds_that_cells_have_in_common_are_run_once() {
    let folder = Folder::new("common");
    let outcome = folder.sweep("out", grid("scheme.0.weight=1,2,3")).unwrap();
    assert!(!outcome.stopped);
    // Cubic has six cells; Reno has no weight, so two of its six are worlds of their own.
    let journal = folder.read("out/sweep.journal.jsonl");
    assert_eq!(journal.lines().count(), 1 + 6 * 2 + 2 * 2);
    assert_eq!(folder.summary("out").runs.len(), 24);
}

#[test]
fn the_same_journal_serves_other_content_and_traces_only_where_they_are_the_same() {
    let folder = Folder::new("trace");
    fs::write(folder.0.join("t.txt"), "0 2\n1 3\n").unwrap();
    let text = SWEEP.replace("\"link.rate_bps\" = [1e6, 2e6]", "\"link.trace\" = [\"t.txt\"]");
    fs::write(folder.0.join("s.toml"), text.replace("rate_bps = 2e6\n", "rate_bps = 3e6\n"))
        .unwrap();
    let reused = || {
        folder.sweep("out", |_| {}).unwrap();
        folder.info("out").runs_reused
    };
    assert_eq!((reused(), reused()), (0, 4));
    fs::write(folder.0.join("t.txt"), "0 2\n1 4\n").unwrap();
    assert_eq!(reused(), 0, "the file has changed");
    assert!(folder.read("out/sweep.csv").contains("\nt.txt,1,cubic,1,"));
}

#[test]
fn viewers_are_compared_cell_by_cell() {
    let folder = Folder::new("viewers");
    let content = folder.0.join("made-up");
    fs::create_dir(&content).unwrap();
    for video in airlane_media::synthetic::corpus(3, 10, Seed(3)) {
        let file = content.join(format!("{}.json", video.name));
        fs::write(file, airlane_media::table::to_json(&video)).unwrap();
    }
    let text = SWEEP
        .replace("[[bulk]]\n[[bulk]]", "[[viewer]]\n[[viewer]]")
        .replace("duration_s = 2\n", "duration_s = 20\nmin_chunks = 8\n")
        .replace("controller = \"reno\"", "minerva = {}")
        + "\"player.abr\" = [\"robust-mpc\", \"bola\"]\n";
    fs::write(folder.0.join("s.toml"), text).unwrap();
    let outcome = folder.sweep("out", |r| r.common.content = Some(content.clone())).unwrap();
    assert!(outcome.line.contains("The worst viewer is better off under Reno than under Cubic in"));
    assert!(outcome.line.contains(" of 4 cells"), "{}", outcome.line);
    let csv = folder.read("out/sweep.csv");
    assert!(csv.starts_with("link.rate_bps,player.abr,case,"));
    assert!(csv.contains("\n2000000,bola,1/v2,reno,2,qoe,points,"));
    let page = folder.read("out/report.html");
    assert!(
        page.contains("Worst viewer&#39;s QoE") && page.contains("<th scope=\"row\">bola</th>")
    );
}

#[test]
fn captures_are_made_by_runs() {
    let folder = Folder::new("captures");
    folder.sweep("out", |_| {}).unwrap();
    let pcap = folder.0.join("pcap");
    let captures = Captures { pcap: Some(pcap.clone()), ..Captures::default() };
    folder.sweep("out", |r| r.common.captures = captures).unwrap();
    assert_eq!(folder.info("out").runs_reused, 0);
    assert_eq!(fs::read_dir(pcap).unwrap().count(), 8, "a file per run, none overwritten");
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_written() {
    let folder = Folder::new("refused");
    let refused = |change: &dyn Fn(&mut SweepRequest<'_>)| {
        let error = folder.sweep("out", |r| change(r)).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(!folder.0.join("out").exists());
        error.to_string()
    };
    let text = SWEEP.replace("[1e6, 2e6]", "[1e6, -2e6]");
    fs::write(folder.0.join("s.toml"), text).unwrap();
    let place = format!("{}:18: link.rate_bps: found -2e6; ", folder.0.join("s.toml").display());
    let message = refused(&|_| {});
    assert!(message.starts_with(&place), "{message}");
    fs::write(folder.0.join("s.toml"), SWEEP).unwrap();
    let message = refused(&|r| r.common.traces = vec!["t.txt".parse().unwrap()]);
    assert_eq!(
        message,
        "--trace: it takes away what the grid sets: link.rate_bps; expected one of the two"
    );
    let watch = SWEEP.replace("[[bulk]]\n[[bulk]]", "[[viewer]]");
    fs::write(folder.0.join("s.toml"), watch).unwrap();
    let message = refused(&|r| r.grid = vec!["viewer.0.video=nobody".to_owned()]);
    assert!(message.contains("viewer.0.video: no video \"nobody\""), "{message}");
    assert!(message.contains("(with link.rate_bps=1000000, viewer.0.video=nobody)"), "{message}");
    let message = refused(&|r| r.scenario = "bulk".into());
    assert_eq!(message, "bulk: no grid; expected a table [grid], or --grid key=v1,v2");

    fs::write(folder.0.join("s.toml"), SWEEP).unwrap();
    fs::create_dir(folder.0.join("out")).unwrap();
    fs::write(folder.0.join("out/summary.json"), "mine").unwrap();
    fs::write(folder.0.join("out/sweep.journal.jsonl"), "not ours\n").unwrap();
    let error = folder.sweep("out", set("duration_s=1")).unwrap_err().to_string();
    assert!(
        error.ends_with("expected one that this airlane began; --fresh starts over"),
        "{error}"
    );
    assert_eq!(folder.read("out/summary.json"), "mine", "results stay until the journal is sound");
}

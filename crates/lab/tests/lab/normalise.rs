//! Minerva's normalisation from files: popularities of titles, f as `airlane corpus normalise`
//! writes it, and viewers whose devices have measures of their own.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_base::Seed;
use airlane_judge::request::RunRequest;
use airlane_lab::workloads::vod::normalise::{FORMS, Form, NormaliseRequest, normalise};
use airlane_lab::workloads::vod::{self, Abr};
use airlane_media::{Corpus, Metric, synthetic, table};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

/// A folder with six made-up titles of eight chunks, and whatever a test writes beside them.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("airlane-f-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("content")).unwrap();
        for video in synthetic::corpus(6, 8, Seed(5)) {
            let file = dir.join(format!("content/{}.json", video.name));
            fs::write(file, table::to_json(&video)).unwrap();
        }
        Self(dir)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn titles(&self) -> Vec<String> {
        let corpus = Corpus::load_dir(self.0.join("content")).unwrap();
        corpus.videos().map(|v| v.name.clone()).collect()
    }

    fn common(&self) -> Common<'static> {
        let (content, out) = (Some(self.0.join("content")), self.0.join("out"));
        Common { content, out, ..Common::default() }
    }

    /// The plan of two viewers under Minerva with these keys.
    fn plan(&self, minerva: &str, more: &str) -> Result<Plan, String> {
        let text = scenario(minerva, more);
        let scenario = Scenario::from_bytes(
            airlane_lab::registry().scenarios(),
            text.as_bytes(),
            &self.0.join("s.toml"),
            &[],
        );
        let plan = scenario.and_then(|scenario| Plan::new(scenario, &self.common()));
        let folder = format!("{}/", self.0.display());
        plan.map_err(|e| e.to_string().replace(&folder, ""))
    }

    /// The hash of the packets of a run.
    fn hash(&self, minerva: &str, more: &str) -> u64 {
        run(&self.plan(minerva, more).unwrap(), 0).packet_hash.unwrap()
    }

    /// Writes f.json.
    fn normalise(&self, change: impl FnOnce(&mut NormaliseRequest)) {
        let mut request = NormaliseRequest {
            folder: Some(self.0.join("content")),
            metric: Metric::Vmaf,
            abr: Abr::RobustMpc,
            form: Form::FixedRate,
            alpha: None,
            baseline: 2.0,
            popularity: None,
            min_chunks: 4,
            out: Some(self.0.join("f.json")),
        };
        change(&mut request);
        normalise(&request).unwrap();
    }
}

/// Two viewers under Minerva with these keys.
fn scenario(minerva: &str, more: &str) -> String {
    format!(
        "duration_s = 20\nmin_chunks = 4\n[link]\nrate_bps = 3e6\n[[scheme]]\n\
         name = \"minerva\"\nweight = 2\nminerva = {{ {minerva} }}\n[[viewer]]\n[[viewer]]\n{more}"
    )
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(plan: &Plan, scheme: usize) -> RunOutput {
    let caches = Caches::of_plan(plan).unwrap();
    let key = RunKey { case: 0, scheme, seed: 1 };
    let job = Job {
        label: plan.label(key),
        seed: 1,
        command: String::new(),
        units: 1,
        work: Box::new(|ticket| world::run(plan, &caches, key, &Options::default(), ticket)),
    };
    let mut done = pool::run(vec![job], 1, "normalise", &StopFlag::default(), &());
    done.results.remove(0).unwrap_or_else(|| panic!("{:?}", done.error))
}

const FILE: &str = "normalisation_file = \"f.json\"";
const POPULARITY: &str = "popularity = \"p.csv\"";

#[test]
fn equal_popularities_change_nothing_and_others_do() {
    let dir = Scratch::new("popularity");
    let uniform = dir.hash("", "");
    dir.file("p.csv", "title,popularity\n*,1\n");
    assert_eq!(dir.hash(POPULARITY, ""), uniform);
    let favourite = &dir.titles()[0];
    dir.file("p.csv", &format!("title,popularity\n{favourite},1\n*,0\n"));
    for form in ["fixed-rate", "mean-curve", "fitted", "none"] {
        let form = format!("normalisation = \"{form}\"");
        let differs = dir.hash(&format!("{form}, {POPULARITY}"), "") != dir.hash(&form, "");
        assert!(differs, "{form}");
    }
    let fairness = "fairness = \"proportional\"";
    assert_ne!(dir.hash(&format!("{fairness}, {POPULARITY}"), ""), dir.hash(fairness, ""));
}

#[test]
fn popularities_are_held_against_the_titles_of_the_plan() {
    let dir = Scratch::new("titles");
    let refused = || dir.plan(POPULARITY, "").unwrap_err();
    assert!(refused().starts_with("p.csv: cannot read the popularities: "), "{}", refused());
    let titles = dir.titles();
    dir.file("p.csv", &format!("title,popularity\n*,1\n{}x,1\n", titles[0]));
    let start = format!("p.csv:3: no title \"{}x\" in content; did you mean \"", titles[0]);
    assert!(refused().starts_with(&start), "{}", refused());
    dir.file("p.csv", &format!("title,popularity\n{},1\n", titles[1]));
    let start = format!("p.csv: no popularity of \"{}\"; expected a row", titles[0]);
    assert!(refused().starts_with(&start), "{}", refused());
    dir.file("p.csv", "title,popularity\n*,x\n");
    assert!(refused().starts_with("p.csv:2: popularity: found \"x\"; expected"), "{}", refused());
}

#[test]
fn a_run_with_the_file_is_the_run_without_it() {
    let dir = Scratch::new("file");
    dir.normalise(|_| {});
    assert_eq!(dir.hash(FILE, ""), dir.hash("", ""));
    let alpha = format!("{FILE}, alpha = 1.5");
    assert_eq!(dir.hash(&alpha, ""), dir.hash("alpha = 1.5", ""), "the scenario's alpha counts");
    let first = &dir.titles()[0];
    dir.file("p.csv", &format!("title,popularity\n{first},5\n*,1\n"));
    let forms = ["", "normalisation = \"mean-curve\",", "normalisation = \"fitted\","];
    for ((_, form), key) in FORMS.into_iter().zip(forms) {
        dir.normalise(|request| {
            (request.form, request.alpha) = (form, Some(1.2));
            request.popularity = Some(dir.0.join("p.csv"));
        });
        let computed = format!("{key} alpha = 1.2, {POPULARITY}");
        assert_eq!(dir.hash(FILE, ""), dir.hash(&computed, ""), "{form:?}");
    }
}

#[test]
fn the_report_names_the_files_that_a_scheme_goes_by() {
    let dir = Scratch::new("told");
    dir.normalise(|_| {});
    dir.file("p.csv", "title,popularity\n*,1\n");
    for (key, words) in [
        (FILE, "Its normalisation is that of f.json."),
        (POPULARITY, "Popular titles count for more, as p.csv says."),
    ] {
        dir.file("s.toml", &scenario(key, ""));
        let (scenario, set) = (dir.0.join("s.toml"), Vec::new());
        airlane_lab::run(&RunRequest { common: dir.common(), scenario, set }).unwrap();
        let page = fs::read_to_string(dir.0.join("out/report.html")).unwrap();
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn what_is_no_fitting_normalisation_is_refused() {
    let dir = Scratch::new("refused");
    let refused = |minerva: &str, more: &str| dir.plan(minerva, more).unwrap_err();
    let says = |start: &str| {
        let message = refused(FILE, "");
        assert!(message.starts_with(start), "{message}");
    };
    says("f.json: cannot read the normalisation: ");
    dir.file("f.json", "{");
    says("f.json:1: not valid JSON: EOF");
    dir.file("f.json", "{\"video\": \"one\"}");
    says("f.json: no normalisation; expected a file that `airlane corpus normalise` wrote");
    dir.file("f.json", "{\"format\": \"airlane-chunks\", \"version\": 1}");
    says("f.json: format: found \"airlane-chunks\"; expected \"airlane-normalisation\"");
    dir.file("f.json", "{\"format\": \"airlane-normalisation\", \"version\": 2}");
    says("f.json: version: found 2; this airlane reads version 1");
    dir.file("f.json", "{\"format\": \"airlane-normalisation\", \"version\": 1}");
    says("f.json:1: missing field `airlane`");
    dir.normalise(|_| {});
    let whole = fs::read_to_string(dir.0.join("f.json")).unwrap();
    let spoilt = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from} is not in {whole}");
        dir.file("f.json", &whole.replacen(from, to, 1));
        refused(FILE, "")
    };
    let alpha = spoilt("\"alpha\": 2.13", "\"alpha\": -1.0");
    assert!(alpha.contains("alpha is -1; expected a finite number above 0"), "{alpha}");
    let member = spoilt("\"metric\"", "\"metrik\"");
    assert!(member.contains("unknown field `metrik`"), "{member}");
    let metric = spoilt("\"metric\": \"vmaf\"", "\"metric\": \"psnr_db\"");
    let expected = "s.toml: scheme.0.minerva.normalisation_file: found a normalisation of psnr_db; \
                    expected one of vmaf, as v1 watches";
    assert_eq!(metric, expected);
    dir.file("f.json", &whole);
    let fairness = refused(&format!("{FILE}, fairness = \"proportional\""), "");
    assert!(fairness.contains("found a normalisation for max-min fairness; "), "{fairness}");
    for key in ["normalisation = \"fitted\"", POPULARITY] {
        let both = refused(&format!("{FILE}, {key}"), "");
        assert!(both.contains("found beside normalisation_file; expected one"), "{both}");
    }
}

/// The scenario of the devices on the tables of this folder.
fn devices(content: Option<PathBuf>) -> Result<Plan, String> {
    let set = ["duration_s=6", "cases.count=1"].map(str::to_owned);
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("devices"), &set)
            .unwrap();
    Plan::new(scenario, &Common { content, ..Common::default() }).map_err(|e| e.to_string())
}

#[test]
fn devices_say_which_measure_the_embedded_content_lacks() {
    let message = devices(None).unwrap_err();
    assert!(message.starts_with("devices: viewer.2.metric: \""), "{message}");
    assert!(message.contains("has no vmaf_4k; expected one of vmaf, psnr_db, ssim"), "{message}");
    assert!(message.ends_with("or content that has it: --content DIR"), "{message}");
}

#[test]
fn televisions_desktops_and_phones_watch_the_same_films() {
    let Some(content) = comyco() else { return };
    let plan = devices(Some(content)).unwrap();
    let films: Vec<&str> = vod::ContentDraws::in_case(&plan, 0)
        .unwrap()
        .videos
        .iter()
        .map(|v| v.name.as_str())
        .collect();
    assert_ne!(films[0], films[1]);
    assert_eq!((&films[2..4], &films[4..]), (&films[..2], &films[..2]));
    for scheme in 0..plan.scenario.schemes.len() {
        let out = run(&plan, scheme);
        assert_eq!(vod::Output::of(&out).len(), 6);
        for viewer in vod::Output::of(&out) {
            assert!(viewer.failure.is_none(), "{:?}", viewer.failure);
            assert!(!viewer.model.chunks().is_empty());
        }
    }
}

/// The real content, `None` (and a line that says so) if it is not there.
fn comyco() -> Option<PathBuf> {
    let data = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let dir = data.join("video/comyco");
    if dir.is_dir() {
        return Some(dir);
    }
    let strict = std::env::var_os("AIRLANE_STRICT").is_some_and(|v| v == "1");
    assert!(!strict, "AIRLANE_STRICT=1 and {} is missing", dir.display());
    println!("left out: {} is missing (set AIRLANE_DATA)", dir.display());
    None
}

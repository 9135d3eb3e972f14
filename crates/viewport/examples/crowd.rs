//! What generated heads are like: `cargo run -p airlane-viewport --example crowd [KEY=VALUE ...]`
//! with the fields of `CrowdModel` that are to differ from the fitted ones.

use std::time::Duration;

use airlane_base::Seed;
use airlane_viewport::{CrowdModel, CrowdStatistics, crowd};

fn main() {
    let mut model = CrowdModel::FITTED;
    for word in std::env::args().skip(1) {
        let (key, value) = word.split_once('=').expect("KEY=VALUE");
        let value: f64 = value.parse().expect("a number");
        match key {
            "attractors" => model.attractors = value as usize,
            "pull_ratio" => model.pull_ratio = value,
            "pull_swing" => model.pull_swing = value,
            "reach_deg" => model.reach_deg = value,
            "follow" => model.follow = value,
            "title_spread" => model.title_spread = value,
            "follow_spread" => model.follow_spread = value,
            "offset_deg" => model.offset_deg = value,
            "dwell_s" => model.dwell_s = value,
            "speed_deg_s" => model.speed_deg_s = value,
            "speed_sigma" => model.speed_sigma = value,
            "explore_deg" => model.explore_deg = value,
            "onward" => model.onward = value,
            "pitch_deg" => model.pitch_deg = value,
            "roll_deg" => model.roll_deg = value,
            "tremor_deg" => model.tremor_deg = value,
            _ => panic!("CrowdModel has no field {key}"),
        }
    }
    let titles: Vec<_> = (0..20)
        .map(|title| crowd(Seed(1).index(title), 24, Duration::from_secs(30), &model))
        .collect();
    println!("{:#.3?}", CrowdStatistics::of(&titles).expect("20 titles of 30 s"));
}

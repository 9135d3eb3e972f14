//! The tables of participants.

use std::time::Duration;

use airlane_base::Rate;

use super::{Camera, Change, Entry, Participants, Screen, TrackKind};
use airlane_call::{EncoderConfig, MAX_SPATIAL_LAYERS};
use airlane_scenario::{
    CORE_RTT, DURATION, Frame, NONE, RATE, RTT, Reader, at, range, start, words,
};

words! {
    TrackKind: "audio" => Self::Audio, "camera" => Self::Camera, "screen" => Self::Screen;
}

/// Bitrate of audio: Opus at a common setting for speech.
const AUDIO: Rate = Rate::from_bps(32_000);

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Participants {
    let mut number = 0;
    let doc = "Participants of a conference: each sends audio and video to a server, which forwards them to the \
               others.";
    let entries = Participants(r.list("call", doc, |r| {
        number += 1;
        entry(r, number, frame)
    }));
    if entries.each().count() > MAX_PARTICIPANTS {
        let found = format!("found {} participants", entries.each().count());
        r.fail("call", found, format!("expected at most {MAX_PARTICIPANTS}"));
    }
    entries
}

/// Participants of one conference.
const MAX_PARTICIPANTS: usize = 1000;

fn entry(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Entry {
    let name = r.name_or_none("name", "\"call\" and its number from 1", "Name of rows.");
    let doc =
        "How many participants of this kind; the rows of several are called name.1, name.2, ...";
    let count = r.count("count", (1, MAX_PARTICIPANTS as u64), 1, doc) as usize;
    let doc = "What arrives so soon after they join does not count.";
    let skip = r.time("skip_s", DURATION, 5.0, doc);
    let audio = r.flag_or_none("audio", "true", "Whether they send audio, of 32 kbit/s.");
    Entry {
        name: name.unwrap_or_else(|| format!("call{number}")),
        at: at(r, frame.network, 1)[0],
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
        count,
        start: start(r, frame.duration, "0").unwrap_or_default(),
        skip,
        camera: camera(r),
        screen: screen(r),
        layers: layers(r),
        cloud_layers: cloud_layers(r),
        audio: audio.unwrap_or(true).then_some(AUDIO),
        speech: speech(r),
        changes: changes(r),
        reported_share: r.number("reported_share", range(0.0, 1000.0, "10"), 1.0, REPORTED),
        follows_notices: r.flag_or_none("follows_notices", "true", FOLLOWS).unwrap_or(true),
    }
}

const REPORTED: &str = "Estimate of their uplink that they report to the server relative to the true one: other than 1 \
                        they lie.";
const FOLLOWS: &str = "Whether they keep to the bitrate that the server holds their uplink to.";

fn screen(r: &mut Reader<'_>) -> Screen {
    let default = EncoderConfig::screen();
    let doc = "Frames per second of a shared screen.";
    let frame_rate = r.number("screen_frame_rate", range(1.0, 240.0, "5"), default.frame_rate, doc);
    let doc = "Highest bitrate of a shared screen; the camera gets what it leaves.";
    let max_rate = r.rate_or_none("screen_max_bps", RATE, "2.5e6", doc);
    let doc = "Mean time between new pictures on a shared screen, such as the next slide: each has the size of a key \
               frame.";
    let interval = default.change_interval.map_or(8.0, |interval| interval.as_secs_f64());
    Screen {
        frame_rate,
        max_rate: max_rate.unwrap_or(default.max_rate),
        change_interval: r.time("screen_change_s", DURATION, interval, doc),
    }
}

fn layers(r: &mut Reader<'_>) -> (u8, u8) {
    let doc = "Spatial layers of each video, with call_thinning = \"layers\": three take up to 6, 26 and 100 % of its \
               bitrate, two 26 and 100 %.";
    let spatial = r.count("spatial_layers", (1, 3), 3, doc) as u8;
    let doc = "Temporal layers of each video, with call_thinning = \"layers\": three take up to 40, 60 and 100 % of its \
               bitrate, two 60 and 100 %.";
    (spatial, r.count("temporal_layers", (1, 3), 3, doc) as u8)
}

fn cloud_layers(r: &mut Reader<'_>) -> Option<u8> {
    let doc = "Layers of each video, if these are moving point clouds: layers of the same size, any number of which a \
               frame can be shown with, and frames that need no other frame. With call_thinning = \"layers\" they take the \
               place of `spatial_layers` and `temporal_layers`.";
    let layers = r.count_or_none("cloud_layers", (1, MAX_SPATIAL_LAYERS as u64), NONE, doc);
    layers.map(|layers| layers as u8)
}

fn speech(r: &mut Reader<'_>) -> Option<(Duration, Duration)> {
    let doc = "Whether they are heard to speak now and then: their talk spurts and silences have exponential durations.";
    let speaks = r.flag_or_none("speaks", "false", doc).unwrap_or(false);
    let spurt = r.time("spurt_s", DURATION, 4.0, "Mean duration of a talk spurt.");
    let silence = r.time("silence_s", DURATION, 12.0, "Mean duration of a silence between them.");
    speaks.then_some((spurt, silence))
}

fn changes(r: &mut Reader<'_>) -> Vec<Change> {
    let doc = "When they mute a track, or send it again. At first camera and audio are sent, and no screen.";
    let mut changes = r.list("change", doc, |r| Change {
        at: r.time("at_s", DURATION, 10.0, "Time after they joined."),
        track: r.word("track", TrackKind::Camera, "Track that is muted or sent."),
        is_sent: r
            .flag_or_none("sent", "false", "Whether it is sent from then on; else it is muted.")
            .unwrap_or(false),
    });
    changes.sort_by_key(|change| change.at);
    changes
}

fn camera(r: &mut Reader<'_>) -> Camera {
    let default = EncoderConfig::default();
    let frame_rate =
        r.number("frame_rate", range(1.0, 240.0, "20"), default.frame_rate, "Frames per second.");
    let min = r.rate_or_none("min_video_bps", RATE, "1e6", "Lowest bitrate of the video.");
    let max = r.rate_or_none("max_video_bps", RATE, "10e6", "Highest bitrate of the video.");
    let (min, max) = (min.unwrap_or(default.min_rate), max.unwrap_or(default.max_rate));
    if min > max {
        let found = format!("found {min}, and a lowest bitrate of {max}");
        r.fail("max_video_bps", found, "expected no less than min_video_bps");
    }
    let doc = "Time between key frames.";
    let interval =
        r.time_or_none("key_frame_interval_s", DURATION, "only where one is asked for", doc);
    let doc = "Size of a key frame relative to the mean frame.";
    let ratio = r.number("key_frame_ratio", range(1.0, 50.0, "4"), default.key_frame_ratio, doc);
    let doc = "Coefficient of variation of the sizes of other frames.";
    let variation =
        r.number("size_variation", range(0.0, 2.0, "0.15"), default.size_variation, doc);
    Camera {
        frame_rate,
        min_rate: min,
        max_rate: max,
        key_frame_interval: interval.filter(|interval| !interval.is_zero()),
        key_frame_ratio: ratio,
        size_variation: variation,
    }
}

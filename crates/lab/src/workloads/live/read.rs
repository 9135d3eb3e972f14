//! The tables of streams, and what a scheme says of them.

use super::{Entry, Ladder, Marks, SalsifyCodec, SchemeOptions, Single, Streams, Transport, Video};
use airlane_scenario::{
    CORE_RTT, DURATION, Frame, RTT, Reader, Word, at, control, range, start, words,
};

words! {
    Video: "quality" => Self::Quality, "frame-rate" => Self::FrameRate,
        "volumetric" => Self::Volumetric;
    Marks: "octopus" => Self::Paper, "octopus-slack" => Self::Slack,
        "octopus-thresholds" => Self::Thresholds,
        "no-droppers" => Self::NoDroppers, "no-bitrates" => Self::NoBitrates,
        "no-thresholds" => Self::NoThresholds, "no-priorities" => Self::NoPriorities,
        "no-heads" => Self::NoHeads, "none" => Self::None;
    Ladder: "encoded" => Self::Encoded, "fine" => Self::Fine, "live" => Self::Live;
    Single: "encoded" => Self::Encoded, "keyed" => Self::Keyed, "layered" => Self::Layered;
    SalsifyCodec: "measured" => Self::Measured, "ideal" => Self::Ideal;
    Transport: "messages" => Self::Messages, "webrtc" => Self::WebRtc,
        "salsify" => Self::Salsify, "salsify-sprout" => Self::SalsifySprout,
        "salsify-sprout-paper" => Self::SalsifySproutPaper,
        "awstream" => Self::AwStream, "vivo" => Self::Vivo, "vivo-skip" => Self::VivoSkip;
}

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Streams {
    let mut number = 0;
    Streams(r.list(NAME, "Real-time video in layers, from a server each.", |r| {
        number += 1;
        entry(r, number, frame)
    }))
}

const NAME: &str = super::NAME;

fn entry(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Entry {
    let name = r.name_or_none("name", "\"live\" and its number from 1", "Name of rows.");
    let doc = "Frames that are captured so soon after its start do not count.";
    let skip = r.time_or_none("skip_s", DURATION, "0", doc).unwrap_or_default();
    let doc = "What it is sent as: three layers of quality at a rate that follows the path's, \
               three temporal layers at one quality, or point clouds in cells of five layers \
               each.";
    Entry {
        name: name.unwrap_or_else(|| format!("live{number}")),
        control: control(r, None, "the scheme's"),
        start: start(r, frame.duration, "0").unwrap_or_default(),
        skip,
        video: r.word_or_none("video", "\"quality\"", doc).unwrap_or_default(),
        buffer: r.count(
            "buffer_bytes",
            (10_000, 1 << 30),
            4 << 20,
            "IP bytes that wait at the sender at most until its controller lets them leave.",
        ),
        clip: r.text_or_none("clip", "drawn for each case", "Name of the clip."),
        at: at(r, frame.network, 1),
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
        count: r.count("count", (1, 1_000), 1, "How many of the same kind.") as usize,
    }
}

pub(super) fn of_scheme(r: &mut Reader<'_>) -> Option<SchemeOptions> {
    let doc = "What carries live video: messages under the scheme's controller, WebRTC with its own, Salsify with its \
               own estimator, with Sprout or with Sprout as published, or AWStream over a reliable \
               stream; point clouds also ViVo, whose viewer asks for each frame, or with `-skip` \
               leaves out frames while ten are on their way.";
    let transport = r.word_or_none("live_transport", "\"messages\"", doc);
    let doc = "What messages of live video are marked with: what Octopus drops them for, the same \
               with the slack of its authors, the same for point clouds with the thresholds of \
               their code, without what drops older ones, without bitrates, without thresholds or without \
               priorities of temporal layers, without the mark of a message's first packet in the sender's \
               buffer, or nothing.";
    let marks = r.word_or_none("live_marks", "\"octopus\"", doc);
    let marks_nothing = transport.filter(|transport: &Transport| *transport != Transport::Messages);
    if let Some(transport) = marks_nothing.filter(|_| r.has("live_marks")) {
        let found = format!("found beside live_transport = \"{}\"", transport.word());
        r.fail("live_marks", found, "only messages are marked");
    }
    let doc = "How long a packet may be on its way, by Salsify's own estimator.";
    let delay = r.time_or_none("live_salsify_delay_s", range(0.01, 2.0, "0.15"), "0.1", doc);
    let doc = "How large frames of transports with one layer are: as one layer was encoded, the same with \
               the key frames that temporal layers need, or as all layers together, to see what layers cost.";
    let single = r.word_or_none("live_single", "\"encoded\"", doc);
    let doc = "What encodes frames for Salsify: its own codec as it was measured, which has two candidates of \
               each frame, or an ideal one, which makes frames of any size as one layer was encoded.";
    let codec = r.word_or_none("live_salsify_codec", "\"measured\"", doc);
    let doc = "Encodings in layers of quality that messages choose from: those of the clip, or a ladder of 5 % steps \
               as encoders that run live have, interpolated between them, at the whole rate of the path or, with \
               `live`, at 85 % of it.";
    let ladder = r.word_or_none("live_ladder", "\"encoded\"", doc);
    if let Some(transport) = marks_nothing.filter(|_| r.has("live_ladder")) {
        let found = format!("found beside live_transport = \"{}\"", transport.word());
        r.fail("live_ladder", found, "messages alone have layers of quality");
    }
    let measured = codec.unwrap_or_default() == SalsifyCodec::Measured;
    let sized = single.filter(|single: &Single| *single != Single::Encoded);
    if let Some(single) = sized.filter(|_| measured && transport.is_some_and(Transport::is_salsify))
    {
        let found = format!("found \"{}\" with Salsify's measured codec", single.word());
        r.fail("live_single", found, "frames of other sizes take live_salsify_codec = \"ideal\"");
    }
    let default = SchemeOptions::default();
    let said = transport.is_some() || marks.is_some() || single.is_some();
    let said = said || delay.is_some() || codec.is_some() || ladder.is_some();
    said.then(|| SchemeOptions {
        transport: transport.unwrap_or_default(),
        marks: marks.unwrap_or_default(),
        single: single.unwrap_or_default(),
        salsify_delay: delay.unwrap_or(default.salsify_delay),
        salsify_codec: codec.unwrap_or_default(),
        ladder: ladder.unwrap_or_default(),
    })
}

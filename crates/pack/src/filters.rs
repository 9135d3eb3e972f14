//! What ffmpeg does to pictures and sound before they are encoded or compared: the same in every
//! run over a source, so that frame n is the same frame in all of them.

use airlane_media::dash::FrameRate;

use crate::probe::Source;

/// Pictures of the source at a constant rate from time zero on: what lacks at the beginning is
/// filled with the first picture, the last one stands as long as the sound goes on. Interlaced ones
/// are made whole, one per pair of fields.
pub(crate) fn steady(source: &Source, fps: FrameRate) -> String {
    let mut chain = String::new();
    if source.interlaced {
        // Pictures that change their size on the way come as they began: fields do not scale.
        let (width, height) = source.coded;
        chain.push_str(&format!("scale={width}:{height},bwdif=mode=send_frame:deint=interlaced,"));
    }
    chain.push_str(&format!("fps={fps}:start_time=0"));
    if !source.hold.is_zero() {
        let hold_s = source.hold.as_secs_f64();
        chain.push_str(&format!(",tpad=stop_mode=clone:stop_duration={hold_s:.6}"));
    }
    chain
}

/// The input of pictures: those that change their size on the way stay one stream, which filters
/// count and scale.
pub(crate) const ONE_STREAM: [&str; 2] = ["-reinit_filter", "0"];

/// Pictures in a size, in 8 bits and square pixels.
pub(crate) fn sized(source: &Source, width: u32, height: u32) -> String {
    // ffmpeg takes the matrix of SD for RGB of any size, players that of HD for what says nothing.
    let matrix = if source.rgb { ":out_color_matrix=bt709" } else { "" };
    let label = if source.rgb {
        ",setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709"
    } else {
        ""
    };
    format!(
        "scale={width}:{height}:flags=bicubic:out_range=tv{matrix},setsar=1,format=yuv420p{label}"
    )
}

/// Frames counted, so that those of two inputs meet by their number.
pub(crate) fn counted(fps: FrameRate) -> String {
    format!("settb={}/{},setpts=N", fps.seconds, fps.frames)
}

/// The other stream of a source, copied to nowhere. Both are read in every run, so that every run
/// counts from the same beginning: ffmpeg takes the earliest of the streams that it reads.
pub(crate) fn also(stream: &str) -> [&str; 7] {
    ["-map", stream, "-c", "copy", "-f", "null", "-"]
}

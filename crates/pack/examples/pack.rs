//! `pack VIDEO DIR [CODEC] [RUNGS]`, or `pack --measure MPD SOURCE`: the library by hand. The
//! variable `AIRLANE_FFMPEG` names the ffmpeg.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use airlane_pack::{Codec, Event, Ladder, MeasureRequest, PackRequest, measure, pack};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ffmpeg = std::env::var_os("AIRLANE_FFMPEG").map(PathBuf::from);
    let observer = |event| match event {
        Event::Warning(text) => eprintln!("warning: {text}"),
        Event::Progress { fraction, left, doing } => {
            let left = left.map_or(0, |l| l.as_secs());
            eprintln!("{:5.1} %  {doing}, {left} s left", fraction * 100.0);
        }
    };
    let stop = AtomicBool::new(false);
    match &arguments[..] {
        [flag, manifest, source] if flag == "--measure" => {
            let request = MeasureRequest { ffmpeg, ..MeasureRequest::new(manifest, source) };
            println!("{:#?}", measure(&request, &observer, &stop)?);
        }
        [video, dir, rest @ ..] => {
            let mut request = PackRequest { ffmpeg, ..PackRequest::new(video, dir) };
            if let Some(codec) = rest.first() {
                request.codec = Codec::from_name(codec).ok_or("codec: h264, vp9 or av1")?;
            }
            if let Some(rungs) = rest.get(1) {
                request.ladder = Ladder::parse(rungs)?;
            }
            println!("{:#?}", pack(&request, &observer, &stop)?);
        }
        _ => return Err("pack VIDEO DIR [CODEC] [RUNGS] | pack --measure MPD SOURCE".into()),
    }
    Ok(())
}

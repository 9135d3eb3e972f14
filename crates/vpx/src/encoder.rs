//! Encodes VP9 in layers of quality: spatial layers of one size, as libvpx calls them.

use std::ffi::{c_int, c_uint, c_ulong};
use std::sync::Arc;

use crate::library::{Context, Image};
use crate::{Library, VpxError};

/// Settings for the encoding of a clip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Width of the pictures, even.
    pub width: u32,
    /// Height, even.
    pub height: u32,
    /// Frames per so many seconds.
    pub frames: u32,
    /// Seconds for so many frames.
    pub seconds: u32,
    /// Frames from one key frame to the next; 0: key frames come only where [`Encoder::encode_at`] is asked
    /// for them.
    pub gop: u32,
    /// Kilobits per second of each layer alone, the lowest first; at most 5.
    pub layer_kbps: Vec<u32>,
    /// Speed of the encoder, 5 to 9: higher is faster.
    pub speed: u32,
    /// True if luma is 0 to 255 instead of 16 to 235; key frames say so.
    pub is_full_range: bool,
    /// Width and height that pictures are shown in, if these are others than their own.
    pub shown_size: Option<(u32, u32)>,
}

/// An encoder of one stream.
pub struct Encoder {
    library: Arc<Library>,
    context: Box<Context>,
    settings: Settings,
    config: Box<Config>,
    frame: u32,
}

// SAFETY: libvpx keeps nothing by thread: a context may be used by one thread after the other.
unsafe impl Send for Encoder {}

/// Layers at most, and spatial times temporal layers at most, of libvpx.
const SPATIAL: usize = 5;
const ALL: usize = 12;
/// The coarsest quantiser, and the finest that is used.
const COARSEST: c_uint = 63;
const FINEST: c_uint = 2;

/// The beginning of `vpx_codec_enc_cfg_t`, which is the same in all known releases, and room for what follows.
#[repr(C, align(16))]
#[derive(Clone)]
struct Config {
    usage: c_uint,
    threads: c_uint,
    profile: c_uint,
    width: c_uint,
    height: c_uint,
    bit_depth: [c_uint; 2],
    timebase: [c_int; 2],
    error_resilient: u32,
    pass: c_int,
    lag_in_frames: c_uint,
    dropframe_thresh: c_uint,
    resize: [c_uint; 5],
    end_usage: c_int,
    twopass_stats: [usize; 2],
    firstpass_stats: [usize; 2],
    target_bitrate: c_uint,
    min_quantizer: c_uint,
    max_quantizer: c_uint,
    undershoot_pct: c_uint,
    overshoot_pct: c_uint,
    buf_sz: c_uint,
    buf_initial_sz: c_uint,
    buf_optimal_sz: c_uint,
    twopass: [c_uint; 4],
    kf_mode: c_int,
    kf_min_dist: c_uint,
    kf_max_dist: c_uint,
    ss_number_layers: c_uint,
    ss_enable_auto_alt_ref: [c_int; SPATIAL],
    ss_target_bitrate: [c_uint; SPATIAL],
    ts_number_layers: c_uint,
    ts_target_bitrate: [c_uint; SPATIAL],
    ts_rate_decimator: [c_uint; SPATIAL],
    ts_periodicity: c_uint,
    ts_layer_id: [c_uint; 16],
    layer_target_bitrate: [c_uint; ALL],
    temporal_layering_mode: c_int,
    rest: [u64; 256],
}

impl Config {
    fn set_rates(&mut self, layer_kbps: &[u32]) {
        let layers = layer_kbps.len().min(SPATIAL);
        self.target_bitrate = layer_kbps[..layers].iter().sum();
        self.ss_target_bitrate[..layers].copy_from_slice(&layer_kbps[..layers]);
        self.layer_target_bitrate[..layers].copy_from_slice(&layer_kbps[..layers]);
    }
}

/// `vpx_svc_extra_cfg_t`, and room for what later versions add.
#[repr(C, align(16))]
struct Layers {
    max_quantizers: [c_int; ALL],
    min_quantizers: [c_int; ALL],
    scaling_factor_num: [c_int; ALL],
    scaling_factor_den: [c_int; ALL],
    speed_per_layer: [c_int; ALL],
    rest: [u64; 64],
}

/// `vp8e_enc_control_id`: numbers of controls.
const SET_CPUUSED: c_int = 13;
const SET_STATIC_THRESHOLD: c_int = 17;
const SET_MAX_INTRA_BITRATE_PCT: c_int = 26;
const SET_AQ_MODE: c_int = 36;
const SET_NOISE_SENSITIVITY: c_int = 38;
const SET_SVC: c_int = 39;
const SET_SVC_PARAMETERS: c_int = 41;
const SET_COLOR_RANGE: c_int = 51;
const SET_RENDER_SIZE: c_int = 53;
const SET_SVC_INTER_LAYER_PRED: c_int = 60;
/// `VPX_RC_ONE_PASS`, `VPX_CBR`, `VPX_KF_DISABLED`, `VPX_KF_AUTO`, `VPX_DL_REALTIME`, `VPX_IMG_FMT_I420`.
const ONE_PASS: c_int = 0;
const CBR: c_int = 1;
const KF_DISABLED: c_int = 0;
const KF_AUTO: c_int = 1;
const REALTIME: c_ulong = 1;
const I420: c_int = 0x102;

impl Encoder {
    /// An encoder that begins.
    ///
    /// One pass, constant rate, in real time, no dropped frames, one thread; error resilient, since else
    /// a layer would take probabilities and motion vectors from the frame that was decoded before it,
    /// which may be of a layer above. Layers as `corpus/make/layers.c` has them.
    ///
    /// # Errors
    /// If libvpx refuses, or lays out its settings in another way than is known.
    pub fn new(library: &Arc<Library>, settings: Settings) -> Result<Self, VpxError> {
        let layers = settings.layer_kbps.len().min(SPATIAL);
        let mut config = Box::new(defaults(library)?);
        config.threads = 1;
        config.width = settings.width;
        config.height = settings.height;
        config.timebase = [settings.seconds as c_int, settings.frames as c_int];
        config.error_resilient = 1;
        config.pass = ONE_PASS;
        config.lag_in_frames = 0;
        config.dropframe_thresh = 0;
        config.resize[0] = 0;
        config.end_usage = CBR;
        config.min_quantizer = FINEST;
        config.max_quantizer = COARSEST;
        config.undershoot_pct = 50;
        config.overshoot_pct = 50;
        config.buf_initial_sz = 500;
        config.buf_optimal_sz = 600;
        config.buf_sz = 1000;
        // Else libvpx counts frames itself, and makes key frames that nobody asked for where some are left out.
        config.kf_mode = KF_DISABLED;
        if settings.gop > 0 {
            config.kf_mode = KF_AUTO;
            config.kf_min_dist = settings.gop;
            config.kf_max_dist = settings.gop;
        }
        config.ss_number_layers = layers as c_uint;
        config.ts_number_layers = 1;
        config.ts_rate_decimator[0] = 1;
        config.temporal_layering_mode = 0;
        config.set_rates(&settings.layer_kbps);
        let mut context = Context::new();
        library.begin_encoder(&mut context, (&raw const *config).cast())?;
        let speed = settings.speed;
        let mut encoder = Self { library: library.clone(), context, settings, config, frame: 0 };
        encoder.control(SET_SVC, 1, "setting layers up")?;
        encoder.set_layer_parameters(speed, "setting layers up")?;
        for (control, value) in [
            (SET_CPUUSED, speed as c_int),
            // 0: layers are predicted from those below them in all frames.
            (SET_SVC_INTER_LAYER_PRED, 0),
            (SET_AQ_MODE, 3),
            (SET_NOISE_SENSITIVITY, 0),
            (SET_STATIC_THRESHOLD, 1),
            (SET_MAX_INTRA_BITRATE_PCT, 900),
        ] {
            encoder.control(control, value, "setting the encoder up")?;
        }
        if encoder.settings.is_full_range {
            encoder.control(SET_COLOR_RANGE, 1, "setting the range of colours")?;
        }
        if let Some((width, height)) = encoder.settings.shown_size {
            let size = [width as c_int, height as c_int];
            // SAFETY: the context was begun, and this control takes a pointer to two ints, which it reads
            // during the call.
            let code =
                unsafe { (library.control)(&mut *encoder.context, SET_RENDER_SIZE, size.as_ptr()) };
            library.check(code, "setting the shape of pixels")?;
        }
        Ok(encoder)
    }

    fn control(&mut self, id: c_int, value: c_int, doing: &'static str) -> Result<(), VpxError> {
        // SAFETY: the context was begun, and these controls take an int.
        let code = unsafe { (self.library.control)(&mut *self.context, id, value) };
        self.library.check(code, doing)
    }

    /// Has the layers take other rates from the next picture on: kilobits per second of each alone, as
    /// many as the settings have.
    ///
    /// # Errors
    /// If there are more or fewer, or libvpx refuses; the rates are then what they were.
    pub fn set_rates(&mut self, layer_kbps: &[u32]) -> Result<(), VpxError> {
        let doing = "changing its rates";
        let said = || "other layers than it began with".to_owned();
        if layer_kbps.len() != self.settings.layer_kbps.len() {
            return Err(VpxError::Failed { doing, said: said() });
        }
        if layer_kbps == self.settings.layer_kbps {
            return Ok(());
        }
        let mut config = self.config.clone();
        config.set_rates(layer_kbps);
        // SAFETY: the context was begun; the settings are those that it began with but for the rates, and
        // have at least the size that any version takes them to have. libvpx copies them.
        let code =
            unsafe { (self.library.config_set)(&mut *self.context, (&raw const *config).cast()) };
        self.library.check(code, doing)?;
        self.config = config;
        self.settings.layer_kbps = layer_kbps.to_vec();
        Ok(())
    }

    /// Has the encoder take another speed from the next picture on ([`Settings::speed`]).
    ///
    /// # Errors
    /// If libvpx refuses.
    pub fn set_speed(&mut self, speed: u32) -> Result<(), VpxError> {
        if speed == self.settings.speed {
            return Ok(());
        }
        let doing = "changing its speed";
        self.set_layer_parameters(speed, doing)?;
        self.control(SET_CPUUSED, speed as c_int, doing)?;
        self.settings.speed = speed;
        Ok(())
    }

    /// Sets what all layers have in common: their size, that of the picture, quantisers and speed.
    fn set_layer_parameters(&mut self, speed: u32, doing: &'static str) -> Result<(), VpxError> {
        let layers = self.settings.layer_kbps.len().min(SPATIAL);
        let mut each = Layers {
            max_quantizers: [0; ALL],
            min_quantizers: [0; ALL],
            scaling_factor_num: [0; ALL],
            scaling_factor_den: [0; ALL],
            speed_per_layer: [0; ALL],
            rest: [0; 64],
        };
        for layer in 0..layers {
            each.scaling_factor_num[layer] = 1;
            each.scaling_factor_den[layer] = 1;
            each.min_quantizers[layer] = FINEST as c_int;
            each.max_quantizers[layer] = COARSEST as c_int;
            each.speed_per_layer[layer] = speed as c_int;
        }
        // SAFETY: the context was begun, and this control takes a pointer to this structure, which it
        // reads during the call.
        let code = unsafe {
            (self.library.control)(&mut *self.context, SET_SVC_PARAMETERS, &raw const each)
        };
        self.library.check(code, doing)
    }

    /// Bytes of a picture: planar 4:2:0, 8 bits.
    pub fn picture_bytes(&self) -> usize {
        self.settings.width as usize * self.settings.height as usize * 3 / 2
    }

    /// Encodes the next picture: a superframe of one frame per layer. The first of a GoP is a key frame.
    ///
    /// # Errors
    /// If the picture has another size, or libvpx fails or drops it.
    pub fn encode(&mut self, picture: &[u8]) -> Result<Vec<u8>, VpxError> {
        // Of nothing only 0 is a multiple: the first.
        let is_key = self.frame.is_multiple_of(self.settings.gop);
        self.encode_at(picture, self.frame, is_key)
    }

    /// The same of a picture that is shown `at` so many frame times after the first, later than the one
    /// before, and whose frame is a key frame or is not. (Where the settings have GoPs that must be theirs.)
    ///
    /// # Errors
    /// If the picture has another size or is no later one, or libvpx fails or drops it.
    pub fn encode_at(
        &mut self,
        picture: &[u8],
        at: u32,
        is_key: bool,
    ) -> Result<Vec<u8>, VpxError> {
        let failed = |said: &str| VpxError::Failed { doing: "encoding", said: said.to_owned() };
        if picture.len() != self.picture_bytes() {
            return Err(failed("the picture has another size"));
        }
        if at < self.frame {
            return Err(failed("the picture is no later one"));
        }
        let library = &*self.library;
        let (width, height) = (self.settings.width, self.settings.height);
        // SAFETY: the picture has the bytes of one in this format and size; libvpx reads it.
        let image = unsafe {
            (library.image_wrap)(std::ptr::null_mut(), I420, width, height, 1, picture.as_ptr())
        };
        if image.is_null() {
            return Err(failed("no memory"));
        }
        let _freed = Freed(library, image);
        let context: *mut Context = &mut *self.context;
        // SAFETY: the context was begun; picture and image outlive the call, which copies them.
        let code =
            unsafe { (library.encode)(context, image, i64::from(at), 1, is_key.into(), REALTIME) };
        library.check(code, "encoding")?;
        self.frame = at.saturating_add(1);
        let mut at = std::ptr::null();
        let mut frame = None;
        // SAFETY: the context was begun; a packet is libvpx's until the next call for the context.
        while let Some(packet) = unsafe { (library.get_packet)(context, &mut at).as_ref() } {
            if packet.kind != 0 {
                continue;
            }
            if frame.is_some() || (packet.flags & 1 == 1) != is_key || packet.bytes.is_null() {
                return Err(library.unusable("it encodes layers in another way"));
            }
            // SAFETY: so many bytes are there, until the next call for the context.
            frame = Some(unsafe { std::slice::from_raw_parts(packet.bytes, packet.size) }.to_vec());
        }
        frame.ok_or_else(|| failed("it dropped a frame"))
    }
}

/// libvpx's settings, if they are laid out as is known: defaults that all versions have are looked at.
fn defaults(library: &Library) -> Result<Config, VpxError> {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut config: Config = unsafe { std::mem::zeroed() };
    // SAFETY: the structure has more room than that of any version.
    let code = unsafe {
        (library.config_default)(library.encoder_interface(), (&raw mut config).cast(), 0)
    };
    library.check(code, "asking for its settings")?;
    let known = (config.width, config.height, config.timebase[0], config.target_bitrate)
        == (320, 240, 1, 256)
        && (config.max_quantizer, config.buf_initial_sz) == (63, 4000)
        && (config.ss_number_layers, config.ts_number_layers) == (1, 1);
    if !known {
        return Err(library.unusable("its settings are laid out in another way"));
    }
    Ok(config)
}

/// An image that is freed in the end.
struct Freed<'a>(&'a Library, *mut Image);

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        // SAFETY: libvpx made it, and nobody uses it any more.
        unsafe { (self.0.image_free)(self.1) };
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: it was begun, and nobody uses it any more.
        unsafe { (self.library.destroy)(&mut *self.context) };
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Offsets that a C compiler found with the headers of 1.8.2, 1.9, 1.11, 1.12 and 1.14 to 1.17.
#[cfg(all(test, unix, target_pointer_width = "64"))]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::library::Packet;

    #[test]
    fn structures_are_laid_out_as_in_the_headers() {
        let config = [
            (offset_of!(Config, width), 12),
            (offset_of!(Config, timebase), 28),
            (offset_of!(Config, error_resilient), 36),
            (offset_of!(Config, dropframe_thresh), 48),
            (offset_of!(Config, end_usage), 72),
            (offset_of!(Config, target_bitrate), 112),
            (offset_of!(Config, buf_optimal_sz), 140),
            (offset_of!(Config, kf_mode), 160),
            (offset_of!(Config, ss_number_layers), 172),
            (offset_of!(Config, ss_target_bitrate), 196),
            (offset_of!(Config, ts_number_layers), 216),
            (offset_of!(Config, ts_rate_decimator), 240),
            (offset_of!(Config, layer_target_bitrate), 328),
            (offset_of!(Config, temporal_layering_mode), 376),
        ];
        let layers = [
            (offset_of!(Layers, scaling_factor_num), 96),
            (offset_of!(Layers, speed_per_layer), 192),
        ];
        let image = [
            (offset_of!(Image, shown), 24),
            (offset_of!(Image, planes), 48),
            (offset_of!(Image, strides), 80),
        ];
        let packet = [
            (offset_of!(Packet, bytes), 8),
            (offset_of!(Packet, size), 16),
            (offset_of!(Packet, flags), 40),
        ];
        for (ours, theirs) in config.iter().chain(&layers).chain(&image).chain(&packet) {
            assert_eq!(ours, theirs);
        }
        // The longest are those of 1.11 and later.
        assert!(size_of::<Config>() >= 504 && size_of::<Layers>() >= 292);
        assert!(size_of::<Context>() >= 56);
    }
}

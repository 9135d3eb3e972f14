//! The library, its functions, and how its structures are laid out.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::path::Path;

use crate::VpxError;
use crate::releases::{DECODER_ABI, RELEASES, known};

/// `vpx_codec_ctx_t`, and room for what later versions add.
#[repr(C, align(16))]
pub(crate) struct Context([u8; 512]);

impl Context {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self([0; 512]))
    }
}

pub(crate) type Interface = *const c_void;

/// `VPX_CODEC_ABI_MISMATCH`.
const ABI_MISMATCH: c_int = 3;
/// Names by which the system may know it; the number is that of its binary interface.
const NUMBERS: std::ops::RangeInclusive<u32> = 6..=16;

/// A loaded libvpx.
pub struct Library {
    // What follows points into it.
    _library: libloading::Library,
    file: String,
    version: String,
    encoder_abi: c_int,
    vp9_encoder: unsafe extern "C" fn() -> Interface,
    vp9_decoder: unsafe extern "C" fn() -> Interface,
    pub(crate) config_default: unsafe extern "C" fn(Interface, *mut c_void, c_uint) -> c_int,
    pub(crate) config_set: unsafe extern "C" fn(*mut Context, *const c_void) -> c_int,
    enc_init: unsafe extern "C" fn(*mut Context, Interface, *const c_void, c_long, c_int) -> c_int,
    dec_init: unsafe extern "C" fn(*mut Context, Interface, *const c_void, c_long, c_int) -> c_int,
    pub(crate) control: unsafe extern "C" fn(*mut Context, c_int, ...) -> c_int,
    pub(crate) encode:
        unsafe extern "C" fn(*mut Context, *const Image, i64, c_ulong, c_long, c_ulong) -> c_int,
    pub(crate) get_packet: unsafe extern "C" fn(*mut Context, *mut *const c_void) -> *const Packet,
    pub(crate) decode:
        unsafe extern "C" fn(*mut Context, *const u8, c_uint, *mut c_void, c_long) -> c_int,
    pub(crate) get_image: unsafe extern "C" fn(*mut Context, *mut *const c_void) -> *const Image,
    pub(crate) destroy: unsafe extern "C" fn(*mut Context) -> c_int,
    pub(crate) image_wrap:
        unsafe extern "C" fn(*mut Image, c_int, c_uint, c_uint, c_uint, *const u8) -> *mut Image,
    pub(crate) image_free: unsafe extern "C" fn(*mut Image),
    to_string: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// The beginning of `vpx_codec_cx_pkt_t` of a frame.
#[repr(C)]
pub(crate) struct Packet {
    /// 0 for a frame.
    pub(crate) kind: c_int,
    pub(crate) bytes: *const u8,
    pub(crate) size: usize,
    pts: i64,
    duration: c_ulong,
    /// The lowest bit: a key frame.
    pub(crate) flags: u32,
}

/// The beginning of `vpx_image_t`.
#[repr(C)]
pub(crate) struct Image {
    format: c_int,
    color_space: c_int,
    range: c_int,
    stored: [c_uint; 2],
    bit_depth: c_uint,
    /// Width and height as shown.
    pub(crate) shown: [c_uint; 2],
    rendered: [c_uint; 2],
    chroma_shift: [c_uint; 2],
    pub(crate) planes: [*const u8; 4],
    pub(crate) strides: [c_int; 4],
}

impl Library {
    /// Loads the system's libvpx, or the one that is named.
    ///
    /// # Errors
    /// If there is none, or it is none of a known release, or was built without VP9.
    pub fn open(named: Option<&Path>) -> Result<Self, VpxError> {
        let names: Vec<String> = match named {
            Some(file) => vec![file.display().to_string()],
            None => NUMBERS
                .rev()
                .map(|n| format!("libvpx.so.{n}"))
                .chain(["libvpx.so", "libvpx.dylib"].map(str::to_owned))
                .chain(["/opt/homebrew/lib/libvpx.dylib".to_owned()])
                .collect(),
        };
        let mut said = String::new();
        for name in names {
            // SAFETY: libvpx has no initialisers that ask for anything; a library that was named is the
            // user's affair, as a program would be.
            match unsafe { libloading::Library::new(&name) } {
                Ok(library) => return Self::of(library, name),
                Err(e) => said = e.to_string(),
            }
        }
        Err(VpxError::Missing { said })
    }

    fn of(library: libloading::Library, file: String) -> Result<Self, VpxError> {
        macro_rules! symbol {
            ($name:literal) => {{
                // SAFETY: the type of the field is that of the function in libvpx's headers.
                match unsafe { library.get(concat!($name, "\0")) } {
                    Ok(symbol) => *symbol,
                    Err(_) => {
                        let found = concat!("it has no function ", $name).to_owned();
                        return Err(VpxError::Unusable { file, found, known: known() });
                    }
                }
            }};
        }
        let text: unsafe extern "C" fn() -> *const c_char = symbol!("vpx_codec_version_str");
        // SAFETY: it takes nothing and returns a static string.
        let version = unsafe { CStr::from_ptr(text()) }.to_string_lossy().into_owned();
        let library = Self {
            vp9_encoder: symbol!("vpx_codec_vp9_cx"),
            vp9_decoder: symbol!("vpx_codec_vp9_dx"),
            config_default: symbol!("vpx_codec_enc_config_default"),
            config_set: symbol!("vpx_codec_enc_config_set"),
            enc_init: symbol!("vpx_codec_enc_init_ver"),
            dec_init: symbol!("vpx_codec_dec_init_ver"),
            control: symbol!("vpx_codec_control_"),
            encode: symbol!("vpx_codec_encode"),
            get_packet: symbol!("vpx_codec_get_cx_data"),
            decode: symbol!("vpx_codec_decode"),
            get_image: symbol!("vpx_codec_get_frame"),
            destroy: symbol!("vpx_codec_destroy"),
            image_wrap: symbol!("vpx_img_wrap"),
            image_free: symbol!("vpx_img_free"),
            to_string: symbol!("vpx_codec_err_to_string"),
            _library: library,
            file,
            version,
            encoder_abi: 0,
        };
        Ok(Self { encoder_abi: library.known_abi()?, ..library })
    }

    /// Its version, such as `v1.12.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn encoder_interface(&self) -> Interface {
        // SAFETY: it takes nothing and returns a static table.
        unsafe { (self.vp9_encoder)() }
    }

    /// Begins an encoder. `config` is a `vpx_codec_enc_cfg_t`.
    pub(crate) fn begin_encoder(
        &self,
        context: &mut Context,
        config: *const c_void,
    ) -> Result<(), VpxError> {
        let interface = self.encoder_interface();
        // SAFETY: context and configuration have at least the size that a known release takes them to
        // have.
        let code = unsafe { (self.enc_init)(context, interface, config, 0, self.encoder_abi) };
        self.check(code, "beginning an encoder")
    }

    /// Begins a decoder with its defaults.
    pub(crate) fn begin_decoder(&self, context: &mut Context) -> Result<(), VpxError> {
        // SAFETY: as of the encoder; no configuration stands for the defaults.
        let code = unsafe {
            (self.dec_init)(context, (self.vp9_decoder)(), std::ptr::null(), 0, DECODER_ABI)
        };
        self.check(code, "beginning a decoder")
    }

    /// The number of the encoder's interface.
    ///
    /// # Errors
    /// If it is none of a known release, or the decoder's is not.
    fn known_abi(&self) -> Result<c_int, VpxError> {
        let (context, null) = (std::ptr::null_mut(), std::ptr::null());
        // SAFETY: the functions compare the number first; null pointers they refuse.
        let encodes = |abi| unsafe { (self.enc_init)(context, null, null, 0, abi) };
        // SAFETY: likewise.
        let decodes = unsafe { (self.dec_init)(context, null, null, 0, DECODER_ABI) };
        let known = RELEASES.iter().map(|releases| releases.encoder_abi);
        let mut matching = known.filter(|abi| encodes(*abi) != ABI_MISMATCH);
        match matching.next().filter(|_| decodes != ABI_MISMATCH) {
            Some(abi) => Ok(abi),
            None => Err(self.unusable("its interface is of a release that is not known")),
        }
    }

    /// The error that this libvpx is not what we know.
    pub(crate) fn unusable(&self, found: &str) -> VpxError {
        let file = format!("{} ({})", self.file, self.version);
        VpxError::Unusable { file, found: found.to_owned(), known: known() }
    }

    pub(crate) fn check(&self, code: c_int, doing: &'static str) -> Result<(), VpxError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: it returns a static string for any number.
        let said = unsafe { CStr::from_ptr((self.to_string)(code)) };
        Err(VpxError::Failed { doing, said: said.to_string_lossy().into_owned() })
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("file", &self.file).field("version", &self.version).finish()
    }
}

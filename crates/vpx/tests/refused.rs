//! A libvpx whose interface is not known is refused by name.
#![cfg(target_os = "linux")]

use std::process::Command;

use airlane_vpx::Library;

/// A libvpx of another release: it has the functions, and takes no number of an interface for its own.
const OTHER: &str = r#"
const char *vpx_codec_version_str(void) { return "v1.99.0"; }
int vpx_codec_enc_init_ver(void *c, void *i, const void *f, long flags, int version) { return 3; }
int vpx_codec_dec_init_ver(void *c, void *i, const void *f, long flags, int version) { return 3; }
#define FUNCTION(name) void name(void) {}
FUNCTION(vpx_codec_vp9_cx)
FUNCTION(vpx_codec_vp9_dx)
FUNCTION(vpx_codec_enc_config_default)
FUNCTION(vpx_codec_enc_config_set)
FUNCTION(vpx_codec_control_)
FUNCTION(vpx_codec_encode)
FUNCTION(vpx_codec_get_cx_data)
FUNCTION(vpx_codec_decode)
FUNCTION(vpx_codec_get_frame)
FUNCTION(vpx_codec_destroy)
FUNCTION(vpx_img_wrap)
FUNCTION(vpx_img_free)
FUNCTION(vpx_codec_err_to_string)
"#;

#[test]
fn another_release_is_refused_with_what_was_found_and_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("other.c"), folder.path().join("libvpx.so.99"));
    std::fs::write(&source, OTHER).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).output();
    let compiled = compiled.expect("a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let refused = Library::open(Some(&library)).unwrap_err().to_string();
    let expected = format!(
        "{} (v1.99.0) cannot be used: its interface is of a release that is not known; known are \
         libvpx 1.16 and 1.17, 1.15, 1.14, 1.11 and 1.12, 1.8 and 1.9, with their VP9 encoder",
        library.display()
    );
    assert_eq!(refused, expected);
}

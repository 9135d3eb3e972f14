//! Releases of libvpx whose interface is known.
//!
//! libvpx numbers its encoder's interface (`VPX_ENCODER_ABI_VERSION`) and refuses callers with another
//! number. The number says nothing about what has changed: for each of those below, `vpx_encoder.h`,
//! `vp8cx.h`, `vpx_image.h` and `vpx_codec.h` of the releases were compared with what this package
//! declares. From one to the next, structures have only grown at their ends.

use std::ffi::c_int;

/// Releases with one number of the encoder's interface.
pub(crate) struct Releases {
    /// `VPX_ENCODER_ABI_VERSION`.
    pub(crate) encoder_abi: c_int,
    /// Their versions.
    versions: &'static str,
}

/// The known releases, newest first.
pub(crate) const RELEASES: [Releases; 5] = [
    Releases { encoder_abi: 39, versions: "1.16 and 1.17" },
    Releases { encoder_abi: 36, versions: "1.15" },
    Releases { encoder_abi: 34, versions: "1.14" },
    Releases { encoder_abi: 25, versions: "1.11 and 1.12" },
    Releases { encoder_abi: 23, versions: "1.8 and 1.9" },
];

/// `VPX_DECODER_ABI_VERSION` of all of them.
pub(crate) const DECODER_ABI: c_int = 12;

/// The known releases for people: `libvpx 1.16 and 1.17, 1.15, ...`.
pub(crate) fn known() -> String {
    let versions: Vec<&str> = RELEASES.iter().map(|releases| releases.versions).collect();
    format!("libvpx {}", versions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_releases_are_named() {
        assert_eq!(known(), "libvpx 1.16 and 1.17, 1.15, 1.14, 1.11 and 1.12, 1.8 and 1.9");
        assert!(RELEASES.is_sorted_by(|a, b| a.encoder_abi > b.encoder_abi));
    }
}

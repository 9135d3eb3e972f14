//! Names in identities of version 1 that are called something else today.

/// Types: what they are called now, and in version 1.
const TYPES: &[(&str, &str)] =
    &[("ReverseTransfer", "OtherWay"), ("SchemeOptions", "OfScheme"), ("WebTraffic", "Traffic")];

/// Fields and variants: the type that has them as it is called now, what its `Serialize` calls them
/// now, and their name in version 1.
const PARTS: &[(&str, &str, &str)] = &[
    ("Scenario", "participants", "casts"),
    ("Draws", "shared", "Shared"),
    ("Draws", "own", "Own"),
    ("Entry", "min_bytes", "least_bytes"),
    ("Entry", "max_bytes", "most_bytes"),
    ("ChannelConfig", "sensitivity_dbm", "sense_dbm"),
    ("Wifi", "max_air", "most_air"),
    ("Wifi", "max_amsdu", "most_amsdu"),
    ("Wifi", "is_encrypted", "is_sealed"),
    ("Wifi", "snr_to_others_db", "others_db"),
    ("Station", "snr_to_others_db", "others_db"),
    ("Metric", "vmaf", "Vmaf"),
    ("Metric", "vmaf_phone", "VmafPhone"),
    ("Metric", "vmaf_4k", "Vmaf4k"),
    ("Metric", "psnr_db", "PsnrDb"),
    ("Metric", "ssim", "Ssim"),
    ("Smoothness", "mean_curve", "MeanCurve"),
    ("Smoothness", "chunk", "Chunk"),
    ("Medium", "lte", "Lte"),
    ("Medium", "5g", "FiveG"),
    ("Medium", "wifi", "Wifi"),
    ("Medium", "wifi-restaurant", "WifiRestaurant"),
    ("Medium", "wifi-gaming", "WifiGaming"),
    ("Medium", "wifi-ac", "WifiAc"),
    ("Medium", "wigig-los", "WigigLos"),
    ("Medium", "wigig-nlos", "WigigNlos"),
    ("Medium", "wigig-mobile", "WigigMobile"),
    ("UtilityKind", "client-aware", "ClientAware"),
    ("UtilityKind", "basic", "Basic"),
    ("Fairness", "max-min", "MaxMin"),
    ("Fairness", "proportional", "Proportional"),
];

/// The name of a type in version 1.
pub(super) fn of_type(name: &'static str) -> &'static str {
    TYPES.iter().find(|(now, _)| *now == name).map_or(name, |(_, then)| then)
}

/// The name of a field or variant of a type in version 1.
pub(super) fn of_part(of: &'static str, name: &'static str) -> &'static str {
    let known = PARTS.iter().find(|(of_now, now, _)| (*of_now, *now) == (of, name));
    known.map_or(name, |(_, _, then)| then)
}

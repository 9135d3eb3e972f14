//! The scenarios that the binary carries.

/// Name and text of each built-in scenario.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("four-viewers", include_str!("../../../../scenarios/four-viewers.toml")),
    ("bulk", include_str!("../../../../scenarios/bulk.toml")),
    ("buffer-pooling", include_str!("../../../../scenarios/buffer-pooling.toml")),
    ("fig9", include_str!("../../../../scenarios/fig9.toml")),
    ("devices", include_str!("../../../../scenarios/devices.toml")),
];

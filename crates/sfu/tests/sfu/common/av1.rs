//! A publisher of AV1 with the template structures that browsers send.

use std::collections::BTreeSet;
use std::sync::Arc;

use airlane_sfu::{
    DecodeTargetIndication, DependencyDescriptor, DependencyStructure, FrameTemplate,
};

use super::{Packet, Rtp, TEMPORAL_PATTERN};

/// Template as the specification writes it: layer, indications, distances of chains, distances of frames.
type Row = (u8, u8, &'static str, &'static [u8], &'static [u16]);

const L2T3_KEY: &[Row] = &[
    (0, 0, "SSSSSS", &[0, 0], &[]),
    (0, 0, "SSS---", &[8, 7], &[8]),
    (0, 1, "-DS---", &[4, 3], &[4]),
    (0, 2, "--D---", &[2, 1], &[2]),
    (0, 2, "--D---", &[6, 5], &[2]),
    (1, 0, "---SSS", &[1, 1], &[1]),
    (1, 0, "---SSS", &[1, 8], &[8]),
    (1, 1, "----DS", &[5, 4], &[4]),
    (1, 2, "-----D", &[3, 2], &[2]),
    (1, 2, "-----D", &[7, 6], &[2]),
];

const L3T3_KEY: &[Row] = &[
    (0, 0, "SSSSSSSSS", &[0, 0, 0], &[]),
    (0, 0, "SSS------", &[12, 11, 10], &[12]),
    (0, 1, "-DS------", &[6, 5, 4], &[6]),
    (0, 2, "--D------", &[3, 2, 1], &[3]),
    (0, 2, "--D------", &[9, 8, 7], &[3]),
    (1, 0, "---SSSSSS", &[1, 1, 1], &[1]),
    (1, 0, "---SSS---", &[1, 12, 11], &[12]),
    (1, 1, "----DS---", &[7, 6, 5], &[6]),
    (1, 2, "-----D---", &[4, 3, 2], &[3]),
    (1, 2, "-----D---", &[10, 9, 8], &[3]),
    (2, 0, "------SSS", &[2, 1, 1], &[1]),
    (2, 0, "------SSS", &[2, 1, 12], &[12]),
    (2, 1, "-------DS", &[8, 7, 6], &[6]),
    (2, 2, "--------D", &[5, 4, 3], &[3]),
    (2, 2, "--------D", &[11, 10, 9], &[3]),
];

/// Prediction between spatial layers in every picture.
const L2T3: &[Row] = &[
    (0, 0, "SSSSSS", &[0, 0], &[]),
    (0, 0, "SSSRRR", &[8, 7], &[8]),
    (0, 1, "-DS-RR", &[4, 3], &[4]),
    (0, 2, "--D--R", &[2, 1], &[2]),
    (0, 2, "--D--R", &[6, 5], &[2]),
    (1, 0, "---SSS", &[1, 1], &[1]),
    (1, 0, "---SSS", &[1, 1], &[8, 1]),
    (1, 1, "----DS", &[5, 4], &[4, 1]),
    (1, 2, "-----D", &[3, 2], &[2, 1]),
    (1, 2, "-----D", &[7, 6], &[2, 1]),
];

/// Temporal layers alone. Chromium writes it for each encoding of VP8.
const L1T3: &[Row] = &[
    (0, 0, "SSS", &[0], &[]),
    (0, 0, "SSS", &[4], &[4]),
    (0, 1, "-SS", &[2], &[2]),
    (0, 2, "--S", &[1], &[1]),
    (0, 2, "--S", &[3], &[1]),
];

/// The mode in which a publisher scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    L2T3Key,
    L3T3Key,
    L2T3,
    L1T3,
}

impl Mode {
    fn rows(self) -> &'static [Row] {
        match self {
            Self::L2T3Key => L2T3_KEY,
            Self::L3T3Key => L3T3_KEY,
            Self::L2T3 => L2T3,
            Self::L1T3 => L1T3,
        }
    }

    pub(crate) fn spatial_layers(self) -> u8 {
        self.rows().last().expect("a template").0 + 1
    }

    /// The structure whose templates are counted from an offset.
    pub(crate) fn structure(self, template_id_offset: u8) -> DependencyStructure {
        let layers = self.spatial_layers();
        let indication = |symbol| match symbol {
            '-' => DecodeTargetIndication::NotPresent,
            'D' => DecodeTargetIndication::Discardable,
            'S' => DecodeTargetIndication::Switch,
            _ => DecodeTargetIndication::Required,
        };
        let template = |row: &Row| FrameTemplate {
            spatial: row.0,
            temporal: row.1,
            indications: row.2.chars().map(indication).collect(),
            chain_distances: row.3.to_vec(),
            frame_distances: row.4.to_vec(),
        };
        DependencyStructure {
            template_id_offset,
            decode_targets: layers * 3,
            templates: self.rows().iter().map(template).collect(),
            chains: layers,
            protecting_chains: (0..layers * 3).map(|target| target / 3).collect(),
            resolutions: (0..layers).map(|layer| (320 << layer, 180 << layer)).collect(),
        }
    }

    /// Index of the template of a frame: by spatial layer and place in the pattern.
    fn template(self, is_key: bool, spatial: u8, place: usize) -> u8 {
        let first = [0, 5, 10][usize::from(spatial)];
        match (is_key, place) {
            (true, _) => first,
            (false, 0) => first + 1,
            (false, 1) => first + 3,
            (false, 2) => first + 2,
            (false, _) => first + 4,
        }
    }
}

/// A publisher of AV1.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) rtp: Rtp,
    pub(crate) mode: Mode,
    pub(crate) frame_number: u16,
    /// Decode targets that are written into each packet, if any.
    pub(crate) active: Option<u32>,
    template_id_offset: u8,
    place: usize,
}

impl Publisher {
    pub(crate) fn new(rtp: Rtp, mode: Mode) -> Self {
        let frame_number = 65_500;
        Self { rtp, mode, frame_number, active: None, template_id_offset: 0, place: 0 }
    }

    /// The next picture, two packets for each spatial layer.
    pub(crate) fn picture(&mut self, is_key: bool) -> Vec<Packet> {
        if is_key {
            self.place = 0;
            let templates = self.mode.rows().len() as u8;
            self.template_id_offset = (self.template_id_offset + templates) % 64;
        }
        let structure = Arc::new(self.mode.structure(self.template_id_offset));
        let layers = self.mode.spatial_layers();
        let mut out = Vec::new();
        for spatial in 0..layers {
            let template = self.mode.template(is_key, spatial, self.place % 4);
            for part in 0..2 {
                let has_structure = is_key && spatial == 0 && part == 0;
                let descriptor = DependencyDescriptor {
                    begins_frame: part == 0,
                    ends_frame: part == 1,
                    template_id: (template + self.template_id_offset) % 64,
                    frame_number: self.frame_number,
                    structure: has_structure.then(|| structure.clone()),
                    active_decode_targets: self.active,
                    custom_indications: None,
                    custom_frame_distances: None,
                    custom_chain_distances: None,
                };
                let is_last = spatial + 1 == layers && part == 1;
                let mut packet = self.rtp.packet(is_last, vec![0x10, spatial, part]);
                let bytes = descriptor.encode(Some(&structure)).expect("a valid descriptor");
                packet.dependency_descriptor = Some(bytes);
                out.push(packet);
            }
            self.frame_number = self.frame_number.wrapping_add(1);
        }
        self.place += 1;
        self.rtp.next_picture();
        out
    }

    /// A key picture and the pictures after it.
    pub(crate) fn pictures(&mut self, count: usize) -> Vec<Packet> {
        (0..count).flat_map(|place| self.picture(place == 0)).collect()
    }

    /// Temporal layer of the picture that comes next, unless it is a key picture.
    pub(crate) fn next_temporal(&self) -> u8 {
        TEMPORAL_PATTERN[self.place % 4]
    }
}

/// A decoder, as far as dependency descriptors go.
#[derive(Default)]
pub(crate) struct Decoder {
    structure: Option<Arc<DependencyStructure>>,
    frames: BTreeSet<u16>,
    /// Decode targets that the receiver was told of.
    pub(crate) active: u32,
    /// Spatial and temporal layer of the frames, in their order.
    pub(crate) layers: Vec<(u8, u8)>,
}

impl Decoder {
    /// Takes a packet in order. Panics if a frame depends on one that did not come, or is missing in a decode target
    /// that is said to be active.
    pub(crate) fn take(&mut self, packet: &Packet) {
        let bytes = packet.dependency_descriptor.as_ref().expect("a descriptor");
        let known = self.structure.clone();
        let descriptor = DependencyDescriptor::decode(bytes, known.as_deref()).expect("it is read");
        if let Some(structure) = &descriptor.structure {
            self.structure = Some(structure.clone());
            self.active = structure.all_targets();
        }
        let structure = self.structure.clone().expect("a structure came");
        self.active = descriptor.active_decode_targets.unwrap_or(self.active);
        if !descriptor.begins_frame {
            return;
        }
        for distance in descriptor.frame_distances(&structure).expect("a template") {
            let referred = descriptor.frame_number.wrapping_sub(*distance);
            assert!(self.frames.contains(&referred), "{referred} did not come: {descriptor:?}");
        }
        self.frames.insert(descriptor.frame_number);
        let template = descriptor.template(&structure).expect("a template");
        self.layers.push((template.spatial, template.temporal));
    }
}

//! The dependency descriptor: bytes of the specification's fields, and what is refused.

use std::sync::Arc;

use airlane_sfu::{
    DecodeTargetIndication, DependencyDescriptor, DependencyStructure, DescriptorError,
    FrameTemplate, MAX_TEMPLATES,
};
use proptest::prelude::*;

use crate::common::av1::Mode;

use DecodeTargetIndication::{Discardable, NotPresent, Required, Switch};

/// Bits, in groups of fields.
fn bytes(bits: &str) -> Vec<u8> {
    let bits: Vec<u8> = bits.bytes().filter(|b| b"01".contains(b)).map(|b| b - b'0').collect();
    let byte = |bits: &[u8]| (0..8).fold(0, |byte, i| byte << 1 | bits.get(i).unwrap_or(&0));
    bits.chunks(8).map(byte).collect()
}

fn plain(template_id: u8, frame_number: u16) -> DependencyDescriptor {
    DependencyDescriptor {
        begins_frame: false,
        ends_frame: false,
        template_id,
        frame_number,
        structure: None,
        active_decode_targets: None,
        custom_indications: None,
        custom_frame_distances: None,
        custom_chain_distances: None,
    }
}

/// L1T2 with one chain, as the specification would write it.
fn small_structure() -> DependencyStructure {
    let template = |temporal, indications: &[_], distances: &[u16], chain| FrameTemplate {
        spatial: 0,
        temporal,
        indications: indications.to_vec(),
        frame_distances: distances.to_vec(),
        chain_distances: vec![chain],
    };
    DependencyStructure {
        template_id_offset: 5,
        decode_targets: 2,
        templates: vec![
            template(0, &[Switch, Switch], &[], 0),
            template(0, &[Switch, Switch], &[2], 2),
            template(1, &[NotPresent, Discardable], &[1], 1),
        ],
        chains: 1,
        protecting_chains: vec![0, 0],
        resolutions: vec![(640, 360)],
    }
}

const SMALL_STRUCTURE: &str = "000101 00001 \
     00 01 11 \
     10 10  10 10  00 01 \
     0  1 0001 0  1 0000 0 \
     10 \
     0000 0010 0001 \
     1 0000001001111111 0000000101100111";

#[test]
fn the_mandatory_fields_are_three_bytes() {
    let read = DependencyDescriptor::decode(&[0b1001_1001, 0x12, 0x34], None).expect("it is read");
    assert!(read.begins_frame && !read.ends_frame);
    assert_eq!((read.template_id, read.frame_number), (0b01_1001, 0x1234));
    assert_eq!(read.encode(None).expect("it is written"), [0b1001_1001, 0x12, 0x34]);
}

#[test]
fn a_structure_is_read_field_by_field() {
    let bits = format!("1 1 000101 0000000000000111 1 0 0 0 0 {SMALL_STRUCTURE}");
    let written = bytes(&bits);
    let read = DependencyDescriptor::decode(&written, None).expect("it is read");
    assert_eq!(read.structure.as_deref(), Some(&small_structure()));
    assert_eq!(read.encode(None).expect("it is written"), written);
    let targets = small_structure().targets();
    assert_eq!((targets[0].temporal, targets[1].temporal), (0, 1));
    assert!(targets[0].is_part_of(targets[1]) && !targets[1].is_part_of(targets[0]));
}

#[test]
fn custom_fields_take_the_place_of_the_templates() {
    let structure = small_structure();
    let bits =
        "0 1 000111 0000000000001000  0 1 1 1 1  10  11 01  01 0011 10 00010000 00  00000111";
    let read = DependencyDescriptor::decode(&bytes(bits), Some(&structure)).expect("it is read");
    assert_eq!(read.active_decode_targets, Some(0b10));
    assert_eq!(read.indications(&structure), Ok(&[Required, Discardable][..]));
    assert_eq!(read.frame_distances(&structure), Ok(&[4, 17][..]));
    assert_eq!(read.custom_chain_distances.as_deref(), Some(&[7][..]));
    assert_eq!(read.template(&structure).expect("a template").temporal, 1);
    assert_eq!(read.encode(Some(&structure)).expect("it is written"), bytes(bits));
    let without = DependencyDescriptor::decode(&bytes(bits), None);
    assert_eq!(without, Err(DescriptorError::NoStructure));
}

#[test]
fn templates_are_counted_from_the_offset() {
    let structure = small_structure();
    let temporal = |id| plain(id, 0).template(&structure).map(|template| template.temporal);
    assert_eq!([temporal(5), temporal(6), temporal(7)], [Ok(0), Ok(0), Ok(1)]);
    assert_eq!(temporal(8), Err(DescriptorError::UnknownTemplate(8)));
    assert_eq!(temporal(4), Err(DescriptorError::UnknownTemplate(4)));
    let wrapped = DependencyStructure { template_id_offset: 62, ..structure };
    assert_eq!(plain(0, 0).template(&wrapped).map(|template| template.temporal), Ok(1));
}

#[test]
fn the_modes_of_browsers_come_back_as_they_were_written() {
    for mode in [Mode::L2T3Key, Mode::L3T3Key, Mode::L2T3] {
        let structure = Arc::new(mode.structure(60));
        let descriptor =
            DependencyDescriptor { structure: Some(structure.clone()), ..plain(60, 9) };
        let written = descriptor.encode(None).expect("it is written");
        // More than the 16 bytes of a one-byte header extension.
        assert!((17..120).contains(&written.len()), "{} bytes", written.len());
        assert_eq!(DependencyDescriptor::decode(&written, None).as_ref(), Ok(&descriptor));
        let targets = structure.targets();
        let layers: Vec<_> =
            targets.iter().map(|target| (target.spatial, target.temporal)).collect();
        let all = (0..mode.spatial_layers()).flat_map(|s| (0..3).map(move |t| (s, t)));
        assert_eq!(layers, all.collect::<Vec<_>>());
        for length in 4..written.len() {
            // Zeros at the end are padding, so the last byte may be one.
            let cut = DependencyDescriptor::decode(&written[..length], None);
            assert_eq!(cut, Err(DescriptorError::Truncated), "{mode:?}, {length} bytes");
        }
    }
}

#[test]
fn more_templates_or_layers_than_the_format_has_are_refused() {
    let head = "1 1 000000 0000000000000000 1 0 0 0 0 000000 00000 ";
    let read =
        |layers: &str| DependencyDescriptor::decode(&bytes(&format!("{head}{layers}")), None);
    let many = read(&"00".repeat(800));
    assert_eq!(many, Err(DescriptorError::TooMany { of: "templates", max: MAX_TEMPLATES }));
    let temporal = read(&"01".repeat(100));
    assert_eq!(temporal, Err(DescriptorError::TooMany { of: "temporal layers", max: 8 }));
    let spatial = read(&"10".repeat(100));
    assert_eq!(spatial, Err(DescriptorError::TooMany { of: "spatial layers", max: 4 }));
    let long = DependencyDescriptor::decode(&[0; 256], None);
    assert_eq!(long, Err(DescriptorError::TooLong(256)));
}

#[test]
fn a_structure_that_the_format_has_no_bits_for_is_not_written() {
    let write = |change: fn(&mut DependencyStructure)| {
        let mut structure = small_structure();
        change(&mut structure);
        DependencyDescriptor { structure: Some(Arc::new(structure)), ..plain(5, 0) }.encode(None)
    };
    let changes: [fn(&mut DependencyStructure); 8] = [
        |s| s.templates.clear(),
        |s| s.decode_targets = 33,
        |s| s.chains = 3,
        |s| s.protecting_chains[0] = 1,
        |s| s.templates.swap(0, 2),
        |s| s.templates[1].frame_distances[0] = 17,
        |s| s.templates[1].indications.truncate(1),
        |s| s.resolutions[0].0 = 0,
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let written = write(change);
        assert!(matches!(written, Err(DescriptorError::Inexpressible(_))), "{place}: {written:?}");
    }
    let custom = DependencyDescriptor { custom_frame_distances: Some(vec![4097]), ..plain(5, 0) };
    assert!(matches!(custom.encode(None), Err(DescriptorError::Inexpressible(_))));
}

proptest! {
    #[test]
    fn what_is_read_is_written_so_that_it_is_read_the_same(
        data in proptest::collection::vec(any::<u8>(), 0..=256),
        has_structure in any::<bool>(),
    ) {
        let mut data = data;
        if has_structure && data.len() > 3 {
            data[3] |= 0x80;
        }
        let known = small_structure();
        if let Ok(read) = DependencyDescriptor::decode(&data, Some(&known)) {
            let written = read.encode(Some(&known)).expect("what was read can be written");
            prop_assert!(written.len() <= data.len());
            prop_assert_eq!(DependencyDescriptor::decode(&written, Some(&known)), Ok(read));
        }
    }
}

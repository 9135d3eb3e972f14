//! Manifests that are larger than any that a player meets.

use airlane_media::dash::parse;

use crate::manifests::{error, mpd, one, urls};

/// An MPD of one period of 10 s, with a set of pictures that holds `inner`.
fn set(inner: &str) -> String {
    let set = format!("<AdaptationSet mimeType=\"video/mp4\">{inner}</AdaptationSet>");
    mpd("mediaPresentationDuration=\"PT10S\"", &set)
}

#[test]
fn a_long_base_is_refused_at_every_level() {
    let long = "a/".repeat(1_025);
    let representation = "<Representation id=\"v\" bandwidth=\"8\"/>";
    for text in [
        set(&format!("<BaseURL>{long}</BaseURL>{representation}")),
        one(&format!("<BaseURL>{long}</BaseURL>")),
        mpd("", &format!("<BaseURL>{long}</BaseURL>")),
        format!("<MPD><BaseURL>{long}</BaseURL><Period/></MPD>"),
    ] {
        let e = error(&text);
        assert!(e.contains("BaseURL") && e.contains("at most 2048 bytes"), "{e}");
    }
    // Neither is long alone: each level adds to the one above it.
    let part = "a/".repeat(600);
    let text = set(&format!(
        "<BaseURL>{part}</BaseURL><Representation id=\"v\" bandwidth=\"8\">\
         <BaseURL>{part}</BaseURL></Representation>"
    ));
    assert!(error(&text).contains("at most 2048 bytes"), "{}", error(&text));
}

#[test]
fn a_representation_inherits_nothing_of_great_length() {
    for attribute in ["mimeType", "codecs", "lang"] {
        let text = mpd(
            "mediaPresentationDuration=\"PT10S\"",
            &format!(
                "<AdaptationSet contentType=\"video\" {attribute}=\"{}\">\
                 <Representation id=\"v\" bandwidth=\"8\"/></AdaptationSet>",
                "x".repeat(3_000)
            ),
        );
        let e = error(&text);
        assert!(e.contains(attribute) && e.contains("at most 1024 bytes"), "{e}");
    }
}

#[test]
fn more_representations_than_any_ladder_has_are_refused() {
    let many = "<Representation id=\"v\" bandwidth=\"8\"/>".repeat(1_001);
    let e = error(&set(&many));
    assert!(e.contains("more than 1000 representations"), "{e}");
}

#[test]
fn many_base_urls_are_looked_through_once() {
    let bases = "<BaseURL>b/</BaseURL>".repeat(350_000);
    let ladder = "<Representation id=\"v\" bandwidth=\"8\"/>".repeat(1_000);
    let read = parse(&set(&format!("{bases}{ladder}"))).unwrap();
    assert_eq!(read.video.len(), 1_000);
    assert_eq!(urls(&read.video[999]), ["b/"]);
}

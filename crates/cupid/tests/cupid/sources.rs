//! What tells of the air where there is no monitor.

use std::time::Duration;

use airlane_cupid::sources::{
    BssLoad, BssLoadError, StationAirtime, Survey, SurveyError, of_access_point,
};
use proptest::prelude::*;

#[test]
fn the_bss_load_element_is_read() {
    let element = [11, 5, 7, 0, 204, 0x12, 0x34];
    let load = BssLoad { stations: 7, utilisation: 204, admission: 0x3412 };
    assert_eq!(BssLoad::decode(&element), Ok(load));
    assert_eq!(load.reading().without_contention, Some(0.8));
    assert_eq!(load.reading().stations, Some(7));
    // Among others: SSID in front, and an element that is cut off behind.
    let mut elements = vec![0, 3, b'a', b'b', b'c'];
    elements.extend(element);
    elements.extend([221, 200, 1]);
    assert_eq!(BssLoad::find(&elements), Some(load));
    assert_eq!(BssLoad::find(&elements[..10]), None);
    assert_eq!(BssLoad::decode(&[11, 4, 0, 0, 0, 0]), Err(BssLoadError::Length(4)));
    assert_eq!(BssLoad::decode(&element[..6]), Err(BssLoadError::Length(4)));
    assert_eq!(BssLoad::decode(&[12, 5]), Err(BssLoadError::Element(12)));
    assert_eq!(BssLoad::decode(&[]), Err(BssLoadError::Length(0)));
    // Contention brings the fraction up: exchanges of 1 ms, 110.5 us between them.
    let charged =
        load.reading().with_contention(Duration::from_millis(1), Duration::from_nanos(110_500));
    assert!((charged.unwrap() - 0.8884).abs() < 1e-9);
}

const DUMP: &str = "Survey data from wlan0
	frequency:			5180 MHz [in use]
	noise:				-95 dBm
	channel active time:		10000 ms
	channel busy time:		4000 ms
	channel receive time:		2500 ms
	channel transmit time:		1200 ms
Survey data from wlan0
	frequency:			5200 MHz
	channel active time:		120 ms
	channel busy time:		6 ms
";

#[test]
fn surveys_are_read_and_differences_give_utilisation() {
    let before = Survey::parse(DUMP).expect("a survey");
    assert_eq!(before.len(), 2);
    assert!(before[0].is_in_use && !before[1].is_in_use);
    assert_eq!((before[0].frequency_mhz, before[0].noise_dbm), (5_180, Some(-95)));
    assert_eq!(before[0].transmit, Some(Duration::from_millis(1_200)));
    assert_eq!((before[1].noise_dbm, before[1].receive), (None, None));
    let text = DUMP.replace("10000 ms", "11000 ms").replace("4000 ms", "4750 ms");
    let after = Survey::parse(&text).expect("a survey");
    assert_eq!(after[0].since(&before[0]).without_contention, Some(0.75));
    assert_eq!(after[1].since(&before[1]).without_contention, None, "no time passed");
    // The counters began anew.
    let anew = Survey::parse(&DUMP.replace("10000 ms", "100 ms").replace("4000 ms", "50 ms"));
    assert_eq!(anew.expect("a survey")[0].since(&before[0]).without_contention, Some(0.5));
}

#[test]
fn what_is_no_survey_is_told() {
    assert_eq!(Survey::parse(""), Err(SurveyError::Empty));
    let error = Survey::parse(&DUMP.replace("4000 ms", "many")).expect_err("no number");
    assert_eq!(error.to_string(), "line 5: found \"many\"; expected a time, such as 340 ms");
    let error = Survey::parse(&DUMP.replace("5200 MHz", "5.2 GHz")).expect_err("no MHz");
    assert!(error.to_string().starts_with("line 9: found \"5.2 GHz\""), "{error}");
    let many = "frequency: 5180 MHz\n".repeat(1_025);
    assert_eq!(Survey::parse(&many), Err(SurveyError::Crowded));
}

#[test]
fn counts_of_an_access_point_give_shares() {
    let ms = Duration::from_millis;
    let station = |transmit, receive, is_active| StationAirtime {
        transmit: ms(transmit),
        receive: ms(receive),
        is_active,
    };
    let all = [station(300, 20, true), station(300, 30, true), station(0, 10, false)];
    let reading = of_access_point(&all, ms(1_000));
    assert!((reading.without_contention.unwrap() - 0.66).abs() < 1e-9);
    assert_eq!((reading.stations, reading.shares.as_slice()), (Some(2), &[0.32, 0.33][..]));
    assert_eq!(of_access_point(&all, Duration::ZERO).without_contention, None);
}

proptest! {
    #[test]
    fn any_text_and_any_bytes_are_read_or_refused(text: String, bytes: Vec<u8>) {
        let _ = Survey::parse(&text);
        let _ = BssLoad::decode(&bytes);
        let _ = BssLoad::find(&bytes);
    }
}

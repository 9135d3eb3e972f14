//! Names of rooms and participants, as people type them.

use std::fmt;
use std::str::FromStr;

use airlane_base::is_hidden;

/// Characters that the name of a room may have.
const MAX_ROOM_CHARACTERS: usize = 64;
/// Characters that the name of a participant may have.
const MAX_NAME_CHARACTERS: usize = 40;
/// Paths that are no rooms: those of the page's parts and of status.
const RESERVED: [&str; 3] = ["airlane", "favicon.ico", "robots.txt"];

/// Name of a room: 1 to 64 letters, digits, `-`, `_` and `.` of ASCII, the first a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomName(String);

/// A text that is no room's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no name of a room; expected 1 to {MAX_ROOM_CHARACTERS} letters, digits, - _ or ., the first a letter or digit"
)]
pub struct InvalidRoomName;

impl FromStr for RoomName {
    type Err = InvalidRoomName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let is_name = (1..=MAX_ROOM_CHARACTERS).contains(&text.len())
            && text.bytes().all(is_part)
            && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && !RESERVED.contains(&text);
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidRoomName) }
    }
}

impl RoomName {
    /// Text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RoomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Name of a participant as others see it: control characters and surplus spaces are left out, and what is
/// longer than 40 characters is cut; `guest` where nothing is left.
pub(crate) fn participant_name(text: &str) -> String {
    // Bounded before anything is done with it: a body may be long.
    let visible = text.chars().take(4 * MAX_NAME_CHARACTERS).filter(|c| !is_hidden(*c));
    let visible: String = visible.collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_CHARACTERS).collect();
    let name = name.trim_end();
    if name.is_empty() { "guest".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rooms_are_bounded_and_plain() {
        for good in ["a", "team-1", "9.b_c", &"x".repeat(64)] {
            assert_eq!(good.parse::<RoomName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", ".", "-a", "a/b", "a b", "ä", "airlane", &"x".repeat(65)] {
            assert_eq!(bad.parse::<RoomName>(), Err(InvalidRoomName), "{bad}");
        }
    }

    #[test]
    fn names_of_participants_are_cut_and_cleaned() {
        assert_eq!(participant_name("  Ann \u{202e}\n Lee\t"), "Ann Lee");
        assert_eq!(participant_name(&"é".repeat(1000)).chars().count(), 40);
        assert_eq!(participant_name("\u{0} "), "guest");
    }
}

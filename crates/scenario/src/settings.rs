//! A link from `KEY=VALUE`, with the keys of a scenario's link.

use airlane_base::InputError;
use airlane_net::Direction;

use crate::decode::{CAPACITY_KEYS, of_settings};
use crate::tree::{Node, Origin, parse_value, put_beside};
use crate::types::Link;

/// Reads a link from settings such as `rate_bps=10e6`, `queue.kind=pie`, `loss.p=0.01`, for each direction. Of
/// two of one key the later holds. A direction `up` without a capacity has that of a scenario's way back.
///
/// # Errors
/// With direction and key, what was found and what was expected.
pub fn link_of_settings<S: AsRef<str>>(up: &[S], down: &[S]) -> Result<Link, InputError> {
    of_settings(&document(up, down)?, false)
}

/// Reads a half-duplex link from such settings of both directions, and of each. The capacity is one of both: that
/// of the way down of the result.
///
/// # Errors
/// As [`link_of_settings`], and for a capacity of one direction.
pub fn half_duplex_of_settings<S: AsRef<str>>(
    both: &[S],
    up: &[S],
    down: &[S],
) -> Result<Link, InputError> {
    let (capacity, rest): (Vec<&str>, Vec<&str>) =
        both.iter().map(AsRef::as_ref).partition(|setting| {
            let key = setting.split_once('=').map_or(*setting, |(key, _)| key).trim();
            CAPACITY_KEYS.contains(&key)
        });
    let with_both = |own: &[S]| -> Vec<String> {
        rest.iter().copied().chain(own.iter().map(AsRef::as_ref)).map(str::to_owned).collect()
    };
    let mut root = document(&with_both(up), &with_both(down))?;
    for setting in capacity {
        put(&mut root, None, setting)?;
    }
    of_settings(&root, true)
}

/// Tables `up` and `down` with these settings.
fn document<S: AsRef<str>>(up: &[S], down: &[S]) -> Result<Node, InputError> {
    let mut root = Node::table(Origin::Option);
    for (direction, settings) in [(Direction::Up, up), (Direction::Down, down)] {
        put_beside(&mut root, direction.name(), Node::table(Origin::Option))?;
        for setting in settings.iter().map(AsRef::as_ref) {
            put(&mut root, Some(direction), setting)?;
        }
    }
    Ok(root)
}

/// Puts a setting into the table of a direction, or of both.
fn put(root: &mut Node, direction: Option<Direction>, setting: &str) -> Result<(), InputError> {
    let at = |key: &str| match direction {
        Some(direction) => format!("{}.{}", direction.name(), key.trim()),
        None => key.trim().to_owned(),
    };
    let Some((key, value)) = setting.split_once('=') else {
        let expected = "expected KEY=VALUE, such as rate_bps=10e6";
        return Err(InputError::new("no value", expected).at_key(at(setting)));
    };
    let value = parse_value(value.trim(), Origin::Option);
    put_beside(root, &at(key), value).map_err(|e| e.at_key(at(key)))
}

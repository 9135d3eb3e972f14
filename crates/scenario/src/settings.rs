//! A link from `KEY=VALUE`, with the keys of a scenario's link.

use airlane_base::InputError;
use airlane_net::Direction;

use crate::decode::of_settings;
use crate::tree::{Node, Origin, parse_value, put_beside};
use crate::types::Link;

/// Reads a link from settings such as `rate_bps=10e6`, `queue.kind=pie`, `loss.p=0.01`, for each direction. Of
/// two of one key the later holds. A direction `up` without a capacity has that of a scenario's way back.
///
/// # Errors
/// With direction and key, what was found and what was expected.
pub fn link_of_settings<S: AsRef<str>>(up: &[S], down: &[S]) -> Result<Link, InputError> {
    let mut root = Node::table(Origin::Option);
    for (direction, settings) in [(Direction::Up, up), (Direction::Down, down)] {
        put_beside(&mut root, direction.name(), Node::table(Origin::Option))?;
        for setting in settings.iter().map(AsRef::as_ref) {
            let at = |key: &str| format!("{}.{}", direction.name(), key.trim());
            let Some((key, value)) = setting.split_once('=') else {
                let expected = "expected KEY=VALUE, such as rate_bps=10e6";
                return Err(InputError::new("no value", expected).at_key(at(setting)));
            };
            let value = parse_value(value.trim(), Origin::Option);
            put_beside(&mut root, &at(key), value).map_err(|e| e.at_key(at(key)))?;
        }
    }
    of_settings(&root)
}

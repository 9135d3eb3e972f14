//! What a reading leaves besides its result: errors, and the keys that it asked for.

use std::cell::RefCell;

use airlane_base::InputError;

use super::tree::Origin;
use super::{KeyDoc, Registry};

/// The message for a key that no call read.
pub(super) const UNKNOWN_KEY: &str = "unknown key";

/// Results of a reading besides its value: errors, and the keys asked for.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Registry that the scenario is read with; its keys are suggested for unknown ones.
    registry: Registry,
    errors: RefCell<Vec<(Origin, InputError)>>,
    /// The keys asked for, in order, if they are wanted.
    keys: Option<RefCell<Vec<KeyDoc>>>,
}

impl Notes {
    /// Notes that list the keys asked for, absent tables and lists included.
    pub(super) fn listing(registry: &Registry) -> Self {
        Self { keys: Some(RefCell::default()), ..Self::of_scenario(registry) }
    }

    /// Notes on a scenario that is read with `registry`.
    pub(super) fn of_scenario(registry: &Registry) -> Self {
        Self { registry: registry.clone(), ..Self::default() }
    }

    /// The registry that the scenario is read with.
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// All keys that a scenario may have.
    pub(super) fn known_keys(&self) -> Vec<KeyDoc> {
        self.registry.keys()
    }

    /// The error to report: of unknown keys, if there are any, because a misspelt key is missing
    /// where it should be as well; else the one that comes first in the file. What the command
    /// line set comes last.
    pub(super) fn first_error(self) -> Option<InputError> {
        // `min_by_key` takes the first of equals: errors of one line are in the order of reading.
        let rank = |(origin, error): &(Origin, InputError)| (error.found != UNKNOWN_KEY, *origin);
        self.errors.into_inner().into_iter().min_by_key(rank).map(|(_, e)| e)
    }

    /// Notes an error and where in the input it is.
    pub(super) fn error(&self, origin: Origin, error: InputError) {
        self.errors.borrow_mut().push((origin, error));
    }

    /// Notes a key, if keys are wanted.
    pub(super) fn key(&self, key: impl FnOnce() -> KeyDoc) {
        if let Some(keys) = &self.keys {
            keys.borrow_mut().push(key());
        }
    }

    /// True if keys are wanted, those of absent tables included.
    pub(super) fn is_listing(&self) -> bool {
        self.keys.is_some()
    }

    /// The keys, in the order of asking.
    pub(super) fn into_keys(self) -> Vec<KeyDoc> {
        self.keys.map(RefCell::into_inner).unwrap_or_default()
    }
}

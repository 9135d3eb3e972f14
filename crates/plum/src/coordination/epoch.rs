//! Numbers of notices.

/// Number of a notice. Numbers wrap and are compared by serial arithmetic (RFC 1982).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// True if this number comes after `other`. Numbers that lie half of all numbers apart come after none.
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0);
        ahead != 0 && ahead < 1 << 31
    }
}

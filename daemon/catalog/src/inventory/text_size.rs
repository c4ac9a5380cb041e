//! The size of a text: its tokens in a model, and its characters as agents count them before they cut.

use std::ops::{Add, AddAssign, Div, Sub};

use super::token_estimate::tokens;

/// An amount of text, or the room for it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextSize {
    pub tokens: usize,
    /// UTF-16 code units: most agents are JavaScript programs, and cut by these.
    pub chars: usize,
}

impl TextSize {
    pub(super) fn of(text: &str) -> Self {
        Self {
            tokens: tokens(text),
            chars: text.encode_utf16().count(),
        }
    }

    pub(super) fn fits(self, room: Self) -> bool {
        self.tokens <= room.tokens && self.chars <= room.chars
    }

    /// The larger amount of each unit.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            chars: self.chars.max(other.chars),
        }
    }
}

impl Add for TextSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            chars: self.chars.saturating_add(other.chars),
        }
    }
}

impl AddAssign for TextSize {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for TextSize {
    type Output = Self;

    /// Zero where `other` is larger.
    fn sub(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            chars: self.chars.saturating_sub(other.chars),
        }
    }
}

impl Div<usize> for TextSize {
    type Output = Self;

    fn div(self, divisor: usize) -> Self {
        Self {
            tokens: self.tokens / divisor,
            chars: self.chars / divisor,
        }
    }
}

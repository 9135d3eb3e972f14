//! Text of a peer's, for terminals and logs.

use std::borrow::Cow;
use std::fmt::Write;

/// True if a terminal or an editor would act on a character, or show others than there are: control
/// characters, ANSI's escape among them; marks that change the direction of text (Unicode, annex 9);
/// separators of lines; and characters without a width.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text in which every [hidden](is_hidden) character stands as Rust writes it: `\u{1b}`. Ends of
/// lines too, so that a peer cannot begin a line of its own.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// The same of a text of several lines, which are ours.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_hidden(c))
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            // Writing to a String cannot fail.
            true => drop(write!(out, "{}", c.escape_unicode())),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_spelled_out() {
        for (text, shown) in [
            ("film", "film"),
            ("Фильм 电影 é 🎬", "Фильм 电影 é 🎬"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\r\nb\tc\0", "a\\u{d}\\u{a}b\\u{9}c\\u{0}"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            ("a\u{2066}b\u{200b}\u{feff}\u{2028}", "a\\u{2066}b\\u{200b}\\u{feff}\\u{2028}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable_lines("one\ntwo\u{1b}"), "one\ntwo\\u{1b}");
    }
}

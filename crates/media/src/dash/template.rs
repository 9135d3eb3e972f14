//! URL templates: `$Number%05d$` and the like (ISO/IEC 23009-1, section 5.3.9.4.4).

/// A URL of more bytes than this is refused.
pub(super) const MAX_URL_BYTES: usize = 2_048;

/// A template, taken apart.
#[derive(Debug)]
pub(super) struct Template<'a>(Vec<Piece<'a>>);

#[derive(Debug)]
enum Piece<'a> {
    Text(&'a str),
    Id,
    Number(usize),
    Time(usize),
    Bandwidth(usize),
}

/// Values that a template is filled with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    pub(super) id: &'a str,
    pub(super) bandwidth: u64,
    pub(super) number: u64,
    pub(super) time: u64,
}

impl<'a> Template<'a> {
    /// Reads a template; the error says what of it is not understood.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        for (i, part) in text.split('$').enumerate() {
            if i % 2 == 0 {
                pieces.push(Piece::Text(part));
                continue;
            }
            let (name, width) = match part.split_once('%') {
                Some((name, format)) => (name, width(format).ok_or_else(|| part.to_owned())?),
                None => (part, 1),
            };
            pieces.push(match name {
                "" if part.is_empty() => Piece::Text("$"),
                "RepresentationID" if name == part => Piece::Id,
                "Number" => Piece::Number(width),
                "Time" => Piece::Time(width),
                "Bandwidth" => Piece::Bandwidth(width),
                _ => return Err(part.to_owned()),
            });
        }
        // Every `$` that opens has one that closes.
        if pieces.len() % 2 == 0 { Err("a single $".to_owned()) } else { Ok(Self(pieces)) }
    }

    /// True if chunks get different URLs.
    pub(super) fn varies(&self) -> bool {
        self.0.iter().any(|p| matches!(p, Piece::Number(_) | Piece::Time(_)))
    }

    /// The URL; `None` if it is too long.
    pub(super) fn fill(&self, values: Values<'_>) -> Option<String> {
        let mut url = String::new();
        for piece in &self.0 {
            let number = |n: u64, width: usize| format!("{n:0width$}");
            match piece {
                Piece::Text(text) => url.push_str(text),
                Piece::Id => url.push_str(values.id),
                Piece::Number(width) => url.push_str(&number(values.number, *width)),
                Piece::Time(width) => url.push_str(&number(values.time, *width)),
                Piece::Bandwidth(width) => url.push_str(&number(values.bandwidth, *width)),
            }
            if url.len() > MAX_URL_BYTES {
                return None;
            }
        }
        Some(url)
    }
}

/// The width in `0[width]d`, at most 20 digits.
fn width(format: &str) -> Option<usize> {
    let digits = format.strip_prefix('0')?.strip_suffix('d')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|w| *w <= 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALUES: Values<'_> = Values { id: "a/b", bandwidth: 800, number: 7, time: 96_256 };

    #[test]
    fn fills_every_identifier() {
        for (text, url) in [
            ("$RepresentationID$/$Number%05d$.m4s", "a/b/00007.m4s"),
            ("$Bandwidth$-$Time$", "800-96256"),
            ("$$$Number$$$", "$7$"),
            ("plain", "plain"),
            ("$Time%02d$", "96256"),
        ] {
            assert_eq!(Template::parse(text).unwrap().fill(VALUES).as_deref(), Some(url), "{text}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for text in
            ["$Number", "$SubNumber$", "$Number%5d$", "$Number%099d$", "$RepresentationID%01d$"]
        {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_dollars_can_be_escaped(text in ".*|[$%0-9Numberd]*") {
            if let Ok(template) = Template::parse(&text) {
                template.fill(VALUES);
            }
            let escaped = text.replace('$', "$$");
            let url = Template::parse(&escaped).unwrap().fill(VALUES);
            prop_assert_eq!(url, (text.len() <= MAX_URL_BYTES).then_some(text));
        }
    }
}

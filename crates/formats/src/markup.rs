//! Text out of web pages and mails: HTML's tags and entities, and quoted-printable.

use std::borrow::Cow;

/// Tags that begin or end a line.
const BREAKS: [&str; 22] = [
    "br", "p", "div", "pre", "li", "ul", "ol", "tr", "table", "hr", "blockquote", "h1", "h2", "h3",
    "h4", "h5", "h6", "title", "body", "head", "html", "section",
];
/// Tags within a line.
const INLINE: [&str; 22] = [
    "a", "b", "i", "u", "em", "strong", "span", "code", "tt", "td", "th", "tbody", "thead", "font",
    "small", "img", "samp", "kbd", "mark", "sub", "sup", "s",
];
const ENTITIES: [(&str, &str); 6] =
    [("lt", "<"), ("gt", ">"), ("amp", "&"), ("quot", "\""), ("apos", "'"), ("nbsp", " ")];
/// Longer than any entity.
const ENTITY_BYTES_MAX: usize = 10;

/// The text without HTML's tags and entities and without the transfer encoding of mails. Unknown
/// tags are text: fio prints names of machines as `<host>`.
pub fn plain(text: &str) -> Cow<'_, str> {
    let text = match quoted_printable(text) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(text),
    };
    let has_tag = || text.match_indices('<').any(|(at, _)| tag(&text[at..]).is_some());
    let has_entity = || text.match_indices('&').any(|(at, _)| entity(&text[at..]).is_some());
    if !has_tag() && !has_entity() {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find(['<', '&']) {
        plain += &rest[..at];
        rest = &rest[at..];
        if let Some((breaks, length)) = tag(rest) {
            plain.push(if breaks { '\n' } else { ' ' });
            rest = &rest[length..];
        } else if let Some((character, length)) = entity(rest) {
            plain.push(character);
            rest = &rest[length..];
        } else {
            plain += &rest[..1];
            rest = &rest[1..];
        }
    }
    (plain + rest).into()
}

/// The known tag at the start of a text: true if it breaks a line, and its length.
fn tag(text: &str) -> Option<(bool, usize)> {
    let inside = text.strip_prefix('<')?;
    let inside = &inside[..inside.find('>')?];
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next()?.to_ascii_lowercase();
    let breaks = BREAKS.contains(&name.as_str());
    (breaks || INLINE.contains(&name.as_str())).then_some((breaks, inside.len() + 2))
}

/// The character of the entity at the start of a text, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    let inside = text.strip_prefix('&')?;
    let end = inside.find(';').filter(|&end| end <= ENTITY_BYTES_MAX)?;
    let name = &inside[..end];
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1.chars().next()?,
    };
    Some((character, end + 2))
}

/// The decoded text of a mail in quoted-printable (RFC 2045), where `=` is `=3D` and a line that
/// ends with `=` goes on. `None` if it is not encoded.
fn quoted_printable(text: &str) -> Option<String> {
    if !text.contains("groupid=3D") {
        return None;
    }
    let joined = text.replace("=\r\n", "").replace("=\n", "");
    let mut bytes = Vec::with_capacity(joined.len());
    let mut rest = joined.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded =
            code.filter(|_| *first == b'=').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_entities_become_text() {
        let html = "<pre class=\"x\">Jobs: 1<BR/>cpu : usr=1&#46;5%, &gt;=64=0.0%&nbsp;</pre> \
                    <span>a</span>&#x41;";
        assert_eq!(plain(html).trim(), "Jobs: 1\ncpu : usr=1.5%, >=64=0.0% \n  a A");
    }

    #[test]
    fn what_only_looks_like_markup_is_kept() {
        for text in ["<vm> test: (groupid=0, jobs=1)", "a < b & c; >=64=0.0%", "x <", "& &; &#; <>"]
        {
            assert!(matches!(plain(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn mails_are_decoded() {
        let mail = "test: (groupid=3D0, jobs=3D1): err=3D 0: pid=\r\n=3D5\nwrite: IOPS=3D5, \
                    =C2=B5s =zz";
        assert_eq!(plain(mail), "test: (groupid=0, jobs=1): err= 0: pid=5\nwrite: IOPS=5, µs =zz");
    }
}

//! JSON as it was stored: no number, key order or repeated key is changed on
//! its way to the screen.

use super::link::with_query;
use crate::model::job::RawJson;
use crate::model::text::cut;
use leptos::prelude::*;

/// Bytes that a page shows of one text unless it is asked for all.
pub const SHOWN_BYTES: usize = 20_000;

/// What a masked part shows instead.
pub use crate::model::letter_export::MASKED;

/// A text word for word, cut before a character; `path?show=all` shows the rest.
pub fn text_block(text: &str, path: &str, show_all: bool) -> impl IntoView + use<> {
    let shown = if show_all { text } else { cut(text, SHOWN_BYTES) };
    let rest = text.len() - shown.len();
    let all = with_query(path, [("show", Some("all"))]);
    view! {
        <pre tabindex="0">{shown.to_owned()}{(rest > 0).then_some("…")}</pre>
        {(rest > 0).then(|| view! { <p><a href=all>{format!("Show the other {rest} bytes")}</a></p> })}
    }
}

/// Lines and indents between the tokens; the tokens themselves are untouched.
pub fn indented(json: &RawJson) -> String {
    let mut out = String::with_capacity(json.as_str().len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut characters = json.as_str().chars().peekable();
    while let Some(c) = characters.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                skip_space(&mut characters);
                if let Some(close) = characters.next_if(|&next| next == '}' || next == ']') {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_space(characters: &mut std::iter::Peekable<impl Iterator<Item = char>>) {
    while characters.next_if(char::is_ascii_whitespace).is_some() {}
}

/// Depth is capped: a text of a million brackets must not make a page of spaces.
fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(40)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn digits_key_order_and_repeated_keys_stay() {
        let json = RawJson::stored(
            r#"{"id":9007199254740993,"big":18446744073709551615,"d":0.1,"e":1e400,"s":"a\"{,}:\\","s":[ ],"n":{"x":[1,2]}}"#
                .to_owned(),
        );
        let expected = r#"{
  "id": 9007199254740993,
  "big": 18446744073709551615,
  "d": 0.1,
  "e": 1e400,
  "s": "a\"{,}:\\",
  "s": [],
  "n": {
    "x": [
      1,
      2
    ]
  }
}"#;
        assert_eq!(indented(&json), expected);
    }

    #[test]
    fn a_long_text_is_cut_before_a_character() {
        let text = format!("{}😀tail", "a".repeat(SHOWN_BYTES - 1));
        let html = markup(text_block(&text, "/jobs/1", false));
        assert!(html.contains("a…"), "{}", &html[html.len() - 120..]);
        assert!(html.contains("/jobs/1?show=all") && html.contains("Show the other 8 bytes"));
        assert!(markup(text_block(&text, "/jobs/1", true)).contains("😀tail"));
    }
}

//! Where a trace can be looked at: an address of somebody else's, with a place
//! for the trace's id.

use super::FieldError;
use std::str::FromStr;

/// What stands for the id in the template.
const PLACE: &str = "{trace_id}";

/// A checked template, such as `https://traces.example/t/{trace_id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceUrl(String);

impl TraceUrl {
    /// The address of one trace. `None` for an id that would lead elsewhere:
    /// an empty one, and those that mean a folder.
    pub fn of(&self, trace_id: &str) -> Option<String> {
        if matches!(trace_id, "" | "." | "..") {
            return None;
        }
        Some(self.0.replace(PLACE, &percent_encoded(trace_id)))
    }
}

impl FromStr for TraceUrl {
    type Err = FieldError;

    fn from_str(template: &str) -> Result<Self, FieldError> {
        let rule =
            |rule: &str| FieldError::new("trace-url", format!("{rule}, such as https://traces.example/t/{PLACE}"));
        let Some((before, _)) = template.split_once(PLACE) else {
            return Err(rule("must hold {trace_id} where the id belongs"));
        };
        let is_web = ["http://", "https://"].iter().any(|scheme| template.starts_with(scheme));
        let parsed = url::Url::parse(&template.replace(PLACE, "id")).ok().filter(|_| is_web);
        let Some(parsed) = parsed.filter(url::Url::has_host) else {
            return Err(rule("must be an http or https address"));
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(rule("must hold no password, which everybody would see"));
        }
        let behind_scheme = before.split_once("://").map_or("", |(_, rest)| rest);
        if behind_scheme.find(['/', '?', '#']).is_none_or(|end| end == 0) {
            return Err(rule("must have {trace_id} behind the host"));
        }
        if template.contains(char::is_whitespace) || template.contains(['"', '<', '>', '\\']) {
            return Err(rule("must be an address as a browser takes it, in percent encoding"));
        }
        Ok(Self(template.to_owned()))
    }
}

/// Everything but unreserved characters as `%XX`.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_piece_of_the_address_whatever_it_holds() {
        let url: TraceUrl = "https://traces.example/t/{trace_id}?again={trace_id}#x".parse().unwrap();
        assert_eq!(url.of("4bf9").unwrap(), "https://traces.example/t/4bf9?again=4bf9#x");
        assert_eq!(
            url.of("../a?b#c&\"<é").unwrap(),
            "https://traces.example/t/..%2Fa%3Fb%23c%26%22%3C%C3%A9?again=..%2Fa%3Fb%23c%26%22%3C%C3%A9#x"
        );
        assert_eq!([url.of(""), url.of("."), url.of("..")], [None, None, None]);
    }

    #[test]
    fn a_template_that_leads_nowhere_is_refused_with_its_rule() {
        for (template, rule) in [
            ("https://traces.example/t/", "{trace_id}"),
            ("javascript:alert('{trace_id}')", "http or https"),
            ("ftp://traces.example/{trace_id}", "http or https"),
            ("traces.example/{trace_id}", "http or https"),
            ("https:///{trace_id}", "behind the host"),
            ("https://{trace_id}.example/", "behind the host"),
            ("https://traces.example:{trace_id}/", "http or https"),
            ("https://me:secret@traces.example/{trace_id}", "password"),
            ("https://traces.example/ {trace_id}", "browser"),
        ] {
            let error = template.parse::<TraceUrl>().unwrap_err();
            assert!(error.field == "trace-url" && error.rule.contains(rule), "{template}: {error}");
        }
    }
}

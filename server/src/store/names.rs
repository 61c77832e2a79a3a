//! Names that people sign in with: whoever reads one in the audit must know who
//! is meant. Written once; each database compiles it as a module of its own.

use super::Tx;
use crate::store::fault::Tried;
use app::error::StoreError;
use app::model::FieldError;
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

/// What the audit calls those who are no person.
const RESERVED: [&str; 3] = ["command line", "system", "webhook"];
/// How it calls a program.
const RESERVED_START: &str = "token ";

/// Refuses a name that looks like another's, also in other letters' case or in
/// another script. Nobody else adds a user while this transaction lasts.
pub(super) async fn refuse_look_alike(tx: &mut Tx, name: &str) -> Tried<()> {
    if RESERVED.map(look).contains(&look(name)) || look(name).starts_with(&look(RESERVED_START)) {
        let rule = "must not be what the audit calls somebody else: “system”, “command line”, “webhook” or “token …”";
        return Err(StoreError::from(FieldError::new("username", rule)).into());
    }
    let others: Vec<String> = sqlx::query_scalar("SELECT name FROM users").fetch_all(&mut **tx).await?;
    match others.into_iter().find(|other| other != name && look(other) == look(name)) {
        None => Ok(()),
        Some(other) => {
            let rule =
                format!("looks like “{other}”, who is a user already; nobody could tell them apart in the audit");
            Err(StoreError::from(FieldError::new("username", rule)).into())
        }
    }
}

/// What is left of a name once it cannot be told apart by eye.
fn look(name: &str) -> String {
    let small: String = name.nfkc().flat_map(char::to_lowercase).collect();
    skeleton(&small).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::look;

    #[test]
    fn what_the_eye_cannot_tell_apart_is_one_name() {
        for (one, other) in
            [("ada", "Ada"), ("ada", "\u{430}d\u{430}"), ("paul", "pau1"), ("ａｄａ", "ada"), ("jose\u{301}", "josé")]
        {
            assert_eq!(look(one), look(other), "{one} {other}");
        }
        for (one, other) in [("ada", "adam"), ("mila", "milo"), ("josé", "jose")] {
            assert_ne!(look(one), look(other));
        }
    }
}

//! `drainboard policy`: the settings of a kind, with where each comes from.

use super::{Database, command_line};
use anyhow::{Context as _, bail};
use app::model::name::Name;
use app::model::policy::{Change, KindPolicy, Origin, Overrides, Policy, checked_change};
use serde_json::{Map, Value};

/// What can be done with policies.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print the settings in force and where each comes from.
    Show {
        /// Only this kind.
        #[arg(long)]
        kind: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change settings of a kind: max_attempts=5 jitter=none cutoff_seconds=null …
    ///
    /// A value is JSON, or plain text if it is no JSON; null goes back to the default.
    Set {
        /// The kind; it comes into being if it is new.
        kind: String,
        /// Setting and value.
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
}

impl Command {
    /// Runs it.
    pub async fn run(self, database: &Database) -> anyhow::Result<()> {
        match self {
            Self::Show { kind, json } => show(database, kind.as_deref(), json).await,
            Self::Set { kind, settings } => set(database, &kind, &settings).await,
        }
    }
}

async fn show(database: &Database, kind: Option<&str>, json: bool) -> anyhow::Result<()> {
    let store = database.open().await?;
    let mut policies = store.list_policies().await.context("the policies cannot be read")?;
    store.close().await;
    if let Some(kind) = kind {
        policies.retain(|policy| policy.kind == kind);
        if policies.is_empty() {
            bail!("there is no kind {kind}");
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&policies)?);
        return Ok(());
    }
    if policies.is_empty() {
        eprintln!("No kind has been enqueued or set yet. These defaults hold for every new one:");
        policies.push(Policy::shown("(any kind)", &Overrides::new()));
    }
    policies.iter().for_each(print);
    Ok(())
}

async fn set(database: &Database, kind: &str, settings: &[String]) -> anyhow::Result<()> {
    let kind = Name::new("the kind", kind)?;
    let change = parsed(settings)?;
    let store = database.open_to_fill().await?;
    let policy = store.change_policy(&kind, &change, &command_line()).await.context("nothing was changed")?;
    store.close().await;
    print(&policy);
    Ok(())
}

fn parsed(settings: &[String]) -> anyhow::Result<Change> {
    let mut body = Map::new();
    for setting in settings {
        let (key, text) = setting.split_once('=').with_context(|| format!("{setting}: write it as KEY=VALUE"))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        if body.insert(key.to_owned(), value).is_some() {
            bail!("{key} is given twice");
        }
    }
    Ok(checked_change(&body)?)
}

fn print(policy: &KindPolicy) {
    println!("{}", policy.kind);
    for (name, shown) in &policy.settings {
        let origin = match &shown.origin {
            Origin::Default => "default".to_owned(),
            Origin::SetBy { by, at } => format!("set by {by}, {}", at.format("%Y-%m-%d %H:%M UTC")),
        };
        println!("  {name} = {} ({origin})", shown.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json_or_text_and_checked() {
        let settings = |list: &[&str]| parsed(&list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>());
        let change = settings(&["max_attempts=5", "jitter=none", "cutoff_seconds=null"]).unwrap();
        assert_eq!(change["max_attempts"], Some(5.into()));
        assert_eq!(change["jitter"], Some("none".into()));
        assert_eq!(change["cutoff_seconds"], None);
        for bad in [&["max_attempts"][..], &["max_attempts=0"], &["max_atempts=3"], &["jitter=none", "jitter=full"]] {
            assert!(settings(bad).is_err(), "{bad:?}");
        }
    }
}

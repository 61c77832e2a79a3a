//! Editing a kind's settings on its page: by admins, checked as the API checks,
//! and never over somebody else's change unseen.

use crate::client::{Client, stored};
use crate::support::TestDatabase;
use crate::visitor::{Page, Visitor};
use app::model::people::Role;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    an_admin_changes_plain_settings_and_takes_one_back,
    a_typed_list_is_checked_and_comes_back,
    two_admins_do_not_overwrite_each_other_unseen,
    others_read_and_change_nothing,
    a_workflow_is_tried_on_the_last_letters,
    a_kind_may_be_called_anything,
];

/// The value of the hidden field `seen` in the form of that name.
fn seen(page: &Page, form: &str) -> String {
    let form =
        page.html.split(&format!("name=\"form\" value=\"{form}\"")).nth(1).unwrap_or_else(|| panic!("no {form}"));
    let value = form.split("name=\"seen\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    value.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn setting(client: &Client, name: &str) -> Value {
    client.get("/api/v1/policies").await.json()["policies"][0]["settings"][name].clone()
}

const PAGE: &str = "/policies/kind?kind=k";

async fn an_admin_changes_plain_settings_and_takes_one_back(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let page = admin.get(PAGE).await;
    assert_eq!(page.status, 200);
    let fields = [
        ("kind", "k"),
        ("form", "plain"),
        ("seen", &seen(&page, "plain")),
        ("max_attempts", "7"),
        ("jitter", "none"),
        ("multiplier", "2.0"),
        ("cutoff_seconds", ""),
    ];
    let changed = admin.send(Method::POST, "/policies/kind", form(&fields)).await;
    assert_eq!(
        (changed.status, changed.location()),
        (303, "/policies/kind?kind=k&notice=policy-changed"),
        "{}",
        changed.text()
    );
    assert_eq!(
        (setting(&client, "max_attempts").await["value"].clone(), setting(&client, "jitter").await["value"].clone()),
        (json!(7), json!("none"))
    );
    assert_eq!(setting(&client, "multiplier").await["origin"], "default", "what was not changed is not set");
    let audited = db.audit().await.remove(0);
    assert_eq!((audited.action.as_str(), audited.actor.as_str()), ("policy_change", "the admin"));

    let page = admin.get(PAGE).await;
    assert!(page.text().contains("max_attempts set by the admin"), "{}", page.text());
    let reset =
        [("kind", "k"), ("form", "reset"), ("reset", "max_attempts"), ("seen", &all_seen(&page, "max_attempts"))];
    assert_eq!(admin.send(Method::POST, "/policies/kind", form(&reset)).await.status, 303);
    assert_eq!(setting(&client, "max_attempts").await["origin"], "default");
    assert_eq!(setting(&client, "jitter").await["value"], "none", "the others stay");
}

/// The `seen` of the form that takes one setting back.
fn all_seen(page: &Page, setting: &str) -> String {
    let before = page.html.split(&format!("name=\"reset\" value=\"{setting}\"")).next().unwrap();
    let value = before.rsplit("name=\"seen\" value=\"").next().and_then(|rest| rest.split('"').next()).unwrap();
    value.replace("&quot;", "\"")
}

async fn a_typed_list_is_checked_and_comes_back(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let seen_first = seen(&admin.get(PAGE).await, "workflow");
    let before = (stored(&db).await, db.audit().await.len());
    for (setting, text, sentence) in [
        ("workflow", "[\n{\"options\": [}</textarea><script>alert(1)</script>", "at line 2"),
        ("workflow", "[{\"options\": [{\"action\": \"explode\"}]}]", "workflow[0]"),
        ("workflow", "[]", "1 to 100 rules"),
        ("notice_templates", "{}", "notice_templates"),
        ("recipient_fields", "[1]", "recipient_fields"),
        ("reason_codes", "[\"A\",\"A\"]", "different reason codes"),
        ("reason_codes", "null", "must be a list"),
        ("masked_fields", "[]", "one of the forms"),
    ] {
        let fields = [("kind", "k"), ("form", setting), ("seen", &seen_first), ("text", text)];
        let page = admin.send(Method::POST, "/policies/kind", form(&fields)).await;
        assert_eq!(page.status, 422, "{setting} {text}: {}", page.text());
        assert!(
            page.text().contains("Nothing was done") && page.text().contains(sentence),
            "{setting}: {}",
            page.text()
        );
        assert!(!page.html.contains("<script>alert"), "{}", page.html);
        if text.contains("script") {
            assert!(page.html.contains("&lt;/textarea&gt;&lt;script&gt;"), "what was typed: {}", page.html);
        }
    }
    for (name, value) in [("max_attempts", "0"), ("multiplier", "x"), ("jitter", "wild")] {
        let fields = [("kind", "k"), ("form", "plain"), ("seen", &seen_first), (name, value)];
        let page = admin.send(Method::POST, "/policies/kind", form(&fields)).await;
        assert_eq!(page.status, 422);
        assert!(page.text().contains(name), "{}", page.text());
    }
    assert_eq!((stored(&db).await, db.audit().await.len()), before);
    let fields = [
        ("kind", "k"),
        ("form", "reason_codes"),
        ("seen", &seen(&admin.get(PAGE).await, "reason_codes")),
        ("text", "[\"A\", \"B\"]\r\n"),
    ];
    assert_eq!(admin.send(Method::POST, "/policies/kind", form(&fields)).await.status, 303);
    assert_eq!(setting(&client, "reason_codes").await["value"], json!(["A", "B"]));
}

async fn two_admins_do_not_overwrite_each_other_unseen(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let first = admin.get(PAGE).await;
    client.put("/api/v1/policies/k", json!({"reason_codes": ["THEIRS"]})).await;
    let mine = |seen: &str| form(&[("kind", "k"), ("form", "reason_codes"), ("seen", seen), ("text", "[\"MINE\"]")]);
    let late = admin.send(Method::POST, "/policies/kind", mine(&seen(&first, "reason_codes"))).await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("reason_codes was changed by token all at"), "{}", late.text());
    assert!(late.text().contains("THEIRS") && late.text().contains("MINE"), "both are shown: {}", late.text());
    assert_eq!(setting(&client, "reason_codes").await["value"], json!(["THEIRS"]));
    let knowing = admin.send(Method::POST, "/policies/kind", mine(&seen(&late, "reason_codes"))).await;
    assert_eq!(knowing.status, 303, "a second press has seen it: {}", knowing.text());
    let other = form(&[("kind", "k"), ("form", "plain"), ("seen", &seen(&first, "plain")), ("max_attempts", "9")]);
    assert_eq!(admin.send(Method::POST, "/policies/kind", other).await.status, 303, "another setting is no conflict");
    let nothing = form(&[("kind", "k"), ("form", "plain"), ("seen", "{}"), ("max_attempts", "8")]);
    assert_eq!(
        admin.send(Method::POST, "/policies/kind", nothing).await.status,
        409,
        "who saw nothing changes nothing"
    );
    let no_page = form(&[("kind", "k"), ("form", "plain"), ("max_attempts", "8")]);
    assert_eq!(admin.send(Method::POST, "/policies/kind", no_page).await.status, 422);
}

async fn others_read_and_change_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    for role in [Role::OnCall, Role::Reviewer] {
        let visitor = Visitor::signed_in(&db, role).await;
        let page = visitor.get(PAGE).await;
        assert!(page.status == 200 && page.text().contains("max_attempts"), "{}", page.text());
        assert!(!page.html.contains("action=\"/policies/kind\""), "{}", page.html);
        let fields = form(&[("kind", "k"), ("form", "plain"), ("seen", "{}"), ("max_attempts", "9")]);
        assert_eq!(visitor.send(Method::POST, "/policies/kind", fields).await.status, 403);
    }
    assert_eq!(setting(&client, "max_attempts").await["value"], 3);
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    assert_eq!(admin.get("/policies/kind").await.status, 422);
    assert_eq!(admin.get("/policies/kind?kind=none").await.status, 404);
}

async fn a_workflow_is_tried_on_the_last_letters(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.refused("k").await;
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let page = admin.get(PAGE).await;
    assert!(page.text().contains("The last letters of this kind would offer:"), "{}", page.text());
    let workflow = "[{\"options\": [{\"action\": \"reject_and_close\", \"role\": \"admin\"}]}]";
    let fields = form(&[
        ("kind", "k"),
        ("form", "workflow"),
        ("seen", &seen(&page, "workflow")),
        ("text", workflow),
        ("preview", "yes"),
    ]);
    let tried = admin.send(Method::POST, "/policies/kind", fields).await;
    assert_eq!(tried.status, 200);
    assert!(
        tried.text().contains(": Reject & close (admin)") || tried.text().contains("Reject &amp; close (admin)"),
        "{}",
        tried.text()
    );
    assert_eq!(setting(&client, "workflow").await["origin"], "default", "nothing was changed");
}

async fn a_kind_may_be_called_anything(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for kind in ["..", "a/b?c=1&d#e", "<script>alert(1)</script>", "k\u{202e}"] {
        client.enqueue(kind).await;
        let admin = Visitor::signed_in(&db, Role::Admin).await;
        let query = form(&[("kind", kind)]);
        let page = admin.get(&format!("/policies/kind?{query}")).await;
        assert_eq!(page.status, 200, "{kind}");
        assert!(!page.html.contains("<script>alert"), "{}", page.html);
        assert!(
            admin.get("/policies").await.html.contains(&format!("/policies/kind?{}", query.replace('&', "&amp;"))),
            "{kind}"
        );
        let fields = form(&[("kind", kind), ("form", "plain"), ("seen", &seen(&page, "plain")), ("max_attempts", "9")]);
        assert_eq!(admin.send(Method::POST, "/policies/kind", fields).await.status, 303, "{kind}");
    }
}

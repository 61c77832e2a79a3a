//! Exports as people get them: signed in, masked by role, links that carry the filter.

use crate::support::Database;
use serde_json::Value;

#[tokio::test]
async fn an_export_shows_a_person_what_the_pages_show() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    for (who, evidence) in [("rob", "NOT FOUND"), ("ona", "Hidden: payloads are shown to reviewers and admins.")] {
        let answer = server.browser_of(who).await.get("/export/dead-letters.json?status=unresolved").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let letters: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!((&letters[0]["id"], &letters[0]["evidence"]), (&Value::from(letter.as_str()), &evidence.into()));
        let shown = if who == "rob" { serde_json::json!({}) } else { evidence.into() };
        assert_eq!(letters[0]["payload"], shown, "{who}");
        let csv = server.browser_of(who).await.get("/export/dead-letters.csv?kind=k").await;
        assert_eq!((csv.status, csv.text.contains("NOT FOUND")), (200, who == "rob"), "{}", csv.text);
    }
}

#[tokio::test]
async fn an_export_needs_a_session_and_a_filter_that_can_be_read() {
    let database = Database::new();
    let server = database.serve_with_people();
    for path in ["/export/dead-letters.csv", "/export/dead-letters.json"] {
        let answer = server.browser().get(path).await;
        assert_eq!(answer.status, 401, "{path}: {}", answer.text);
        let answer = server.browser_of("ona").await.get(&format!("{path}?age=old")).await;
        assert_eq!(answer.status, 422, "{path}");
        assert!(answer.text.contains("age must be one of under_1h, 1h_24h, 24h_7d, over_7d"), "{}", answer.text);
    }
}

#[tokio::test]
async fn the_page_leads_to_groups_lists_and_exports_of_the_same_letters() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    server.park(&token, "a/b?c=1&d").await;
    let rob = server.browser_of("rob").await;
    for (page, holds) in [
        ("/dead-letters", "MISSING_REQUIRED_FIELD · currency"),
        ("/groups", "MISSING_REQUIRED_FIELD · currency"),
        ("/dead-letters?kind=a/b%3Fc%3D1%26d&view=list", "status=unresolved&amp;kind=a%2Fb%3Fc%3D1%26d\">CSV"),
        ("/dead-letters?reason=MISSING_REQUIRED_FIELD&status=all&view=list", "Select letter"),
        ("/dead-letters?q=not%20found&view=list", "Select letter"),
        ("/dead-letters?q=not%25found", "No letter matches these filters."),
        ("/dead-letters?status=resolved", "No letter has this status."),
    ] {
        let answer = rob.get(page).await;
        assert_eq!(answer.status, 200, "{page}");
        assert!(answer.text.contains(holds), "{page}: {}", answer.text);
    }
    for page in ["/dead-letters?status=new", "/dead-letters?after=x", "/dead-letters?before=x", "/groups?age=old"] {
        assert_eq!(rob.get(page).await.status, 422, "{page}");
    }
    // By what it finds, a search would tell an on-call person what is hidden.
    let hidden = server.browser_of("ona").await.get("/dead-letters?q=not%20found&view=list").await;
    assert!(hidden.text.contains("No letter matches these filters."), "{}", hidden.text);
}

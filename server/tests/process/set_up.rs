//! From nothing to the first page: the link that makes the first admin.

use crate::support::server::PASSWORD;
use crate::support::{Database, Server};

fn link_token(server: &mut Server) -> String {
    let line = server.wait_for_log("/setup?token=");
    line.split("/setup?token=").nth(1).unwrap().trim().to_owned()
}

#[tokio::test]
async fn the_link_on_standard_error_makes_the_first_admin_once() {
    let database = Database::new();
    let mut server = database.serve(&[]);
    let token = link_token(&mut server);
    let mut browser = server.browser();

    let form = browser.get(&format!("/setup?token={token}")).await;
    assert_eq!(form.status, 200);
    assert!(form.text.contains("action=\"/setup\""), "{}", form.text);

    let too_short = browser.post("/setup", &[("token", &token), ("username", "mila"), ("password", "1234567")]).await;
    assert_eq!(too_short.status, 422, "{}", too_short.text);
    assert!(too_short.text.contains("at least 8 characters"), "names the rule: {}", too_short.text);
    assert!(too_short.text.contains(&token), "can be tried again at once: {}", too_short.text);

    let made = browser.post("/setup", &[("token", &token), ("username", "mila"), ("password", PASSWORD)]).await;
    assert_eq!((made.status, made.location()), (303, "/"));
    browser.keep_cookie(&made);
    let page = browser.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("mila") && page.text.contains("admin"), "signed in at once: {}", page.text);

    let again =
        server.browser().post("/setup", &[("token", &token), ("username", "eve"), ("password", PASSWORD)]).await;
    assert_eq!(again.status, 409, "{}", again.text);
    assert_eq!(server.browser().sign_in("eve", PASSWORD).await.status, 401);
    let used = server.browser().get(&format!("/setup?token={token}")).await;
    assert_eq!(used.status, 410);
    assert!(used.text.contains("was used or has expired") && !used.text.contains("<form"), "{}", used.text);
}

#[tokio::test]
async fn a_name_that_cannot_be_told_from_others_is_refused_with_its_rule() {
    let database = Database::new();
    let mut server = database.serve(&[]);
    let token = link_token(&mut server);
    for name in ["mi\u{202e}la", "mila\u{200b}", "mi\nla", "mila  m"] {
        let form = [("token", token.as_str()), ("username", name), ("password", PASSWORD)];
        let answer = server.browser().post("/setup", &form).await;
        assert_eq!(answer.status, 422, "{name:?}");
        assert!(answer.text.contains("a user name is 1 to 200 characters that can be seen"), "{}", answer.text);
        let added = database.run_with_input(&["user", "add", name, "--role", "admin", "--password-stdin"], PASSWORD);
        assert!(!added.status.success(), "{name:?}");
        let said = String::from_utf8_lossy(&added.stderr).into_owned();
        assert!(said.contains("must not hold control characters, invisible characters"), "{said}");
    }
}

#[tokio::test]
async fn a_guessed_link_makes_nobody() {
    let database = Database::new();
    let mut server = database.serve(&[]);
    link_token(&mut server);
    let form = [("token", "guessed"), ("username", "eve"), ("password", PASSWORD)];
    assert_eq!(server.browser().get("/setup?token=guessed").await.status, 410);
    assert_eq!(server.browser().post("/setup", &form).await.status, 409);
    assert_eq!(server.browser().sign_in("eve", PASSWORD).await.status, 401);
}

#[tokio::test]
async fn with_users_there_is_no_link() {
    let database = Database::new();
    database.add_user("mila", "admin");
    let server = database.serve(&[]);
    // The page is answered after all that start-up prints.
    assert_eq!(server.browser().get("/login").await.status, 200);
    assert!(!server.log().contains("/setup"), "{}", server.log());
}

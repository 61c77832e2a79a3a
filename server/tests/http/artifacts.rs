//! The registry of prompts and tool definitions: a text is what its hash says,
//! or it is not taken.

use crate::client::{ALL_SCOPES, Client, secret_of, sha256_hex, stored};
use crate::support::TestDatabase;
use app::model::people::Scope;
use axum::http::Method;
use std::sync::Arc;

each_database![
    a_text_comes_back_as_it_was_put,
    what_is_not_its_hash_is_not_taken,
    a_text_has_an_end,
    workers_put_and_readers_read,
];

fn path(text: &str) -> String {
    format!("/api/v1/artifacts/{}", sha256_hex(text))
}

async fn a_text_comes_back_as_it_was_put(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for text in ["", "Extract.\r\nQuote é😀 \u{202e}</script>", "[1", " \n", &"x".repeat(1 << 20)] {
        for _ in 0..2 {
            let put = client.call(Method::PUT, path(text)).token(ALL_SCOPES).bytes(text.to_owned()).send().await;
            assert_eq!(put.status, 200, "{put:?}");
            assert_eq!(put.json()["sha256"], sha256_hex(text).as_str(), "{}", text.len());
            assert_eq!(put.json()["bytes"], text.len());
        }
        let got = client.get(path(text).to_uppercase().replace("/API/V1/ARTIFACTS", "/api/v1/artifacts")).await;
        assert_eq!((got.status, got.text()), (200, text), "the digits of a hash have no case");
        assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    client.get(path("nobody put this")).await.is(404, "not_found");
}

async fn what_is_not_its_hash_is_not_taken(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let before = stored(&db).await;
    let put =
        async |path: String, body: Vec<u8>| client.call(Method::PUT, path).token(ALL_SCOPES).bytes(body).send().await;
    put(path("a"), b"b".to_vec()).await.is_invalid("sha256");
    put(path("a"), b"a\n".to_vec()).await.is_invalid("sha256");
    for bad in ["x", "%00", &"g".repeat(64), &"a".repeat(63), &"a".repeat(65)] {
        put(format!("/api/v1/artifacts/{bad}"), b"a".to_vec()).await.is_invalid("sha256");
        client.get(format!("/api/v1/artifacts/{bad}")).await.is_invalid("sha256");
    }
    put(path("a"), b"\xff".to_vec()).await.is_invalid("body");
    put(path("a\0"), b"a\0".to_vec()).await.is_invalid("body");
    assert_eq!(stored(&db).await, before);
}

async fn a_text_has_an_end(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let text = "x".repeat((1 << 20) + 1);
    client.call(Method::PUT, path(&text)).token(ALL_SCOPES).bytes(text).send().await.is(413, "too_large");
}

async fn workers_put_and_readers_read(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for scope in Scope::ALL {
        let call = |method| client.call(method, path("a")).token(&secret_of(scope));
        let (put, may_put) = (call(Method::PUT).bytes("a").send().await, [Scope::Work, Scope::Admin].contains(&scope));
        assert_eq!(put.status, if may_put { 200 } else { 403 }, "{scope:?} {put:?}");
        if !may_put {
            assert_eq!(put.message(), "This token lacks the scope `work` or `admin`.");
        }
    }
    for scope in Scope::ALL {
        let got = client.call(Method::GET, path("a")).token(&secret_of(scope)).send().await;
        let may_get = [Scope::Read, Scope::Review].contains(&scope);
        assert_eq!(got.status, if may_get { 200 } else { 403 }, "{scope:?} {got:?}");
    }
    client.call(Method::GET, path("a")).send().await.is(401, "unauthenticated");
    client.call(Method::PUT, path("a")).bytes("a").send().await.is(401, "unauthenticated");
}

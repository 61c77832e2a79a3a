//! The stand-in over HTTP, as workers see it.

use super::*;
use crate::demo::burst::PHOTOS;
use reqwest::Client;
use serde_json::json;

struct Running {
    url: String,
    http: Client,
}

impl Running {
    async fn start(seed: u64, speed: f64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = router(Chance::new(seed), Pace::new(speed).unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, http: Client::builder().no_proxy().build().unwrap() }
    }

    async fn ask(&self, kind: &str, payload: Value) -> (u16, Option<u64>, Value) {
        let request = self.http.post(format!("{}/v1/{kind}", self.url)).json(&payload);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after").map(|v| v.to_str().unwrap().parse().unwrap());
        (status, retry_after, response.json().await.unwrap())
    }
}

#[tokio::test]
async fn a_flood_is_limited_and_told_when_to_come_back() {
    let model = Running::start(1, 1.0).await;
    let flood = (1..=40).map(|check| model.ask("read-check", json!({"check": check})));
    let answers = futures::future::join_all(flood).await;
    let limited: Vec<_> = answers.iter().filter(|(status, ..)| *status == 429).collect();
    // 8 at once and 0.4 a second, whatever else goes wrong.
    assert!((31..=32).contains(&limited.len()), "{} of 40 were limited", limited.len());
    for (_, retry_after, body) in limited {
        assert!((1..=3).contains(&retry_after.unwrap()), "{retry_after:?}");
        assert_eq!(body["error"]["code"], "rate_limit_exceeded");
    }
}

#[tokio::test]
async fn kinds_of_one_model_share_its_quota_and_others_have_their_own() {
    let model = Running::start(1, 1.0).await;
    let kinds = ["moderate-image", "moderate-content", "extract-places"];
    let flood = (0..30).map(|n| model.ask(kinds[n % 3], json!({"report": n + 1, "photo": n + 1})));
    let answers = futures::future::join_all(flood).await;
    let limited = answers.iter().filter(|(status, ..)| *status == 429).count();
    assert!((18..=20).contains(&limited), "{limited} of 30 were limited");
    let (status, ..) = model.ask("read-check", json!({"check": 1})).await;
    assert_ne!(status, 429);
}

#[tokio::test]
async fn it_says_the_same_about_a_photo_whenever_it_is_asked() {
    let (first, second) = (Running::start(5, 200.0).await, Running::start(5, 200.0).await);
    let judge = Judge::new(Chance::new(5));
    for photo in (1..=PHOTOS).step_by(31) {
        let said = [patiently(&second, photo).await, patiently(&first, photo).await];
        assert_eq!(said[0], said[1]);
        assert_eq!(said[0]["verdict"], judge.of_photo(photo).verdict);
    }
}

/// Asks until there is an answer: being busy ends after two tries.
async fn patiently(model: &Running, photo: u64) -> Value {
    for _ in 0..20 {
        match model.ask("moderate-image", json!({"photo": photo})).await {
            (200, _, body) => return body,
            (429, Some(seconds), _) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            (status, ..) => assert_eq!(status, 503),
        }
    }
    panic!("no answer about photo {photo}");
}

#[test]
fn it_is_busy_now_and_then_but_never_for_good() {
    let model = Model::new(Chance::new(1), Pace::new(1.0).unwrap());
    let busy = |times_asked| (1..=PHOTOS).filter(|&n| model.is_busy("moderate-image", n, times_asked)).count();
    assert!((5..50).contains(&busy(0)), "{}", busy(0));
    assert_eq!(busy(2), 0);
}

#[tokio::test]
async fn what_names_nothing_is_refused() {
    let model = Running::start(1, 200.0).await;
    assert_eq!(model.ask("moderate-image", json!({"picture": 1})).await.0, 400);
    assert_eq!(model.ask("translate", json!({"report": 1})).await.0, 404);
}

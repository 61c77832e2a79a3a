//! A browser reduced to HTTP: one cookie, no redirects followed.

use super::Events;
use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Client, Method, RequestBuilder, redirect};
use std::time::Duration;

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub text: String,
}

impl Answer {
    /// A header's text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Where it leads.
    pub fn location(&self) -> &str {
        self.header(LOCATION.as_str())
    }
}

/// One browser, signed in or not.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    url: String,
    /// `name=value` of the session cookie.
    pub cookie: Option<String>,
}

impl Browser {
    /// A browser without a cookie.
    pub fn new(url: &str) -> Self {
        let client = Client::builder().redirect(redirect::Policy::none()).timeout(Duration::from_secs(20)).build();
        Self { client: client.unwrap(), url: url.to_owned(), cookie: None }
    }

    /// A request that carries the cookie.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    /// Gets a page.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// Posts a form as a page of this site does.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        let request = self.form(path, form).header("origin", &self.url).header("sec-fetch-site", "same-origin");
        self.send(request).await
    }

    /// A form post without the headers that tell where it comes from.
    pub fn form(&self, path: &str, form: &[(&str, &str)]) -> RequestBuilder {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.request(Method::POST, path);
        request.header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Sends a request.
    pub async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    /// Signs in and keeps the cookie, if there is one.
    pub async fn sign_in(&mut self, name: &str, password: &str) -> Answer {
        let answer = self.post("/login", &[("username", name), ("password", password)]).await;
        self.keep_cookie(&answer);
        answer
    }

    /// Keeps the cookie of an answer.
    pub fn keep_cookie(&mut self, answer: &Answer) {
        if let Some(cookie) = answer.headers.get(SET_COOKIE) {
            self.cookie = cookie.to_str().unwrap().split(';').next().map(str::to_owned);
        }
    }

    /// Opens the live stream, taking compressed answers as browsers do.
    pub async fn events(&self) -> Events {
        // No time limit: a stream does not end by itself.
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        let mut request = client.get(format!("{}/live", self.url)).header("accept-encoding", "gzip, deflate, br");
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        Events::new(request.send().await.unwrap())
    }
}

//! The site files (stylesheet, scripts, wasm), carried inside the binary and
//! served pre-compressed. Knows nothing of pages, and nothing here is secret:
//! the sign-in page needs these files, too.
//!
//! # What a page's shell must emit
//!
//! In `<head>`, and no other script or style of its own:
//!
//! ```html
//! <link rel="stylesheet" href="{asset("main.css")}">
//! <link rel="icon" href="/favicon.svg" type="image/svg+xml">
//! <script type="module" src="{asset("main.js")}"></script>
//! ```
//!
//! - Not `HydrationScripts`: `main.js` wakes the islands, and only a page that
//!   has one loads the wasm module, when the browser is idle. Because that
//!   component is left out, the shell itself calls
//!   `Owner::current_shared_context()…set_is_hydrating(false)` before it renders
//!   the page; else Leptos takes the whole page for one to be hydrated and sends
//!   the data of every resource along.
//! - A chart is `<drainboard-chart role="img" aria-label="…">` around one
//!   `<script type="application/json">` with ECharts options, every `<` in them
//!   written `\u003c`. It has the size that the stylesheet gives it. Colours are
//!   `"var(--role)"`; `--chart-ink`, `--chart-muted`, `--chart-line` and
//!   `--chart-ground` colour the rest. A custom series with
//!   `"renderItem": "interval"` draws whiskers from `[x, low, high]`.
//! - Security policy, by header: `default-src 'self'; script-src 'self'
//!   'nonce-…' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:`. The
//!   nonce is for the few lines with which Leptos ends every page, and must be the
//!   one that it finds in its context (`Nonce`).

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// One file of the site in its three encodings.
struct SiteFile {
    /// What the sources call it: `main.css`.
    logical: &'static str,
    /// What a browser calls it; changes with the content: `main-XQJZ4Y2A.css`.
    name: &'static str,
    /// Where it is served.
    url: &'static str,
    identity: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

/// Written by `build.rs` from `target/site`; empty when nobody ran `make site`.
static FILES: &[SiteFile] = include!(concat!(env!("OUT_DIR"), "/site_files.rs"));

static FAVICON: &[u8] = include_bytes!("../../frontend/static/favicon.svg");
static ROBOTS: &[u8] = include_bytes!("../../frontend/static/robots.txt");

/// A name that changes with the content never goes stale.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const FOR_A_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// Whether this binary was built without its site files: pages then come
/// unstyled and nothing on them moves. To be said aloud at start.
pub fn is_missing() -> bool {
    FILES.is_empty()
}

/// The URL of a site file by its plain name (`main.css`, `main.js`). A file that
/// this binary does not carry gets a URL that answers 404.
pub fn asset(logical: &str) -> &'static str {
    FILES.iter().find(|file| file.logical == logical).map_or("/site/missing", |file| file.url)
}

/// Where they are, open to all.
pub const PATHS: [&str; 3] = ["/site/{file}", "/favicon.svg", "/robots.txt"];

/// The files; GET and HEAD.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let [files, favicon, robots] = PATHS;
    Router::new()
        .route(files, get(|Path(name): Path<String>, headers: HeaderMap| async move { serve(FILES, &name, &headers) }))
        .route(favicon, get(|| async { plain("favicon.svg", FAVICON) }))
        .route(robots, get(|| async { plain("robots.txt", ROBOTS) }))
}

/// Answers with the smallest encoding of a file that the client takes.
fn serve(files: &[SiteFile], name: &str, request: &HeaderMap) -> Response {
    let Some(file) = files.iter().find(|file| file.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (body, encoding) = if accepts(request, "br") {
        (file.brotli, Some("br"))
    } else if accepts(request, "gzip") {
        (file.gzip, Some("gzip"))
    } else {
        (file.identity, None)
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(name));
    headers.insert(header::CACHE_CONTROL, FOR_EVER);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

fn plain(name: &str, body: &'static [u8]) -> Response {
    ([(header::CONTENT_TYPE, content_type(name)), (header::CACHE_CONTROL, FOR_A_DAY)], body).into_response()
}

/// Whether the client takes this encoding: named, or covered by `*`, and not at
/// weight zero (RFC 9110, 12.5.3).
fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    let weight_of = |wanted: &str| {
        request
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .find_map(|item| {
                let (coding, parameter) = item.split_once(';').unwrap_or((item, "q=1"));
                let weight = parameter.trim().strip_prefix("q=").unwrap_or("0");
                coding.trim().eq_ignore_ascii_case(wanted).then(|| weight.trim().parse::<f32>().unwrap_or(0.0))
            })
    };
    weight_of(encoding).or_else(|| weight_of("*")).unwrap_or(0.0) > 0.0
}

fn content_type(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use rstest::rstest;
    use tower::ServiceExt as _;

    static SAMPLE: &[SiteFile] = &[SiteFile {
        logical: "main.css",
        name: "main-ABCD1234.css",
        url: "/site/main-ABCD1234.css",
        identity: b"identity",
        brotli: b"brotli",
        gzip: b"gzip",
    }];

    fn accepting(encodings: &[&str]) -> HeaderMap {
        encodings.iter().map(|value| (header::ACCEPT_ENCODING, value.parse().expect("a header value"))).collect()
    }

    async fn body_of(response: Response) -> String {
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body in memory");
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    async fn ask(method: &str, path: &str) -> Response {
        let request = Request::builder().method(method).uri(path).body(Body::empty());
        router::<()>().oneshot(request.expect("a request")).await.expect("an answer")
    }

    #[rstest]
    #[case::browser(&["gzip, deflate, br, zstd"], "brotli")]
    #[case::without_brotli(&["gzip, deflate"], "gzip")]
    #[case::says_nothing(&[], "identity")]
    #[case::empty(&[""], "identity")]
    #[case::identity(&["identity"], "identity")]
    #[case::anything(&["*"], "brotli")]
    #[case::anything_but_brotli(&["br;q=0, *"], "gzip")]
    #[case::refused(&["br;q=0.0, gzip; q=0"], "identity")]
    #[case::weighed(&["gzip;q=0.5"], "gzip")]
    #[case::nonsense_weight(&["br;q=much, gzip;q=1"], "gzip")]
    #[case::in_two_lines(&["deflate", "BR"], "brotli")]
    #[tokio::test]
    async fn the_smallest_encoding_that_the_client_takes(#[case] encodings: &[&str], #[case] expected: &str) {
        let response = serve(SAMPLE, "main-ABCD1234.css", &accepting(encodings));
        assert_eq!(response.status(), StatusCode::OK);
        let named = response.headers().get(header::CONTENT_ENCODING).cloned();
        let expected_name = match expected {
            "brotli" => Some("br"),
            "gzip" => Some("gzip"),
            _ => None,
        };
        assert_eq!(named.as_ref().map(|value| value.to_str().expect("text")), expected_name);
        assert_eq!(response.headers()[header::VARY], "accept-encoding");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert_eq!(body_of(response).await, expected);
    }

    #[rstest]
    #[case("main.css")]
    #[case("missing")]
    #[case("main-ABCD1234.css.br")]
    #[case("../Cargo.toml")]
    fn nothing_is_served_but_the_files_by_their_hashed_names(#[case] name: &str) {
        assert_eq!(serve(SAMPLE, name, &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }

    #[rstest]
    #[case("a-1.js", "text/javascript; charset=utf-8")]
    #[case("a-1.wasm", "application/wasm")]
    #[case("chart-1.js.LEGAL.txt", "text/plain; charset=utf-8")]
    #[case("a-1", "application/octet-stream")]
    fn content_types(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(content_type(name), expected);
    }

    #[tokio::test]
    async fn fixed_names_answer_with_their_types() {
        for (path, kind, start) in
            [("/favicon.svg", "image/svg+xml", "<svg"), ("/robots.txt", "text/plain; charset=utf-8", "User-agent")]
        {
            let response = ask("GET", path).await;
            assert_eq!(response.headers()[header::CONTENT_TYPE], kind, "{path}");
            assert!(body_of(response).await.starts_with(start), "{path}");
        }
    }

    #[tokio::test]
    async fn head_tells_the_length_without_the_body_and_nothing_can_be_posted() {
        let response = ask("HEAD", "/robots.txt").await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_LENGTH], ROBOTS.len().to_string().as_str());
        assert_eq!(body_of(response).await, "");
        assert_eq!(ask("POST", "/robots.txt").await.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(ask("GET", "/site/main.css").await.status(), StatusCode::NOT_FOUND);
    }

    /// Holds for a binary with its files, and for one without: what it names, it serves.
    #[tokio::test]
    async fn every_file_carried_is_served_under_its_url() {
        assert_eq!(asset("no such file"), "/site/missing");
        assert_eq!(ask("GET", "/site/missing").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(is_missing(), asset("main.js") == "/site/missing");
        for file in FILES {
            assert_eq!(asset(file.logical), file.url);
            let response = ask("GET", file.url).await;
            assert_eq!(response.status(), StatusCode::OK, "{}", file.url);
            assert!(file.brotli.len() <= file.identity.len() + 16, "{}", file.url);
        }
    }
}

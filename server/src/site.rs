//! To be filled.
pub fn router<S: Clone + Send + Sync + 'static>() -> axum::Router<S> {
    axum::Router::new()
}
pub fn asset(name: &str) -> String {
    format!("/pkg/{name}")
}

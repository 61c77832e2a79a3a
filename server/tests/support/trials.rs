//! One test body, one test per database: `topic::name::sqlite` and `topic::name::postgres`.

use super::database::{Backend, TestDatabase, run};
use libtest_mimic::Trial;
use std::sync::Arc;

/// Lists the tests of a topic: `each_database![first, second];` makes a
/// function `trials` of `async fn first(db: Arc<TestDatabase>)` and so on.
/// A body that is forgotten here is dead code, which the compiler names.
macro_rules! each_database {
    ($($test:ident),+ $(,)?) => {
        /// The tests of this topic, once per database.
        pub fn trials() -> Vec<libtest_mimic::Trial> {
            let mut trials = Vec::new();
            $(trials.extend($crate::support::trials::per_database(module_path!(), stringify!($test), $test));)+
            trials
        }
    };
}

/// The test of that name, once per database.
pub fn per_database<F>(module: &str, name: &str, test: fn(Arc<TestDatabase>) -> F) -> Vec<Trial>
where
    F: Future<Output = ()> + 'static,
{
    let topic = module.rsplit("::").next().unwrap_or(module);
    let trial = |backend: Backend| {
        let name = format!("{topic}::{name}::{}", backend.as_str());
        Trial::test(name, move || {
            run(backend, test);
            Ok(())
        })
        .with_ignored_flag(backend.is_absent())
    };
    Backend::ALL.map(trial).into()
}

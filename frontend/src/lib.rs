//! The wasm entry: wakes the islands of a page, nothing else.

//! Turns the compiled wasm module into one a browser can import.
//!
//! `drainboard-bindgen MODULE.wasm OUT_DIR`. A program of ours over the
//! library, because the packaged command line drags many more crates in.

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let module = arguments.next().context("usage: drainboard-bindgen MODULE.wasm OUT_DIR")?;
    let out_dir = arguments.next().context("usage: drainboard-bindgen MODULE.wasm OUT_DIR")?;
    wasm_bindgen_cli_support::Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .out_name("drainboard")
        .generate(out_dir)
}

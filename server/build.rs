//! Lists the site files of `target/site` for `src/site.rs` to carry inside the
//! binary. It builds none of them: that is `make site`. Without them the server
//! compiles all the same, so work on the server needs no Node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let site = manifest_dir.join("../target/site");
    // A folder that is not there would make every build a new one.
    fs::create_dir_all(&site)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", site.display());

    let mut source = String::from("&[\n");
    for (logical, name) in manifest(&site)? {
        let path = site.join(&name);
        let literal = |ending: &str| format!("include_bytes!({:?})", format!("{}{ending}", path.display()));
        writeln!(
            source,
            "    SiteFile {{ logical: {logical:?}, name: {name:?}, url: \"/site/{name}\", \
             identity: {}, brotli: {}, gzip: {} }},",
            literal(""),
            literal(".br"),
            literal(".gz"),
        )
        .expect("writing to a string");
    }
    source.push(']');
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out_dir.join("site_files.rs"), source)
}

/// Plain name and hashed name of each site file. The manifest is one object of
/// plain file names, a pair a line, so its quotes are all there is to parse.
fn manifest(site: &Path) -> io::Result<Vec<(String, String)>> {
    let text = match fs::read_to_string(site.join("manifest.json")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    Ok(text
        .lines()
        .filter_map(|line| {
            let mut quoted = line.split('"').skip(1).step_by(2);
            Some((quoted.next()?.to_owned(), quoted.next()?.to_owned()))
        })
        .collect())
}

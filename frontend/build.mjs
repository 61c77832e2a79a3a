#!/usr/bin/env node
// Turns the sources into site files under target/site/, ready to be carried
// inside the server: wasm module, script, charts and stylesheet, each named by
// its content and lying beside its brotli and gzip forms, and a manifest.json
// from plain names to those names.
//
//   node frontend/build.mjs          what is served
//   node frontend/build.mjs --dev    quick to build, large to load
//
// Nothing is done twice: each step is skipped when its inputs did not change,
// and a file that did not change is not written, so the server is not rebuilt.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import zlib from "node:zlib";

const frontend = dirname(fileURLToPath(import.meta.url));
const root = dirname(frontend);
const cargoTarget = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const work = join(root, "target/bundle");
const site = join(root, "target/site");
const dev = process.argv.includes("--dev");

// What a browser of today can run. Not --all-features: that turns on encodings
// which browsers refuse.
const wasmFeatures = [
  "--enable-bulk-memory",
  "--enable-bulk-memory-opt",
  "--enable-nontrapping-float-to-int",
  "--enable-sign-ext",
  "--enable-mutable-globals",
  "--enable-reference-types",
  "--enable-multivalue",
];

const wasmSources = [
  "Cargo.toml", "Cargo.lock", ".cargo/config.toml", "app/Cargo.toml", "app/src",
  "frontend/Cargo.toml", "frontend/src", "frontend/bindgen", "frontend/build.mjs",
  "frontend/package-lock.json", "target/setup/compiler.stamp",
];
const siteSources = ["frontend/js", "frontend/build.mjs", "frontend/package-lock.json", "style"];

const started = Date.now();
mkdirSync(work, { recursive: true });
mkdirSync(site, { recursive: true });
const wasmInputs = `${dev ? "dev" : "release"} ${hashOf(wasmSources)}`;
const siteInputs = `${wasmInputs} ${hashOf(siteSources)}`;

if (stampSays("site", siteInputs) && existsSync(join(site, "manifest.json"))) {
  say("site files are up to date");
} else {
  if (!stampSays("wasm", wasmInputs) || !existsSync(join(work, "drainboard.wasm"))) {
    buildModule();
    stamp("wasm", wasmInputs);
  }
  const files = await bundle();
  await lay(files);
  stamp("site", siteInputs);
  report(files);
}

// Compiles the islands to wasm, makes them importable, and shrinks them.
function buildModule() {
  step(`compiling the islands to wasm${dev ? " (dev)" : ""}`);
  const profile = dev ? "dev" : "wasm-release";
  cargo("build", "--package", "drainboard-frontend", "--lib", "--target", "wasm32-unknown-unknown", "--profile", profile);
  // Not optimised: it runs for a second, and is built a lot sooner.
  cargo("build", "--package", "drainboard-bindgen");

  const compiled = join(cargoTarget, "wasm32-unknown-unknown", dev ? "debug" : profile, "drainboard_frontend.wasm");
  const bound = join(work, "bindgen");
  rmSync(bound, { recursive: true, force: true });
  run(join(cargoTarget, "debug/drainboard-bindgen"), compiled, bound);

  const module = join(bound, "drainboard_bg.wasm");
  const shrunk = join(work, "drainboard.wasm");
  if (dev) {
    writeFileSync(shrunk, readFileSync(module));
  } else {
    step("shrinking the wasm module");
    const wasmOpt = join(frontend, "node_modules/binaryen/bin/wasm-opt");
    run(process.execPath, wasmOpt, module, "-o", shrunk, ...wasmFeatures, "-Oz", "--strip-debug", "--strip-producers");
  }
}

// Bundles scripts and styles; answers a list of {logical, name, contents}.
//
// What `main.js` loads later is bundled first, each file by itself: then `main.js`
// names them by their hashes and shares no piece with them that would be one
// request more for every page.
async function bundle() {
  step("bundling scripts and styles");
  const later = await bundleEach([
    join(work, "drainboard.wasm"),
    join(work, "bindgen/drainboard.js"),
    "frontend/js/chart.js",
  ]);
  // `import("site:a.js")` imports that file; `import url from "site:a.wasm"` is its URL.
  const byLogicalName = {
    name: "site-files",
    setup(build) {
      build.onResolve({ filter: /^site:/ }, ({ path, kind }) => {
        const file = later.find(({ logical }) => `site:${logical}` === path);
        if (!file) return { errors: [{ text: `there is no site file ${path}` }] };
        const url = `/site/${file.name}`;
        return kind === "dynamic-import" ? { path: url, external: true } : { path: url, namespace: "url" };
      });
      build.onLoad({ filter: /.*/, namespace: "url" }, ({ path }) => ({ contents: path, loader: "text" }));
    },
  };
  const first = await bundleEach(["frontend/js/main.js", "style/main.css"], [byLogicalName]);
  return [...first, ...later];
}

async function bundleEach(entryPoints, plugins = []) {
  const esbuild = await import("esbuild");
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints,
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    outdir: site,
    publicPath: "/site",
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: ["es2022", "chrome111", "firefox115", "safari16.4"],
    legalComments: "linked",
    loader: { ".wasm": "copy", ".svg": "dataurl", ".woff2": "file" },
    plugins,
    logLevel: "warning",
  });
  return result.outputFiles.map(({ path, contents }) => {
    const output = result.metafile.outputs[relative(root, path)] ?? {};
    const source = output.entryPoint ?? Object.keys(output.inputs ?? {})[0] ?? path;
    return { logical: basename(source), name: basename(path), contents };
  });
}

// Lays the files into the site folder with their compressed forms, and nothing else.
async function lay(files) {
  const wanted = new Set(["manifest.json"]);
  await Promise.all(files.map(async ({ name, contents }) => {
    for (const [ending, compress] of [["", async () => contents], [".br", brotli], [".gz", gzip]]) {
      wanted.add(name + ending);
      const path = join(site, name + ending);
      if (!existsSync(path)) {
        writeFileSync(path, await compress(contents, name));
      }
    }
  }));
  const manifest = Object.fromEntries(files.map(({ logical, name }) => [logical, name]).sort());
  const text = JSON.stringify(manifest, null, 2) + "\n";
  const path = join(site, "manifest.json");
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    writeFileSync(path, text);
  }
  for (const name of readdirSync(site)) {
    if (!wanted.has(name)) rmSync(join(site, name), { recursive: true });
  }
}

function brotli(contents, name) {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS } = zlib.constants;
  return promisify(zlib.brotliCompress)(contents, {
    params: {
      [BROTLI_PARAM_QUALITY]: dev && name.endsWith(".wasm") ? 2 : 11,
      [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS,
      [BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  });
}

function gzip(contents) {
  return promisify(zlib.gzip)(contents, { level: 9 });
}

function report(files) {
  for (const { name } of files) {
    const size = (ending) => String(statSync(join(site, name + ending)).size).padStart(8);
    console.log(`  ${name.padEnd(28)} ${size("")} bytes, brotli ${size(".br")}, gzip ${size(".gz")}`);
  }
  say(`site files built in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

// One hash over the names and contents of files and folders; what is missing counts as missing.
function hashOf(paths) {
  const hash = createHash("sha256");
  const add = (path) => {
    const full = join(root, path);
    const kind = statSync(full, { throwIfNoEntry: false });
    hash.update(`${path}\0`);
    if (kind?.isDirectory()) {
      readdirSync(full).sort().forEach((name) => add(join(path, name)));
    } else if (kind) {
      hash.update(readFileSync(full));
    }
  };
  paths.forEach(add);
  return hash.digest("hex");
}

function stampSays(name, text) {
  const path = join(work, `${name}.inputs`);
  return existsSync(path) && readFileSync(path, "utf8") === text;
}

function stamp(name, text) {
  writeFileSync(join(work, `${name}.inputs`), text);
}

// Cargo with the one compiler that the server is built with, too.
function cargo(...parameters) {
  run("bash", "-c", '. "$0/scripts/env.sh" && exec cargo "$@" --manifest-path "$0/Cargo.toml"', root, ...parameters);
}

function run(program, ...parameters) {
  try {
    execFileSync(program, parameters, { stdio: ["ignore", "inherit", "inherit"], cwd: root });
  } catch (error) {
    console.error(`✗ ${basename(program)} failed: ${error.message.split("\n")[0]}`);
    process.exit(1);
  }
}

function step(text) {
  console.error(`\x1b[1m→ ${text}\x1b[0m`);
}

function say(text) {
  console.log(text);
}

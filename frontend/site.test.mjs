// Holds the built site files to what the server and a phone expect of them.
// Run after `make site`, by `make test`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

const site = fileURLToPath(new URL("../target/site", import.meta.url));
const manifest = JSON.parse(readFileSync(join(site, "manifest.json"), "utf8"));
const read = (logical, ending = "") => readFileSync(join(site, manifest[logical] + ending));

test("the manifest names every file, and each has its compressed forms", () => {
  const files = Object.values(manifest).flatMap((name) => [name, `${name}.br`, `${name}.gz`]);
  assert.deepEqual(readdirSync(site).sort(), [...files, "manifest.json"].sort());
  for (const logical of ["main.css", "main.js", "drainboard.js", "drainboard.wasm", "chart.js"]) {
    assert.match(manifest[logical], /-[0-9A-Z]{8}\./);
  }
});

test("the compressed forms unpack to the file itself", () => {
  for (const logical of Object.keys(manifest)) {
    assert.ok(zlib.brotliDecompressSync(read(logical, ".br")).equals(read(logical)), logical);
    assert.ok(zlib.gunzipSync(read(logical, ".gz")).equals(read(logical)), logical);
  }
});

test("scripts name the others by their hashed names", () => {
  const main = read("main.js", "").toString();
  for (const logical of ["chart.js", "drainboard.js", "drainboard.wasm"]) {
    assert.ok(main.includes(`"/site/${manifest[logical]}"`), logical);
  }
  assert.doesNotMatch(main, /^import|;import[^(]/, "nothing is loaded before it is needed");
});

test("every page's own script is tiny, and the first load leaves room for the page", () => {
  const size = (logical) => read(logical, ".br").length;
  assert.ok(size("main.js") <= 2_000, `main.js ${size("main.js")}`);
  // 90,000 bytes for all of it, of which the page and its style may take 14,600.
  const scripts = size("main.js") + size("drainboard.js") + size("drainboard.wasm");
  assert.ok(scripts <= 90_000 - 14_600, `scripts and wasm ${scripts}`);
});

test("the wasm module needs nothing that browsers refuse", async () => {
  assert.ok(WebAssembly.validate(read("drainboard.wasm")));
});

import { get } from "node:http";
import { expect, test } from "./support/fixtures.js";

const ENTRY_BYTES = 90_000;
const READABLE_BYTES = 14_600;

test("the first load stays within its budget, compressed, hashed and immutable", async ({ page, server, signIn }) => {
  await server.enqueue("moderate-content", 5);
  await server.enqueue("extract-places", 5);
  await signIn("olga");
  const urls = new Set<string>();
  page.on("request", (request) => urls.add(request.url()));
  await page.goto(server.url);
  await expect(page.locator("#live-state")).toContainText("Live");
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");

  const sizes: { path: string; bytes: number; type: string }[] = [];
  for (const url of urls) {
    const path = new URL(url).pathname;
    if (path.startsWith("/live")) continue;
    const { bytes, headers } = await download(url, cookie);
    sizes.push({ path, bytes, type: String(headers["content-type"]) });
    if (path.startsWith("/site/")) {
      expect(headers["content-encoding"], path).toBe("br");
      expect(headers["cache-control"], path).toContain("immutable");
      expect(path).toMatch(/[0-9A-Za-z]{8}/);
    }
  }
  const total = (filter: RegExp) => sizes.filter((s) => filter.test(s.type)).reduce((sum, s) => sum + s.bytes, 0);
  console.log(sizes.map((s) => `${s.path} ${s.bytes}`).join("\n"));
  expect(sizes.some((s) => s.type.includes("wasm")), "the islands were loaded").toBe(true);
  expect(total(/html|css/)).toBeLessThanOrEqual(READABLE_BYTES);
  expect(total(/./)).toBeLessThanOrEqual(ENTRY_BYTES);
});

function download(url: string, cookie: string): Promise<{ bytes: number; headers: Record<string, unknown> }> {
  return new Promise((done, failed) => {
    get(url, { headers: { cookie, "accept-encoding": "br" } }, (answer) => {
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => (bytes += chunk.length));
      answer.on("end", () => done({ bytes, headers: answer.headers }));
    }).on("error", failed);
  });
}

// Payloads, errors, kinds, names and notes are hostile text everywhere: what
// somebody else wrote is shown as text on every page there is, and runs nowhere.

import { type Page } from "@playwright/test";
import { expect, test } from "./support/fixtures.js";
import { type Server } from "./support/server.js";

const RUN = "window.ran=document.title='ran'";
const HOSTILE = [
  ...["</textarea>", "</script>", "</title>", "</style>", "</template>", "</noscript>", "</td></tr></table>", "-->", "]]>"].map(
    (end) => `${end}<script>${RUN}</script>`,
  ),
  ...[`"`, `'`, "`", `">`, `'>`, `\\"`].map((end) => `${end} onfocus=${RUN} autofocus tabindex=1 x=${end}`),
  ...[`"`, "'", ""].map((end) => `${end}><img src=x onerror="${RUN}">`),
  `<svg/onload=${RUN}>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>">`,
  `<a href="javascript:${RUN}">here</a>`,
  `javascript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `<base href="http://127.0.0.1:9/">`,
  `<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">`,
  `<form action="http://127.0.0.1:9/"><button>Approve & replay</button>`,
  `<style>*{display:none}</style>`,
  `<!--`,
  `<plaintext>`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `{{constructor.constructor("${RUN}")()}}`,
  "${" + RUN + "}",
  `=HYPERLINK("http://127.0.0.1:9/")`,
  `../../settings/tokens?x=1#y`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  "right \u202e to left \u2066 and back",
  "nothing \u0000 in the middle",
  "hidden\u200b\u200d\ufeff here",
  "two\r\nlines\n\nand\ttabs",
  "   ",
  `<!-- hk 0-0 --><!--hk=1--><leptos-island data-component="x">`,
  `${"long ".repeat(13_000)}<script>${RUN}</script>`,
];

/** Puts each text into every field that a program, a worker or a person fills. */
async function spread(server: Server): Promise<void> {
  for (const [at, text] of HOSTILE.entries()) {
    const name = text.slice(0, 200);
    // An envelope may be 1 MiB as a whole.
    const some = text.slice(0, 20_000);
    const envelope = {
      envelope_version: "1",
      message_id: some,
      model: { provider: some, id: some, params: { [name]: some } },
      prompt: { template_id: some, sha256: some },
      tools_offered: { sha256: some },
      retrieved_context: [{ doc_id: some, version: some, sha256: some }],
      upstream_handoffs: [{ agent: some, version: some, output_sha256: some, note: some }],
      tool_calls: [{ name: some, input: { [name]: some } }],
      trace_id: some,
      [name]: some,
    };
    const job = {
      kind: name,
      source: name,
      tenant: name,
      payload: { [name]: text, email: text, list: [text, { [name]: text }] },
      upstream_handoffs: envelope.upstream_handoffs,
      trace_id: text.slice(0, 200),
      unique_key: `${at} ${name}`.slice(0, 200),
    };
    const jobs = [0, 1, 2, 3].map((n) => ({ ...job, unique_key: `${n}${job.unique_key}`.slice(0, 200) }));
    await server.api("POST", "/jobs", { jobs });
    const claimed = await server.claim(name, 4, name);
    expect(claimed, JSON.stringify(name)).toHaveLength(4);
    await server.end(claimed[0], "refuse", { reason_code: "MISSING_REQUIRED_FIELD", field: name, evidence: text, envelope });
    await server.end(claimed[1], "fail", { error: text, category: "permanent", error_code: name, envelope });
    await server.end(claimed[2], "done", {
      verdict: name,
      reason: name,
      result: { [name]: text },
      evidence: { [name]: text },
      values: { [name]: text },
      source_text: text,
      envelope,
    });
    await server.api("POST", "/ticks", { trigger: name, every_seconds: 60 });
  }
  const { dead_letters: letters } = await server.api<{ dead_letters: { id: string; version: number }[] }>(
    "GET",
    "/dead-letters?limit=200",
  );
  expect(letters).toHaveLength(2 * HOSTILE.length);
  for (const [at, letter] of letters.filter((_, nth) => nth % 2).entries()) {
    const act = { action: "reject_and_close", note: `${HOSTILE[at].slice(0, 3_000)}.`, version: letter.version };
    await server.api("POST", `/dead-letters/${letter.id}/actions`, act);
  }
}

/** Addresses on this page that lead to another page of this site, without what they ask for. */
async function leads(page: Page): Promise<string[]> {
  const hrefs = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => (a as HTMLAnchorElement).href));
  const here = new URL(page.url());
  return hrefs.map((href) => new URL(href)).filter((url) => url.origin === here.origin).map((url) => url.pathname + url.search);
}

/** Which page an address leads to. */
function pageOf(address: string): string {
  return new URL(address, "http://x").pathname.replace(/\d+/g, "N");
}

/** What must not be on any page, whatever it shows. */
async function expectOnlyText(page: Page, at: string): Promise<void> {
  const found = await page.evaluate(() => ({
    ran: "ran" in window || document.title === "ran",
    handlers: [...document.querySelectorAll("*")].filter((one) => one.getAttributeNames().some((name) => /^on|^srcdoc$/.test(name))).length,
    strangers: document.querySelectorAll("main img, iframe, base, plaintext, meta[http-equiv=refresh i][content*='127.0.0.1:9']").length,
    scripts: [...document.querySelectorAll("a[href], form[action], button[formaction]")].filter((one) =>
      /^\s*(javascript|data|vbscript):/i.test(one.getAttribute("href") ?? one.getAttribute("action") ?? one.getAttribute("formaction") ?? ""),
    ).length,
    elsewhere: [...document.forms].filter((form) => new URL(form.getAttribute("action") ?? "", location.href).origin !== location.origin).length,
    main: document.querySelector("main")?.checkVisibility() ?? false,
  }));
  expect(found, at).toEqual({ ran: false, handlers: 0, strangers: 0, scripts: 0, elsewhere: 0, main: true });
}

test("nothing that others wrote runs on any page, and all of it is text", async ({ page, ownServer: server, signIn, complaints }) => {
  test.setTimeout(400_000);
  expect(HOSTILE.length).toBeGreaterThanOrEqual(40);
  await spread(server);
  page.on("dialog", () => complaints.push("a dialog opened"));
  await signIn("ada", server);

  // Every page that a link leads to, a few of each.
  const waiting = ["/", "/dead-letters", "/dead-letters?view=list&status=all&limit=200", "/jobs?limit=200", "/settings", "/policies", "/audit"];
  const known = new Set(waiting);
  const visits = new Map<string, number>();
  const failed: string[] = [];
  for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
    if (/\/export\/|\/logout|\.csv|\.json|^\/api\//.test(address)) continue;
    const name = pageOf(address);
    const count = visits.get(name) ?? 0;
    if (count >= (/^\/dead-letters(\/N)?$/.test(name) ? HOSTILE.length : 4)) continue;
    visits.set(name, count + 1);
    const answer = await page.goto(server.url + address);
    if (answer?.status() !== 200) failed.push(`${answer?.status()} ${address}`);
    await expectOnlyText(page, address);
    for (const lead of await leads(page)) {
      if (!known.has(lead)) {
        known.add(lead);
        waiting.push(lead);
      }
    }
  }
  expect(failed, "a link of ours leads nowhere").toEqual([]);
  for (const seen of ["/dead-letters/N", "/jobs/N", "/dead-letters/N/correct", "/dead-letters/N/notify", "/audit", "/policies"]) {
    expect([...visits.keys()], "the crawl missed it").toContain(seen);
  }
});

test("what others wrote can be read as they wrote it", async ({ page, ownServer: server, signIn }) => {
  test.setTimeout(120_000);
  await signIn("mila", server);
  for (const text of HOSTILE.filter((one) => one.length < 200 && /^[\x20-\x7e]+$/.test(one) && one.trim() === one)) {
    const job = { kind: "readable", source: "s", payload: { note: text } };
    await server.api("POST", "/jobs", { jobs: [job] });
    const [claimed] = await server.claim("readable");
    const { dead_letter_id: id } = await server.end<{ dead_letter_id: string }>(claimed, "fail", { error: text, category: "permanent" });
    await page.goto(`${server.url}/dead-letters/${id}`);
    await expect(page.locator("main"), text).toContainText(text);
    await page.goto(`${server.url}/dead-letters/${id}/correct`);
    const typed = await page.locator("textarea").evaluateAll((areas) => areas.map((area) => (area as HTMLTextAreaElement).value));
    const inputs = await page.locator("input").evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
    expect([...typed, ...inputs].some((value) => value.includes(text) || value.includes(JSON.stringify(text).slice(1, -1))), text).toBe(true);
  }
});

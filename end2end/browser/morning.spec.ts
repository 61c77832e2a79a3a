// A reviewer's morning with nothing but the keyboard: sign in, see why, mend,
// send, look at how it ended, pass the rest on, sign out.

import { type Locator, type Page } from "@playwright/test";
import { expect, test } from "./support/fixtures.js";
import { PASSWORD, type Server } from "./support/server.js";

const INVOICE = {
  kind: "extract-invoice",
  source: "supplier-email-ingest",
  payload: { invoice: "2024-0917", total: "1.234,50", email: "supplier@example.com" },
  upstream_handoffs: [{ agent: "pdf-splitter", version: "1.4.2", note: "pages_emitted=1 of 2" }],
};

/** Presses Tab until that has the focus, as somebody without a mouse does. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await expect(wanted).toBeVisible();
  for (let presses = 0; presses < 150; presses++) {
    if (await wanted.evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never reaches ${wanted}`);
}

async function type(page: Page, wanted: Locator, text: string): Promise<void> {
  await tabTo(page, wanted);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
}

async function press(page: Page, wanted: Locator): Promise<void> {
  await tabTo(page, wanted);
  await page.keyboard.press("Enter");
}

async function refusedInvoice(server: Server): Promise<string> {
  await server.api("POST", "/jobs", { jobs: [INVOICE] });
  const [job] = await server.claim(INVOICE.kind);
  return (
    await server.end<{ dead_letter_id: string }>(job, "refuse", {
      reason_code: "MISSING_REQUIRED_FIELD",
      field: "currency",
      evidence: "NOT FOUND",
    })
  ).dead_letter_id;
}

/** From the sign-in to the sign-out; what every step shows is asserted on the way. */
async function morning(page: Page, server: Server): Promise<void> {
  const invoice = await refusedInvoice(server);
  const [spam, kept] = [await server.refused("read-mail"), await server.refused("read-mail")];

  await page.goto(`${server.url}/login`);
  await type(page, page.locator("input[name=username]"), "mila");
  await type(page, page.locator("input[name=password]"), PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/login");
  await press(page, page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Dead letters 3" }));

  // The group of the invoice, and in it the letter.
  await press(page, page.locator("[data-row]", { hasText: "currency" }).filter({ hasText: "extract-invoice" }).getByRole("link").first());
  await press(page, page.locator(`a[href^="/dead-letters/${invoice}"]`).first());
  await expect(page.locator("main")).toContainText("NOT FOUND");
  await expect(page.locator("mark", { hasText: "pages_emitted=1 of 2" }).first()).toBeVisible();

  // Mended, seen before it is sent, sent.
  const correct = page.locator(`a[href="/dead-letters/${invoice}/correct"]`).first();
  if (!(await correct.isVisible())) await press(page, page.getByText("Other ways out"));
  await press(page, correct);
  await type(page, page.getByRole("textbox", { name: /currency/ }).first(), "EUR");
  await type(page, page.locator("[name=note]").first(), "page two says EUR");
  await page.keyboard.press("Enter");
  await expect(page.locator("ins", { hasText: "EUR" }).first()).toBeVisible();
  await press(page, page.getByRole("button", { name: "Replay with these changes" }));
  await page.waitForURL(/notice=replayed/);

  // A worker does it, and the letter says so; the original is what it was.
  const [replay] = await server.claim<{ payload: Record<string, string> }>(INVOICE.kind, 5);
  expect(replay.payload).toEqual({ ...INVOICE.payload, currency: "EUR" });
  await server.end(replay, "done", { verdict: "extracted" });
  await page.reload();
  const letter = page.locator("main");
  for (const said of ["current: fixed", "page two says EUR", "mila"]) await expect(letter).toContainText(said);
  const stored = await server.api<{ payload: unknown }>("GET", `/dead-letters/${invoice}`);
  expect(stored.payload, "the original payload").toEqual(INVOICE.payload);

  // One is closed with a note, one goes back.
  await page.goto(`${server.url}/dead-letters/${spam}`);
  await press(page, page.getByText("Other ways out"));
  await type(page, page.locator("form", { has: page.getByRole("button", { name: "Reject & close" }) }).locator("[name=note]"), "spam");
  await press(page, page.getByRole("button", { name: "Reject & close" }));
  await expect(letter).toContainText("spam");
  await page.goto(`${server.url}/dead-letters/${kept}`);
  await press(page, page.getByRole("button", { name: "Approve & replay" }));
  await page.waitForURL(/notice=replayed/);
  expect(await server.claim("read-mail", 5)).toHaveLength(1);

  await press(page, page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /Dead letters/ }));
  await expect(letter).toContainText("resolved 3");
  await press(page, page.getByRole("button", { name: "Log out" }));
  await page.waitForURL(/\/login/);
}

test("a reviewer's morning by keyboard alone", async ({ page, ownServer }) => {
  test.setTimeout(120_000);
  await morning(page, ownServer);
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("a reviewer's morning by keyboard alone, too", async ({ page, ownServer }) => {
    test.setTimeout(120_000);
    await morning(page, ownServer);
  });
});

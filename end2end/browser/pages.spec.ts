import { expect, test } from "./support/fixtures.js";

const PAGES = ["/", "/jobs", "/dead-letters", "/dead-letters?view=list", "/refusals", "/policies", "/audit"];

test("every page fits a phone of 360 px, light and dark", async ({ page, server, signIn }) => {
  await server.refused("extract-invoice-with-a-rather-long-kind-name-that-nobody-would-abbreviate");
  await server.enqueue("k".repeat(200), 1);
  await signIn("ada");
  await page.setViewportSize({ width: 360, height: 780 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const path of [...PAGES, "/dead-letters/1", "/jobs/1"]) {
      const answer = await page.goto(server.url + path);
      expect(answer?.status(), path).toBe(200);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, `${path} in ${colorScheme}`).toBeLessThanOrEqual(360);
    }
  }
});

test("what must be known at once is on the screen of a phone without scrolling sideways", async ({ page, ownServer: server, signIn }) => {
  await server.refused("extract-invoice");
  await server.enqueue("extract-invoice", 4);
  await signIn("mila", server);
  await page.setViewportSize({ width: 360, height: 780 });
  await page.goto(server.url);
  const row = page.getByRole("row").filter({ hasText: "extract-invoice" });
  for (const cell of [
    row.getByRole("cell").and(page.locator("[data-label=Due]")),
    row.locator("[data-label='Failed 24 h']"),
    row.locator("[data-label='Refused 24 h']"),
    row.locator(".word"),
  ]) {
    await expect(cell).toBeVisible();
    const box = await cell.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(360);
  }
  await page.goto(`${server.url}/dead-letters?view=list`);
  const approve = page.getByRole("button", { name: "Approve & replay" });
  await expect(approve).toBeHidden();
  await page.locator("summary", { hasText: "Recover" }).click();
  await expect(approve).toBeVisible();
});

test("by keyboard: the first stop skips to the content, and every stop can be seen", async ({ page, server, signIn, complaints }) => {
  await server.refused("k");
  await signIn("ada");
  for (const path of [...PAGES, "/dead-letters/1", "/jobs/1", "/nothing-here"]) {
    await page.goto(server.url + path);
    await page.keyboard.press("Tab");
    await expect(page.getByRole("link", { name: "Skip to content" }), path).toBeFocused();
    await expect(page.getByRole("link", { name: "Skip to content" })).toBeInViewport();
    await page.keyboard.press("Enter");
    await expect(page.locator("main"), path).toBeFocused();
    for (let stop = 0; stop < 12; stop++) {
      await page.keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const at = document.activeElement;
        return !at || at === document.body || getComputedStyle(at).outlineStyle !== "none";
      });
      expect(seen, `stop ${stop} of ${path}`).toBe(true);
    }
  }
  complaints.length = 0; // Chromium reports a page's own 404 as an error
});

test("light and dark differ, and text is readable in both", async ({ page, server, signIn }) => {
  await signIn("ada");
  const grounds: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(server.url);
    const [ground, text] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color];
    });
    expect(contrast(ground, text), colorScheme).toBeGreaterThan(7);
    grounds.push(ground);
  }
  expect(grounds[0]).not.toBe(grounds[1]);
});

test("an unknown page and an unknown job say so, with the right status", async ({ page, server, signIn, complaints }) => {
  await signIn("olga");
  for (const path of ["/nothing-here", "/jobs/9007199254740993", "/dead-letters/abc"]) {
    const answer = await page.goto(server.url + path);
    expect(answer?.status(), path).toBe(404);
    await expect(page.getByRole("link", { name: "Pipeline" }).first()).toBeVisible();
  }
  complaints.length = 0; // Chromium reports a page's own 404 as an error
});

test("nobody sees anything without signing in", async ({ page, server, complaints }) => {
  for (const path of [...PAGES, "/dead-letters/1", "/jobs/1"]) {
    await page.goto(server.url + path);
    expect(new URL(page.url()).pathname, path).toBe("/login");
  }
  const answer = await page.request.get(`${server.url}/live`);
  expect(answer.status()).toBe(401);
  complaints.length = 0;
});

test("the park rate is drawn when it comes into view, with the numbers of the table", async ({ page, server, signIn }) => {
  await server.refused("extract-invoice");
  await signIn("olga");
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(request.url()));
  await page.goto(server.url);
  await page.waitForLoadState("load");
  expect(loaded.filter((url) => /chart/.test(url))).toEqual([]);
  await page.goto(`${server.url}/refusals`);
  await page.locator("[data-chart]").first().scrollIntoViewIfNeeded();
  await expect(page.locator("[data-chart] canvas, [data-chart] svg").first()).toBeVisible();
  const { rows } = await server.api<{ rows: { reason_code: string | null; parked: number; processed: number }[] }>(
    "GET",
    "/park-rate?by=reason",
  );
  const missing = rows.find((row) => row.reason_code === "MISSING_REQUIRED_FIELD");
  expect(missing?.parked).toBeGreaterThan(0);
  const cells = page.getByRole("row").filter({ hasText: "MISSING_REQUIRED_FIELD" }).first();
  await expect(cells).toContainText(String(missing?.parked));
  await expect(cells).toContainText(String(missing?.processed));
});

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [r, g, b] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
    const c = Number(part) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

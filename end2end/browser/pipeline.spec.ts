import { expect, test } from "./support/fixtures.js";

test("a burst drains on screen, and the title follows the verdict", async ({ page, ownServer: server, signIn }) => {
  await signIn("olga", server);
  await page.goto(server.url);
  await server.enqueue("moderate-content", 30);
  await expect(page.locator("#verdict")).toContainText("30 waiting");
  const row = page.getByRole("row").filter({ hasText: "moderate-content" }).first();
  await expect(row).toContainText("30");
  for (let left = 30; left > 0; left -= 10) {
    for (const job of await server.claim("moderate-content", 10)) await server.end(job, "done", { verdict: "approved" });
    if (left > 10) await expect(page.locator("#verdict")).toContainText(`${left - 10} waiting`);
  }
  await expect(page.locator("#verdict")).toContainText("nothing waiting");
  await expect(page).toHaveTitle(/Idle · nothing waiting/);
});

test("what a failure said stands among the last failures", async ({ page, server, signIn }) => {
  await server.enqueue("moderate-image", 1);
  const [job] = await server.claim("moderate-image");
  await server.end(job, "fail", { error: "Image moderation service unavailable", http_status: 503 });
  await signIn("olga");
  await page.goto(server.url);
  await expect(page.getByText("Image moderation service unavailable").first()).toBeVisible();
  await expect(page.getByText(/attempt 1 of 3/).first()).toBeVisible();
});

test("hostile kinds and errors are text", async ({ page, server, signIn }) => {
  const hostile = `<img src=x onerror="document.title='pwn'"></td></tr></table><script>document.title='pwn'</script>`;
  await server.enqueue(hostile, 1);
  const [job] = await server.claim(hostile);
  await server.end(job, "fail", { error: hostile, category: "permanent" });
  await signIn("mila");
  for (const path of ["/", "/jobs", `/jobs/${job.id}`, "/dead-letters", "/policies"]) {
    await page.goto(server.url + path);
    await expect(page.getByText("onerror=").first(), path).toBeAttached();
    await expect(page).not.toHaveTitle("pwn");
    expect(await page.locator("img[src=x]").count(), path).toBe(0);
  }
});

test("numbers stand still while somebody selects, and catch up afterwards", async ({ page, server, signIn }) => {
  await signIn("olga");
  await page.goto(server.url);
  await expect(page.locator("#live-state")).toContainText("Live");
  await page.locator("#verdict").selectText();
  await expect(page.locator("#live-state")).toContainText("Paused while selecting");
  await server.enqueue("while-selecting", 7);
  await page.evaluate(() => getSelection()?.removeAllRanges());
  await expect(page.locator("#live-state")).toContainText("Live");
  await expect(page.getByRole("row").filter({ hasText: "while-selecting" })).toContainText("7");
});

test("stale is said aloud when the server dies, and the page comes back by itself", async ({
  page,
  ownServer: server,
  signIn,
  complaints,
}) => {
  await server.enqueue("survivor", 3);
  await signIn("olga", server);
  await page.goto(server.url);
  const row = page.getByRole("row").filter({ hasText: "survivor" });
  await expect(row).toContainText("3");
  await expect(page.locator("#live-state")).toContainText("Live");
  await server.kill();
  await expect(page.locator("#live-state")).toContainText("Stale since", { timeout: 15_000 });
  await expect(row).toContainText("3");
  await server.up();
  await expect(page.locator("#live-state")).toContainText("Live", { timeout: 20_000 });
  complaints.length = 0; // the refused connections of the pause
});

test("a second tab keeps working while the first streams", async ({ page, server, signIn, context }) => {
  await signIn("olga");
  await page.goto(server.url);
  const others = [];
  for (let i = 0; i < 7; i++) {
    const tab = await context.newPage();
    await tab.goto(server.url, { timeout: 10_000 });
    await expect(tab.locator("#verdict")).toBeVisible();
    others.push(tab);
  }
  await others[6].goto(`${server.url}/jobs`, { timeout: 3_000 });
  await expect(others[6].getByRole("heading", { name: "Jobs" })).toBeVisible();
});

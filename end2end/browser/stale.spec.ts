// A page that hears nothing new must not look as if it did: not when the server
// is gone, and not when the person behind it may see nothing any more.

import { expect, test } from "./support/fixtures.js";

test("a stale page says so in its title and greys its line, and recovers", async ({
  page,
  ownServer: server,
  signIn,
  complaints,
}) => {
  await server.enqueue("survivor", 3);
  await signIn("olga", server);
  await page.goto(server.url);
  await expect(page.locator("#live-state")).toContainText("Live");
  await expect(page).toHaveTitle(/^Running · 3 waiting/);
  const fresh = await colour(page.locator("#verdict"));
  await server.kill();
  await expect(page).toHaveTitle(/^Stale since \d\d:\d\d · Running · 3 waiting/, { timeout: 15_000 });
  expect(await colour(page.locator("#verdict"))).not.toBe(fresh);
  await expect(page.locator("header.verdict")).toContainText(/Stale since \d\d:\d\d:\d\d UTC/);
  await server.up();
  await expect(page).toHaveTitle(/^Running · 3 waiting/, { timeout: 20_000 });
  expect(await colour(page.locator("#verdict"))).toBe(fresh);
  complaints.length = 0; // the refused connections of the pause
});

for (const [how, end] of [
  ["a log-out in another tab", async ({ other }) => other.getByRole("button", { name: "Log out" }).click()],
  ["a disabled user", async ({ server }) => server.command(["user", "set", "mila", "--disabled"])],
  ["another role", async ({ server }) => server.command(["user", "set", "mila", "--role", "on-call"])],
] as [string, (at: any) => unknown][]) {
  test(`${how} takes the numbers off an open page`, async ({ page, context, ownServer: server, signIn, complaints }) => {
    await page.clock.install();
    await server.enqueue("secret-kind", 3);
    await signIn("mila", server);
    await page.goto(`${server.url}/?knd=x`);
    await expect(page.locator("#live-state")).toContainText("Live");
    const other = await context.newPage();
    await other.goto(`${server.url}/jobs`);
    await end({ other, server });
    await expect(page.locator("#panel")).toContainText("Signed out", { timeout: 20_000 });
    await expect(page).toHaveTitle("Signed out · Drainboard");
    await expect(page.locator("main")).not.toContainText("secret-kind");
    await expect(page.locator("main")).not.toContainText("waiting");
    const again = page.getByRole("link", { name: "Sign in again" });
    await expect(again).toHaveAttribute("href", "/login?next=%2F%3Fknd%3Dx");
    // Nothing is asked any more.
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.clock.fastForward(120_000);
    await page.evaluate(() => fetch("/robots.txt"));
    expect(asked, "two minutes of timers later").toEqual([`${server.url}/robots.txt`]);
    await again.click();
    await expect(page).toHaveURL(`${server.url}/login?next=%2F%3Fknd%3Dx`);
    complaints.length = 0; // Chromium reports the 401 as an error
  });
}

function colour(locator: import("@playwright/test").Locator): Promise<string> {
  return locator.evaluate((element) => getComputedStyle(element).color);
}

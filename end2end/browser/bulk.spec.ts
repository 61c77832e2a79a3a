import { expect, test } from "./support/fixtures.js";
import { PASSWORD, type Server } from "./support/server.js";

/** A letter by a failure of the pipeline. */
async function failed(server: Server, kind: string): Promise<void> {
  await server.enqueue(kind, 1);
  const [job] = await server.claim(kind);
  await server.end(job, "fail", { error: "429 rate limit exceeded", category: "permanent" });
}

/** Does so many replays as they become due. */
async function replay(server: Server, kind: string, count: number): Promise<void> {
  let done = 0;
  const some = async () => {
    const jobs = await server.claim(kind, 100);
    for (const job of jobs) await server.end(job, "done", { verdict: "approved" });
    return (done += jobs.length);
  };
  await expect.poll(some, { timeout: 30_000 }).toBe(count);
}

test("letters are ticked, drafted and confirmed by keyboard", async ({ page, ownServer: server, signIn }) => {
  for (let i = 0; i < 4; i++) await failed(server, "photos");
  await signIn("mila", server);
  await page.goto(`${server.url}/dead-letters?view=list`);
  await expect(page.getByRole("button", { name: "All 4 of this list…" })).toBeVisible();
  await expect(async () => {
    await page.keyboard.press("j");
    expect(await page.evaluate(() => document.activeElement?.closest("[data-row]") !== null)).toBe(true);
  }).toPass();
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.locator("#selection")).toHaveText(/^2 selected, as of \d\d:\d\d:\d\d$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toContainText("act on what is selected");
  await page.keyboard.press("Escape");
  await page.keyboard.press("b");
  await page.waitForURL(/\/bulk\/\d+$/);
  await expect(page.getByText("2 letters ticked in a list of unresolved letters")).toBeVisible();
  await page.getByRole("button", { name: "Approve & replay 2 letters" }).dblclick();
  await expect(page.getByText("2 replayed")).toBeVisible({ timeout: 15_000 });
  await replay(server, "photos", 2);
  await page.getByRole("link", { name: "Look again" }).click();
  await expect(page.locator("dl", { hasText: "replays done" }).last()).toContainText("replays done2");
  await page.goto(`${server.url}/dead-letters?view=list`);
  await expect(page.locator("[data-row]")).toHaveCount(2);
});

test("a group is one press away by keyboard", async ({ page, ownServer: server, signIn }) => {
  for (let i = 0; i < 3; i++) await server.refused("grouped");
  await signIn("mila", server);
  await page.goto(`${server.url}/dead-letters`);
  await expect(async () => {
    await page.keyboard.press("j");
    expect(await page.evaluate(() => document.activeElement?.closest("[data-row]") !== null)).toBe(true);
  }).toPass();
  await page.keyboard.press("b");
  await page.waitForURL(/\/bulk\/\d+$/);
  await expect(page.getByText("all of the group MISSING_REQUIRED_FIELD · currency of grouped")).toBeVisible();
  await expect(page.getByRole("button", { name: "Reject & close 3 letters" })).toBeVisible();
});

test("the pages of a bulk fit a phone", async ({ page, ownServer: server, signIn }) => {
  const long = "extract-invoice-with-a-rather-long-kind-name-that-nobody-would-abbreviate";
  for (let i = 0; i < 6; i++) await failed(server, long);
  await signIn("mila", server);
  await page.setViewportSize({ width: 320, height: 780 });
  const fits = async (what: string) => {
    const content = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(content, what).toBeLessThanOrEqual(320);
  };
  await page.goto(`${server.url}/dead-letters?view=list`);
  await fits("list");
  await page.getByRole("button", { name: "Re-queue these 6 failures…" }).click();
  await page.waitForURL(/\/bulk\/\d+$/);
  await fits("draft");
  await page.getByRole("button", { name: "Approve & replay 6 letters" }).click();
  await expect(page.getByText("The first 5 go alone")).toBeVisible();
  await fits("running");
  await page.goto(`${server.url}/bulk`);
  await fits("all bulks");
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("failures are re-queued, and the page comes back by itself until it is done", async ({ page, ownServer: server, complaints }) => {
    for (let i = 0; i < 7; i++) await failed(server, "photos");
    for (let i = 0; i < 2; i++) await server.refused("photos");
    await page.goto(`${server.url}/login`);
    await page.locator("input[name=username]").fill("mila");
    await page.locator("input[name=password]").fill(PASSWORD);
    await page.locator("form[action='/login'] button").click();
    await page.goto(`${server.url}/dead-letters?view=list`);
    await page.getByRole("button", { name: "Selected…" }).click();
    await expect(page.getByRole("alert")).toContainText("no letter was ticked");
    // The browser notes the 422 of that answer.
    expect(complaints.splice(0).join()).toContain("422");
    await page.getByRole("checkbox").first().check();
    await page.getByRole("button", { name: "Selected…" }).click();
    await expect(page.getByRole("button", { name: "Approve & replay 1 letter" })).toBeVisible();
    await page.getByRole("button", { name: "Leave it" }).click();
    await expect(page.getByText("Nothing was done to any letter.")).toBeVisible();

    await page.goto(`${server.url}/dead-letters`);
    await page.getByRole("button", { name: "Re-queue these 7 failures…" }).click();
    await page.getByRole("button", { name: "Approve & replay 7 letters" }).click();
    await expect(page.getByText("The first 5 go alone")).toBeVisible();
    await replay(server, "photos", 7);
    await expect(page.getByText("7 replayed"), "it comes back by itself").toBeVisible({ timeout: 20_000 });
    await page.goto(`${server.url}/dead-letters?view=list`);
    await expect(page.locator("[data-row]")).toHaveCount(2);
  });
});

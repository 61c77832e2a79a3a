import { type Page } from "@playwright/test";
import { expect, test } from "./support/fixtures.js";
import { PASSWORD } from "./support/server.js";

/** The letter of the row that has the focus. */
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.closest("[data-row]")?.getAttribute("data-k") ?? null);

test("a reviewer goes through letters by keyboard", async ({ page, ownServer: server, signIn }) => {
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.unshift(await server.refused("triage-me"));
  await signIn("mila", server);
  await page.goto(`${server.url}/dead-letters?view=list`);
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((one) => one.name.endsWith(".wasm")));
  await expect(async () => {
    await page.keyboard.press("j");
    expect(await focused(page)).toBe(ids[0]);
  }).toPass();

  await page.keyboard.press("j");
  await page.keyboard.press("j");
  expect(await focused(page)).toBe(ids[2]);
  await page.keyboard.press("k");
  expect(await focused(page)).toBe(ids[1]);
  for (let i = 0; i < 9; i++) await page.keyboard.press("k");
  expect(await focused(page), "the first is the end").toBe(ids[0]);

  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.locator("#selection")).toHaveText(/^2 selected, as of \d\d:\d\d:\d\d$/);
  await page.keyboard.press("x");
  await expect(page.locator("#selection")).toHaveText(/^1 selected, as of/);

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeHidden();
  expect(await focused(page), "keys sleep under the help").toBe(ids[1]);

  await page.keyboard.press("a");
  expect(await focused(page)).toBe(ids[1]);
  const inOptions = () => page.evaluate(() => document.activeElement?.closest("details") !== null);
  expect(await inOptions(), "the first option has the focus").toBe(true);
  const note = page.locator(`[data-k="${ids[1]}"] input[name=note]`);
  await note.fill("");
  await note.pressSequentially("jk xao?");
  await expect(note, "what is typed is text").toHaveValue("jk xao?");
  await page.keyboard.press("Escape");
  await expect(note).toBeHidden();
  expect(await inOptions()).toBe(false);

  await page.keyboard.press("j");
  await page.keyboard.press("o");
  await page.waitForURL(`**/dead-letters/${ids[2]}`);
  await page.goBack();
  await expect(page.locator("input[name=ids]:checked"), "a selection survives nothing but its page").toHaveCount(0);
});

test("groups open by keyboard as the list of their letters", async ({ page, ownServer: server, signIn }) => {
  for (let i = 0; i < 3; i++) await server.refused("grouped");
  await server.refused("other");
  await signIn("olga", server);
  await page.goto(`${server.url}/dead-letters`);
  const group = page.locator("[data-row]", { hasText: "grouped" });
  await expect(group).toContainText("3 letters");
  await expect(group.getByRole("img")).toHaveAccessibleName(/today last: (0, ){13}3$/);
  await expect(async () => {
    await page.keyboard.press("k");
    expect(await focused(page)).not.toBeNull();
  }).toPass();
  await group.getByRole("link").focus();
  await page.keyboard.press("o");
  await page.waitForURL(/group=/);
  await expect(page.locator("[data-row]")).toHaveCount(3);
  await expect(page.getByRole("link", { name: /Remove the filter group/ })).toBeVisible();
  await expect(page.getByRole("checkbox"), "on-call people select nothing").toHaveCount(0);
});

test("filters, groups and lists fit a phone", async ({ page, server, signIn }) => {
  const long = "extract-invoice-with-a-rather-long-kind-name-that-nobody-would-abbreviate";
  await server.refused(long, { source: "s".repeat(200) });
  await signIn("mila");
  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 780 });
    for (const path of ["/dead-letters", "/dead-letters?view=list", `/dead-letters?view=list&kind=${long}&age=under_1h&q=NOT`]) {
      await page.goto(server.url + path);
      await expect(page.locator("[data-row]").first()).toBeVisible();
      const content = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(content, `${path} at ${width} px`).toBeLessThanOrEqual(width);
    }
  }
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("letters are filtered, searched, opened and acted on from the list", async ({ page, ownServer: server }) => {
    await server.refused("plain-form", { payload: { city: "Köln" } });
    await server.refused("other");
    await page.goto(`${server.url}/login`);
    await page.locator("input[name=username]").fill("mila");
    await page.locator("input[name=password]").fill(PASSWORD);
    await page.locator("form[action='/login'] button").click();
    await page.getByRole("link", { name: /Dead letters/ }).first().click();
    await page.getByRole("link", { name: "List" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(2);
    await page.getByRole("searchbox").fill("köln");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(1);
    await expect(page.getByRole("link", { name: /Remove the filter text: köln/ })).toBeVisible();
    await page.locator("[data-row] summary").first().click();
    await page.getByRole("button", { name: "Approve & replay" }).click();
    expect(await server.claim("plain-form")).toHaveLength(1);
    await page.getByRole("link", { name: "Clear all" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(1);
  });
});

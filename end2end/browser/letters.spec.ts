import { expect, test } from "./support/fixtures.js";
import { PASSWORD } from "./support/server.js";

test("a reviewer approves a letter, and its job runs again", async ({ page, server, signIn }) => {
  const id = await server.refused("approve-me", { payload: { invoice: "2024-0917" } });
  await signIn("mila");
  await page.goto(`${server.url}/dead-letters/${id}`);
  await expect(page.getByText("MISSING_REQUIRED_FIELD").first()).toBeVisible();
  await page.getByRole("button", { name: "Approve & replay" }).click();
  await page.goto(`${server.url}/dead-letters/${id}`);
  await expect(page.getByText(/resolved/i).first()).toBeVisible();
  const [replay] = await server.claim("approve-me");
  await server.end(replay, "done", { verdict: "extracted" });
  await page.reload();
  await expect(page.getByRole("button", { name: "Approve & replay" })).toHaveCount(0);
});

test("a letter that somebody else resolved meanwhile says so and nothing happens twice", async ({
  page,
  server,
  signIn,
  complaints,
}) => {
  const id = await server.refused("race-me");
  await signIn("mila");
  await page.goto(`${server.url}/dead-letters/${id}`);
  await server.api("POST", `/dead-letters/${id}/actions`, { action: "approve_and_replay", version: 1 });
  await page.getByRole("button", { name: "Approve & replay" }).click();
  await expect(page.getByText(/already/i).first()).toBeVisible();
  // Loaded again, the address of the answer leads to the letter.
  await page.goto(page.url());
  await expect(page).toHaveURL(`${server.url}/dead-letters/${id}`);
  await expect(page.getByText(/resolved/i).first()).toBeVisible();
  expect(await server.claim("race-me", 10)).toHaveLength(1);
  complaints.length = 0; // Chromium reports the 409 of the form as an error
});

test("on-call people see no buttons and no payload", async ({ page, server, signIn }) => {
  const id = await server.refused("masked", { payload: { iban: "DE89370400440532013000" } });
  await signIn("olga");
  await page.goto(`${server.url}/dead-letters/${id}`);
  await expect(page.getByText("MISSING_REQUIRED_FIELD").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve & replay" })).toHaveCount(0);
  expect(await page.content()).not.toContain("DE8937");
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("everything can be read and acted on", async ({ page, server }) => {
    const id = await server.refused("no-script");
    await page.goto(`${server.url}/login`);
    await page.locator("input[name=username]").fill("mila");
    await page.locator("input[name=password]").fill(PASSWORD);
    await page.locator("form[action='/login'] button").click();
    await expect(page.locator("#verdict")).toContainText(/Running|Idle|Not running/);
    await page.getByRole("link", { name: /Dead letters/ }).first().click();
    await expect(page.getByText("no-script").first()).toBeVisible();
    await page.goto(`${server.url}/dead-letters/${id}`);
    await page.getByText("Other ways out").click();
    await page.locator("[name=note]").first().fill("the page is missing");
    await page.getByRole("button", { name: "Reject & close" }).click();
    await page.goto(`${server.url}/dead-letters/${id}`);
    await expect(page.getByText("the page is missing").first()).toBeVisible();
    expect(await server.claim("no-script")).toHaveLength(0);
  });
});

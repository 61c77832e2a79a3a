// One approval is one replay, ever: two people at the same instant, a double
// click, a reload, a request sent again, a server that was killed in between.

import { type Browser, type Page } from "@playwright/test";
import { expect, test } from "./support/fixtures.js";
import { DATABASES, PASSWORD, type Server } from "./support/server.js";

const LETTERS = 50;

/** A page of somebody who is signed in, in a browser profile of its own. */
async function desk(browser: Browser, server: Server, name: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.url}/login`);
  await page.locator("input[name=username]").fill(name);
  await page.locator("input[name=password]").fill(PASSWORD);
  await page.locator("form[action='/login'] button").click();
  await page.waitForURL((url) => url.pathname !== "/login");
  return page;
}

/** Presses the button and answers the status of what the form was answered with. */
async function approve(page: Page): Promise<number> {
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.getByRole("button", { name: "Approve & replay" }).click();
  const { status } = await answered.then((response) => ({ status: response.status() }));
  await page.waitForLoadState();
  return status;
}

for (const database of DATABASES) {
  test.describe(database, () => {
    test.use({ database });

    test(`two people approve ${LETTERS} letters at the same instant`, async ({ browser, ownServer: server }) => {
      test.setTimeout(300_000);
      const ids: string[] = [];
      for (let i = 0; i < LETTERS; i++) ids.push(await server.refused("both-press"));
      const [mila, ada] = [await desk(browser, server, "mila"), await desk(browser, server, "ada")];
      const wins = { mila: 0, ada: 0 };
      for (const id of ids) {
        await Promise.all([mila, ada].map((page) => page.goto(`${server.url}/dead-letters/${id}`)));
        const statuses = await Promise.all([mila, ada].map(approve));
        expect([...statuses].sort(), "one success and one conflict").toEqual([303, 409]);
        const [winner, loser] = statuses[0] === 303 ? [mila, ada] : [ada, mila];
        const name = winner === mila ? "mila" : "ada";
        wins[name] += 1;
        await expect(winner.getByText("A new job is due.")).toBeVisible();
        await expect(loser.getByRole("alert")).toContainText(`Nothing was done: already approved and replayed by ${name}`);
      }
      expect(await server.claim("both-press", 2 * LETTERS), JSON.stringify(wins)).toHaveLength(LETTERS);
      await Promise.all([mila, ada].map((page) => page.context().close()));
    });

    test("a double click, a reload and a way back make one replay", async ({ page, ownServer: server, signIn }) => {
      const id = await server.refused("press-twice");
      await signIn("mila", server);
      await page.goto(`${server.url}/dead-letters/${id}`);
      await page.getByRole("button", { name: "Approve & replay" }).dblclick();
      await page.waitForURL(/notice=replayed/);
      await page.reload();
      await page.goBack();
      const again = page.getByRole("button", { name: "Approve & replay" });
      if (await again.isVisible()) await again.click();
      await page.goto(`${server.url}/dead-letters/${id}`);
      await expect(page.getByText(/resolved/i).first()).toBeVisible();
      expect(await server.claim("press-twice", 10)).toHaveLength(1);
    });

    test("a request that is sent again after a crash is answered, not done, again", async ({ ownServer: server }) => {
      test.setTimeout(120_000);
      const rounds = 12;
      let cut = 0;
      for (let round = 0; round < rounds; round++) {
        const kind = `crash-${round}`;
        const id = await server.refused(kind);
        const send = () =>
          server.call(
            "POST",
            `/dead-letters/${id}/actions`,
            { action: "approve_and_replay", version: 1 },
            { "idempotency-key": `press-${round}` },
          );
        const first = send().then(
          (response) => response.text(),
          () => undefined,
        );
        // From "not even read" to "answered": each round lets it run a little longer.
        await new Promise((done) => setTimeout(done, round * 2));
        await server.kill();
        const answered = await first;
        if (answered === undefined) cut += 1;
        await server.up();
        const second = await send();
        expect(second.status).toBe(200);
        const third = await (await send()).text();
        expect(third, "the stored answer").toBe(await second.text());
        if (answered !== undefined) expect(answered).toBe(third);
        expect(await server.claim(kind, 10), `round ${round}`).toHaveLength(1);
      }
      expect(cut, "no request was cut off: the test would prove nothing").toBeGreaterThan(0);
    });
  });
}

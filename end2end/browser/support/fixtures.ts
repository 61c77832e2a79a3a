// What every browser test starts from: a server, a way to sign in, and a page
// that must stay silent in the console and inside its content security policy.

import { test as base, expect } from "@playwright/test";
import { type DATABASES, PASSWORD, type PEOPLE, Server } from "./server.js";

type PerTest = {
  signIn: (name: keyof typeof PEOPLE, at?: Server) => Promise<void>;
  complaints: string[];
  /** What `ownServer` keeps its data in. */
  database: (typeof DATABASES)[number];
  /** A server that no other test has put jobs on. */
  ownServer: Server;
};
type PerWorker = { server: Server };

export const test = base.extend<PerTest, PerWorker>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.stop();
    },
    { scope: "worker" },
  ],

  // A test that takes the server away on purpose empties the list afterwards.
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      await use(complaints);
      expect(complaints, "console errors and policy violations").toEqual([]);
    },
    { auto: true },
  ],

  signIn: async ({ page, server }, use) => {
    await use(async (name, at = server) => {
      await page.goto(`${at.url}/login`);
      await page.locator("input[name=username]").fill(name);
      await page.locator("input[name=password]").fill(PASSWORD);
      await page.locator("form[action='/login'] button").click();
      await page.waitForURL((url) => url.pathname !== "/login");
    });
  },

  database: ["SQLite", { option: true }],

  ownServer: async ({ page, database }, use) => {
    const server = await Server.start(database);
    await use(server);
    // First the page: that its stream is cut when the server goes is no complaint.
    await page.close();
    await server.stop();
  },
});

export { expect };

// A real `drainboard serve` on a database of its own, with a person of each
// role and a token that may do everything.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

const BINARY = process.env.DRAINBOARD_BIN ?? resolve(import.meta.dirname, "../../../target/debug/drainboard");

/** A cluster that a test may make databases on; `make test` starts one. */
const POSTGRES = process.env.DRAINBOARD_TEST_POSTGRES_URL;

export const DATABASES = ["SQLite", "PostgreSQL"] as const;
type DatabaseName = (typeof DATABASES)[number];

export const PASSWORD = "correct horse battery";
export const PEOPLE = { olga: "on-call", mila: "reviewer", ada: "admin" } as const;

export class Server {
  readonly url: string;
  readonly token: string;
  private readonly databaseUrl: string;
  private process?: ChildProcess;
  private log = "";

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly database: DatabaseName,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.databaseUrl = database === "SQLite" ? `sqlite:${join(folder, "drainboard.db")}` : postgresDatabase(folder);
    this.command(["migrate"]);
    for (const [name, role] of Object.entries(PEOPLE)) {
      this.command(["user", "add", name, "--role", role, "--password-stdin"], PASSWORD);
    }
    this.token = this.command(["token", "create", "--name", "tests", "--scope", "enqueue,work,read,review,admin"]).trim();
  }

  static async start(database: DatabaseName = "SQLite"): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "drainboard-browser-")), await freePort(), database);
    await server.up();
    return server;
  }

  /** Starts the process and waits until it is ready. */
  async up(): Promise<void> {
    const child = spawn(BINARY, ["serve", "--listen", `127.0.0.1:${this.port}`], { env: this.env(), stdio: "pipe" });
    this.process = child;
    child.stderr?.on("data", (data) => (this.log += data));
    child.stdout?.on("data", (data) => (this.log += data));
    const deadline = Date.now() + 20_000;
    while (Date.now() < deadline) {
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      if (child.exitCode !== null) break;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the server did not become ready:\n${this.log}`);
  }

  /** Kills the process as a crash would. */
  async kill(): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    if (this.database === "PostgreSQL") sql(`DROP DATABASE ${new URL(this.databaseUrl).pathname.slice(1)} WITH (FORCE)`);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** One command line of the binary on this database; answers standard output. */
  command(args: string[], input = ""): string {
    return execFileSync(BINARY, args, { env: this.env(), input, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] });
  }

  /** One call of the worker API, whatever it answers. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  /** One call of the worker API; fails on anything but success. */
  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.call(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async enqueue(kind: string, count: number, more: object = {}): Promise<string[]> {
    const jobs = Array.from({ length: count }, () => ({ kind, source: "trip-import", payload: { id: 1 }, ...more }));
    const answer = await this.api<{ jobs: { id: string }[] }>("POST", "/jobs", { jobs });
    return answer.jobs.map((job) => job.id);
  }

  async claim<More = object>(kind: string, limit = 1, worker = "w-eu-1"): Promise<(Claimed & More)[]> {
    return (await this.api<{ jobs: (Claimed & More)[] }>("POST", "/claim", { worker, kinds: [kind], limit })).jobs;
  }

  end<T = unknown>(job: Claimed, how: "done" | "refuse" | "fail", body: object = {}): Promise<T> {
    return this.api("POST", `/jobs/${job.id}/${how}`, { lease_token: job.lease_token, ...body });
  }

  /** A letter that the agent refused; answers its id. */
  async refused(kind: string, more: object = {}): Promise<string> {
    await this.enqueue(kind, 1, { source: "supplier-email-ingest", ...more });
    const [job] = await this.claim(kind);
    const body = { reason_code: "MISSING_REQUIRED_FIELD", field: "currency", evidence: "NOT FOUND" };
    return (await this.end<{ dead_letter_id: string }>(job, "refuse", body)).dead_letter_id;
  }

  private env(): NodeJS.ProcessEnv {
    return { ...process.env, DRAINBOARD_DATABASE_URL: this.databaseUrl };
  }
}

export type Claimed = { id: string; lease_token: number };

/** A fresh database, named after a folder of which there is one only. */
function postgresDatabase(folder: string): string {
  const name = basename(folder).toLowerCase().replaceAll("-", "_");
  sql(`CREATE DATABASE ${name}`);
  const url = new URL(POSTGRES ?? "");
  url.pathname = `/${name}`;
  return url.href;
}

function sql(statement: string): void {
  if (!POSTGRES) throw new Error("DRAINBOARD_TEST_POSTGRES_URL is not set: run this by scripts/with-postgres");
  execFileSync("psql", [POSTGRES, "--quiet", "--no-psqlrc", "-c", statement], { stdio: "pipe" });
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer();
    probe.once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => done(typeof address === "object" && address ? address.port : 0));
    });
  });
}

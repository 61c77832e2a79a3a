// Holds the licences of everything the workspace builds on to the list in
// deny.toml, for machines where `cargo deny` cannot be installed.
//
//   cargo metadata --format-version 1 --locked | node scripts/check-licences.mjs

import { readFileSync } from "node:fs";

const deny = readFileSync(new URL("../deny.toml", import.meta.url), "utf8");
const list = /^\[licenses\][^[]*?^allow = \[(.*?)\]/ms.exec(deny)[1];
const allowed = new Set([...list.matchAll(/"(.*?)"/g)].map(([, licence]) => licence));

// An expression holds when one side of an OR does, and both sides of an AND.
export function isAllowed(expression) {
  const tokens = expression.replaceAll("/", " OR ").match(/\(|\)|\bOR\b|\bAND\b|(?:(?!\b(?:OR|AND)\b)[^()])+/g)
    .map((token) => token.trim()).filter(Boolean);
  const or = () => {
    let holds = and();
    while (tokens[0] === "OR") holds = (tokens.shift(), and()) || holds;
    return holds;
  };
  const and = () => {
    let holds = one();
    while (tokens[0] === "AND") holds = (tokens.shift(), one()) && holds;
    return holds;
  };
  const one = () => {
    const token = tokens.shift();
    if (token !== "(") return allowed.has(token);
    const holds = or();
    tokens.shift();
    return holds;
  };
  return or();
}

const { packages } = JSON.parse(readFileSync(0, "utf8"));
const refused = packages.filter(({ license }) => !license || !isAllowed(license));
for (const { name, version, license } of refused) {
  console.error(`${name} ${version}: ${license ?? "no licence"}`);
}
console.log(`licences: ${packages.length - refused.length} passed, ${refused.length} failed`);
process.exit(refused.length === 0 && packages.length > 0 ? 0 : 1);

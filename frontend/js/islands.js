// Wakes the islands that the server rendered.
//
// Does what the inline script of Leptos does, as a module: so the page needs no
// inline script for it, and the security policy no exception.

import wasm from "site:drainboard.wasm";

// Loads the module and its code side by side, then wakes every island of the page.
export async function wakeIslands() {
  const code = fetch(wasm);
  const module = await import("site:drainboard.js");
  await module.default({ module_or_path: code });
  module.hydrate();
  await wake(document.body, module);
}

// Goes down the tree, parents first: an island may hand a context to the islands
// among its children, which is what `enterChildren` of the nearest slot is for.
async function wake(node, module, enterChildren) {
  if (node.localName === "leptos-island") {
    const island = module[node.dataset.component];
    if (island) {
      enterChildren?.();
      await island(node);
    } else {
      console.warn(`this page's script has no island ${node.dataset.component}`);
    }
  } else if (node.localName === "leptos-children") {
    enterChildren = node.$$on_hydrate;
  }
  for (const child of [...node.children]) {
    await wake(child, module, enterChildren);
  }
}

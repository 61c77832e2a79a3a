// The only script a page names: wakes the islands and the charts of a page.
//
// It is small, because every page pays for it. The wasm module and ECharts are
// chunks of their own and come only when a page has an island or shows a chart.

import wasm from "drainboard.wasm";
import { ChartElement } from "./chart-element.js";
import { wakeIslands } from "./islands.js";

customElements.define("drainboard-chart", ChartElement);

if (document.querySelector("leptos-island")) {
  // The page is readable and works as it is, so it is painted first.
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  whenIdle(() => wakeIslands(() => import("drainboard"), wasm), { timeout: 1000 });
}

// The only script a page names: wakes the islands and the charts of a page.
//
// It is small, because every page pays for it. The wasm module and ECharts are
// chunks of their own and come only when a page has an island or shows a chart.

import { ChartElement } from "./chart-element.js";
import { wakeIslands } from "./islands.js";

customElements.define("drainboard-chart", ChartElement);

if (document.querySelector("leptos-island")) {
  // The page is readable and acts as it is, so it is painted first. A hidden tab paints nothing.
  const afterPaint = document.hidden ? setTimeout : requestAnimationFrame;
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  afterPaint(() => whenIdle(wakeIslands, { timeout: 1000 }));
}

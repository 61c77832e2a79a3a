// Draws the chart of one <drainboard-chart>: ECharts, cut down to what we use.
//
// The options come from the server as data. They hold no functions, and colours
// are named by role, `var(--state-dead)`, so a chart follows the stylesheet into
// dark and light. Nothing here writes HTML: tooltips are drawn, not built.

import { init, use } from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendPlainComponent,
  TooltipComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([
  AriaComponent,
  BarChart,
  CanvasRenderer,
  CustomChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendPlainComponent,
  LineChart,
  ScatterChart,
  TooltipComponent,
]);

const darkness = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Chart {
  #element;
  #host = document.createElement("div");
  #probe = document.createElement("i");
  #echarts;
  #resized = new ResizeObserver(() => this.#echarts?.resize());
  #themed = new MutationObserver(() => this.draw());
  #redraw = () => this.draw();

  constructor(element) {
    this.#element = element;
    const shadow = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    this.#host.style.cssText = "inline-size: 100%; block-size: 100%";
    this.#probe.hidden = true;
    shadow.replaceChildren(this.#host, this.#probe);
    this.#resized.observe(this.#host);
    this.#themed.observe(document.documentElement, { attributeFilter: ["class", "data-theme"] });
    darkness.addEventListener("change", this.#redraw);
    this.draw();
  }

  // Draws what the element's options say now, in the colours of now.
  draw() {
    const source = this.#element.querySelector('script[type="application/json"]');
    if (!source) return;
    const options = this.#withColours(JSON.parse(source.textContent));
    this.#echarts?.dispose();
    this.#echarts = init(this.#host, this.#theme());
    this.#echarts.setOption({
      ...options,
      animation: options.animation !== false && !calm.matches,
      tooltip: options.tooltip && { ...options.tooltip, renderMode: "richText" },
      series: [options.series ?? []].flat().map(drawable),
    });
  }

  dispose() {
    this.#resized.disconnect();
    this.#themed.disconnect();
    darkness.removeEventListener("change", this.#redraw);
    this.#echarts?.dispose();
    this.#element.shadowRoot.replaceChildren();
  }

  // A colour as the stylesheet computes it here and now.
  #colour(css) {
    this.#probe.style.color = css;
    return getComputedStyle(this.#probe).color;
  }

  #withColours(value) {
    if (typeof value === "string") {
      return /^var\(--[\w-]+\)$/.test(value) ? this.#colour(value) : value;
    }
    if (Array.isArray(value)) return value.map((item) => this.#withColours(item));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#withColours(item)]));
    }
    return value;
  }

  #theme() {
    const ink = this.#colour("var(--chart-ink, inherit)");
    const muted = this.#colour("var(--chart-muted, inherit)");
    const line = this.#colour("var(--chart-line, inherit)");
    const ground = this.#colour("var(--chart-ground, Canvas)");
    const axis = {
      axisLine: { lineStyle: { color: line } },
      axisTick: { lineStyle: { color: line } },
      axisLabel: { color: muted },
      nameTextStyle: { color: muted },
      splitLine: { lineStyle: { color: line } },
    };
    const { fontFamily } = getComputedStyle(this.#element);
    return {
      backgroundColor: "transparent",
      textStyle: { color: ink, fontFamily },
      legend: { textStyle: { color: ink }, inactiveColor: line },
      tooltip: { backgroundColor: ground, borderColor: line, textStyle: { color: ink } },
      dataZoom: { textStyle: { color: muted }, borderColor: line },
      categoryAxis: axis,
      valueAxis: axis,
      timeAxis: axis,
      logAxis: axis,
    };
  }
}

// Options can't carry functions, so a custom series names its drawing.
function drawable(series) {
  return series.type === "custom" && series.renderItem === "interval"
    ? { z: 3, ...series, renderItem: interval, encode: { x: 0, y: [1, 2], ...series.encode } }
    : series;
}

// An interval as a whisker: data `[x, low, high]`.
function interval(_parameters, api) {
  const [x, low] = api.coord([api.value(0), api.value(1)]);
  const [, high] = api.coord([api.value(0), api.value(2)]);
  const half = Math.min(6, api.size([1, 0])[0] / 4);
  const style = { stroke: api.visual("color"), lineWidth: 1.5 };
  const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
  return {
    type: "group",
    children: [
      stroke(x, low, x, high),
      stroke(x - half, low, x + half, low),
      stroke(x - half, high, x + half, high),
    ],
  };
}

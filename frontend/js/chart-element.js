// <drainboard-chart>: a chart that is drawn when it comes into view.
//
//   <drainboard-chart role="img" aria-label="…">
//     <script type="application/json">ECHARTS OPTIONS</script>
//   </drainboard-chart>
//
// The drawing lives in the element's shadow tree, so what the server rendered
// stays as it is and may be exchanged for newer options. The same numbers stand
// beside it as a table; without this script nothing is missing but the picture.

export class ChartElement extends HTMLElement {
  #chart;
  #inView = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      this.#inView.disconnect();
      this.#draw();
    }
  }, { rootMargin: "200px" });
  #changed = new MutationObserver(() => this.#chart?.draw());

  connectedCallback() {
    this.#inView.observe(this);
    this.#changed.observe(this, { childList: true, characterData: true, subtree: true });
  }

  disconnectedCallback() {
    this.#inView.disconnect();
    this.#changed.disconnect();
    this.#chart?.dispose();
    this.#chart = undefined;
  }

  async #draw() {
    const { Chart } = await import("site:chart.js");
    if (this.isConnected && !this.#chart) {
      this.#chart = new Chart(this);
    }
  }
}

// Draws every [data-chart] of the page from the specs in its data. Colours are CSS variables, so
// that a theme, and print, change them without drawing.
(() => {
  const { charts, datasets } = window.pyscale.data;
  const ERRORS = 1; // of Vega's levels of logging
  const LANES_PX = 480, LANE_PX = [6, 24], LINEAR_TICKS = 5;
  const STYLE = `
    .chart-note, .chart-summary { font-size: .8125rem; line-height: 1.45; color: var(--chart-quiet); margin: .5rem 0 0; max-width: 70ch; }
    .chart-summary { color: var(--chart-ink); margin: .25rem 0 .75rem; }
    .chart-panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8rem), 1fr)); gap: 1rem; margin-top: .5rem; }
    .chart-panels.wide { grid-template-columns: minmax(0, 1fr); }
    .chart-panel[hidden] { display: none; }
    .chart-panel > p { font-size: .875rem; font-weight: 600; margin: 0 0 .5rem; color: var(--chart-ink); overflow-wrap: anywhere; }
    .chart-plot { width: 100%; min-width: 0; }
    .chart-plot svg { display: block; max-width: 100%; height: auto; }
    .chart-legend { display: flex; min-height: 1.25rem; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: 0 0 .5rem; padding: 0; font-size: .8125rem; color: var(--chart-ink); }
    .chart-legend li { display: flex; align-items: center; gap: .4em; margin: 0; min-width: 0; overflow-wrap: anywhere; }
    .chart-legend svg { flex: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
    .chart-choice { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; margin: 0 0 .25rem; font-size: .8125rem; color: var(--chart-ink); }
    .chart-choice label { display: flex; align-items: center; gap: .5em; max-width: 100%; }
    .chart-choice select { font: inherit; min-height: 2rem; min-width: 0; max-width: 100%; }
    .chart-plot svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
    .chart figcaption { margin-bottom: .25rem; }
    #vg-tooltip-element { position: fixed; visibility: hidden; z-index: 1000; max-width: min(24rem, 90vw); padding: .5rem .625rem; border: 1px solid var(--chart-grid); border-radius: 6px; background: var(--chart-edge); color: var(--chart-ink); box-shadow: 0 4px 16px rgb(0 0 0 / .18); font: .8125rem/1.4 system-ui, sans-serif; pointer-events: none; }
    #vg-tooltip-element :is(table, tr, td) { border: 0; background: none; }
    #vg-tooltip-element.visible { visibility: visible; }
    #vg-tooltip-element td { padding: 0; vertical-align: top; overflow-wrap: anywhere; }
    #vg-tooltip-element td.key { color: var(--chart-quiet); padding-right: .75rem; white-space: nowrap; }
    @media print { #vg-tooltip-element, .chart-choice { display: none; } }`;

  const boxes = [...document.querySelectorAll("input[name=stage]")];
  const chosen = {
    stages: boxes.filter((box) => box.checked).map((box) => box.value),
    scale: document.querySelector("input[name=scale]:checked")?.value ?? "log",
    amount: document.querySelector("input[name=amount]:checked")?.value ?? "absolute",
  };
  // What is no stage cannot be chosen, and is always shown.
  const isChosen = (stage) => boxes.every((box) => box.value !== stage) || chosen.stages.includes(stage);

  function made(tag, className, text = "") {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  }

  function addStyle() {
    const variables = (theme) => (datasets.colours ?? []).map((one) => `--chart-${one.name}: ${one[theme]};`).join("");
    const style = made("style", "");
    style.textContent = `:root { ${variables("light")} }
      :root[data-theme="dark"] { ${variables("dark")} }
      @media print { :root, :root[data-theme] { ${variables("light")} } }${STYLE}`;
    document.head.append(style);
  }

  // Everything in a spec, from the outermost object inwards.
  function* objects(value) {
    if (value === null || typeof value !== "object") return;
    yield value;
    for (const inner of Object.values(value)) yield* objects(inner);
  }

  function specOf(id, panel) {
    const spec = structuredClone(charts[id].spec);
    const own = {};
    for (const one of objects(spec)) {
      if (one.data?.name) own[one.data.name] = datasets[one.data.name];
      if (chosen.scale === "linear" && one.scale?.type === "log") {
        one.scale.type = "linear";
        // With a domain of its own a scale keeps the room for marks that stand aside.
        for (const property of one.scale.domain ? ["base"] : ["base", "nice", "padding"]) delete one.scale[property];
        one.axis.tickCount = LINEAR_TICKS;
        delete one.axis.labelExpr;
      }
    }
    for (const param of spec.params ?? []) {
      if (param.name === "panel") param.value = panel;
      if (param.name in chosen) param.value = param.name === "stages" ? param.value.filter(isChosen) : chosen[param.name];
    }
    spec.datasets = own;
    return spec;
  }

  // One plot: a chart without panels, or one panel of it.
  class Plot {
    constructor(id, place, panel = null) {
      Object.assign(this, { id, place, panel, signals: {}, drawing: null });
      // Vega draws again by itself, where the window has another width.
      new MutationObserver(() => this.unname()).observe(place, { subtree: true, childList: true, attributeFilter: ["role"] });
      this.names = charts[id].spec.params?.map((param) => param.name) ?? [];
      this.everyStage = charts[id].spec.params?.find((param) => param.name === "stages")?.value;
    }

    draw() {
      this.drawing ??= this.embed();
      return this.drawing;
    }

    async embed() {
      this.view?.finalize();
      const { view } = await window.vegaEmbed(this.place, specOf(this.id, this.panel), {
        mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false,
        // Layers may be empty, where no stage is chosen.
        logLevel: ERRORS,
        tooltip: { disableDefaultStyle: true },
      });
      this.view = view;
      const key = this.panel === null ? this.id : `${this.id}:${this.panel}`;
      window.pyscale.views[key] = view;
      if (this.panel === null || this.panel === charts[this.id].spec.usermeta.panels[0]) window.pyscale.views[this.id] = view;
      await this.apply();
      this.describe();
    }

    // The picture is one image with one text; its numbers stand in the page's tables.
    describe() {
      const { title, description } = charts[this.id];
      const svg = this.place.querySelector("svg");
      const name = this.panel === null ? title : `${title}, ${this.panel}`;
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `${name}. ${this.told ?? description}`);
      this.unname();
    }

    // Vega gives its groups roles without names.
    unname() {
      for (const part of [this.place, ...this.place.querySelectorAll("svg [role]")]) {
        for (const attribute of ["role", "aria-label", "aria-roledescription"]) part.removeAttribute(attribute);
      }
    }

    // `told` says what is seen then, where the description of the chart does not.
    async set(signals, told = null) {
      Object.assign(this.signals, signals);
      this.told = told ?? this.told;
      if (!this.view) return;
      await this.apply();
      this.describe();
    }

    async apply() {
      for (const [name, value] of Object.entries(this.signals)) this.view.signal(name, value);
      await this.view.runAsync();
    }

    async amount(value) {
      caption(this.id);
      if (this.names.includes("amount")) await this.set({ amount: value });
    }

    // A panel is a stage, or belongs to one.
    get stage() {
      return charts[this.id].spec.usermeta.stages?.[this.panel] ?? this.panel;
    }

    async stages() {
      if (this.everyStage) await this.set({ stages: this.everyStage.filter(isChosen) });
      if (this.panel === null) return;
      const wasHidden = this.place.parentElement.hidden;
      this.place.parentElement.hidden = !isChosen(this.stage);
      // Hidden it had no width.
      if (wasHidden && this.view) await this.view.signal("width", this.place.clientWidth).resize().runAsync();
    }

    async scale() {
      if (!this.drawing || !this.hasLogarithm()) return;
      await this.drawing;
      this.drawing = this.embed();
      await this.drawing;
    }

    hasLogarithm() {
      return [...objects(charts[this.id].spec)].some((one) => one.scale?.type === "log");
    }
  }

  // Shapes as Vega draws them, in a square from -1 to 1; without one it is a bar's part.
  const SHAPES = {
    circle: "M-1,0a1,1,0,1,0,2,0a1,1,0,1,0,-2,0Z", square: "M-.9,-.9h1.8v1.8h-1.8Z", diamond: "M0,-1.2L1,0L0,1.2L-1,0Z",
    cross: "M-1,-.4h.6v-.6h.8v.6h.6v.8h-.6v.6h-.8v-.6h-.6Z", stroke: "M-1.2,0h2.4",
    "triangle-up": "M-1,.9L0,-.9L1,.9Z", "triangle-down": "M-1,-.9L0,.9L1,-.9Z",
  };

  function swatch({ colour, shape, hollow }) {
    const line = `fill="none" stroke="${colour}" stroke-width=".3"`;
    const drawn = hollow || shape === "stroke" ? `<path d="${SHAPES[shape ?? "circle"]}" ${line}/>`
      : `<path d="${SHAPES[shape ?? "square"]}" fill="${colour}"${shape ? "" : ' stroke="var(--chart-grid, #E6E8EB)" stroke-width=".15"'}/>`;
    return `<svg viewBox="-1.4 -1.4 2.8 2.8" width="13" height="13" aria-hidden="true">${drawn}</svg>`;
  }

  function legend(parts) {
    const list = made("ul", "chart-legend");
    for (const part of parts) {
      const item = made("li", "");
      item.insertAdjacentHTML("afterbegin", swatch(part));
      item.append(part.name);
      if (boxes.some((box) => box.value === part.name)) item.dataset.stage = part.name;
      list.append(item);
    }
    return list;
  }

  // Chooses the stage and N whose middle trial the timeline shows.
  class Choice {
    constructor(id, container, plot) {
      this.plot = plot;
      this.rows = datasets[id];
      this.select = made("select", "");
      this.summary = made("p", "chart-summary");
      this.summary.setAttribute("aria-live", "polite");
      this.select.append(...this.rows.map((row) => new Option(`${row.curve}, N = ${row.workers}`, row.trial)));
      this.select.value = charts[id].spec.params.find((param) => param.name === "trial").value;
      this.select.addEventListener("change", () => this.show());
      const label = made("label", "", "Stage and N");
      label.append(this.select);
      container.append(made("div", "chart-choice"), this.summary);
      container.firstChild.append(label);
      this.show();
    }

    get shown() {
      return this.rows.find((row) => row.trial === this.select.value);
    }

    show() {
      const row = this.shown;
      const step = Math.max(LANE_PX[0], Math.min(LANE_PX[1], LANES_PX / row.workers));
      this.summary.textContent = row.summary;
      const told = `${row.curve}, N = ${row.workers}. ${row.summary}`;
      this.plot.set({ trial: row.trial, height: step * row.workers }, told);
    }

    // Stages that are left out cannot be chosen, and the one that is shown is not left out.
    stages() {
      for (const [place, row] of this.rows.entries()) this.select.options[place].disabled = !isChosen(row.curve);
      const other = this.rows.findLast((row) => isChosen(row.curve));
      if (isChosen(this.shown.curve) || !other) return;
      this.select.value = other.trial;
      this.show();
    }
  }

  // What a chart shows is its only title.
  function titleOf(id) {
    const { titles } = charts[id].spec.usermeta;
    return titles?.[chosen.amount] ?? titles?.absolute ?? charts[id].title;
  }

  function caption(id) {
    const text = document.querySelector(`[data-chart="${id}"]`)?.closest("figure")?.querySelector("figcaption > span");
    if (text) text.textContent = titleOf(id);
  }

  // Builds what stands around the plots of one chart, and the plots, which are not drawn yet.
  function mounted(place) {
    const id = place.dataset.chart;
    const { note, panels, legend: parts, wide } = charts[id].spec.usermeta;
    const plots = [];
    place.replaceChildren();
    caption(id);
    if (parts) place.append(legend(parts));
    const canChoose = charts[id].spec.params?.some((param) => param.name === "trial");
    const head = made("div", "");
    place.append(head);
    const grid = made("div", panels.length ? `chart-panels${wide ? " wide" : ""}` : "");
    for (const panel of panels.length ? panels : [null]) {
      const cell = made("div", panel === null ? "" : "chart-panel");
      if (panel !== null) cell.append(made("p", "", panel));
      const plot = made("div", "chart-plot");
      cell.append(plot);
      grid.append(cell);
      plots.push(new Plot(id, plot, panel));
    }
    place.append(grid);
    if (note) place.append(made("p", "chart-note", note));
    if (canChoose) choices.push(new Choice(id, head, plots[0]));
    return plots;
  }

  // From the top of the page on.
  async function drawAll(plots) {
    for (const plot of plots) await plot.draw();
  }

  const choices = [];
  addStyle();
  const places = [...document.querySelectorAll("[data-chart]")].filter((place) => place.dataset.chart in charts);
  const plots = places.flatMap(mounted);
  const each = (act) => Promise.all(plots.map(act));
  document.addEventListener("pyscale:stages", (event) => {
    chosen.stages = event.detail;
    choices.forEach((choice) => choice.stages());
    each((plot) => plot.stages());
  });
  document.addEventListener("pyscale:amount", (event) => {
    chosen.amount = event.detail;
    each((plot) => plot.amount(event.detail));
  });
  document.addEventListener("pyscale:scale", (event) => {
    chosen.scale = event.detail;
    each((plot) => plot.scale());
  });
  window.pyscale.ready = drawAll(plots);
})();

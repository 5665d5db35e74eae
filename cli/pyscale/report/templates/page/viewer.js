// Viewers: speedups against the chosen base, rows that open, explanations, downloads.
for (const shown of document.querySelectorAll(".viewer")) {
  const { columns, rows, names, written, source, no_speedup: noSpeedup, file, why_not: whyNot,
    of_rates: ofRates } = window.pyscale.data[shown.dataset.viewer];
  const { wholes } = shown.dataset;
  const all = (selector, inside = shown) => [...inside.querySelectorAll(selector)];
  const element = (name, properties, ...content) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...content);
    return made;
  };

  // Speedups
  const base = () => Number(shown.querySelector("input[type=radio]:checked")?.value ?? 0);
  const ratio = (row, column, name, value) => {
    const made = element("data", { value }, value.toFixed(2));
    Object.assign(made.dataset, { table: shown.dataset.viewer, key: row.cells[column].key, column: name });
    return made;
  };
  const explained = (text, why, label) => {
    const made = element("span", { className: "why", tabIndex: 0 }, text);
    made.setAttribute("role", "button");
    made.setAttribute("aria-label", label);
    made.dataset.why = why;
    return made;
  };
  const speedup = (row, column, found) => {
    if (!found) return row.part ? [] : [columns.length > 1 ? "base" : "-"];
    if (found.speedup === undefined) return [explained("-", whyNot[found.why_not], "no speedup")];
    const told = [ratio(row, column, "speedup", found.speedup)];
    if (found.speedup_low !== undefined) {
      const [low, high] = ["speedup_low", "speedup_high"].map((end) => ratio(row, column, end, found[end]));
      told.push(element("small", {}, low, " to ", high));
    }
    if (found.basis === "rate") told.push(element("small", {}, explained("of rates", ofRates, "of rates")));
    return told;
  };
  const against = (chosen) => {
    for (const line of all("tr[data-row]")) {
      const row = rows[line.dataset.row];
      for (const cell of all("td.speedup", line)) {
        const column = Number(cell.dataset.column);
        cell.replaceChildren(...speedup(row, column, row.cells[column].speedups[chosen]));
      }
    }
  };
  for (const radio of all("input[type=radio]")) radio.addEventListener("change", () => against(base()));
  against(base());

  // Rows that open
  const everything = shown.querySelector(".expand-all");
  const openers = all("button.expand");
  const open = (opener, isOpen) => {
    opener.setAttribute("aria-expanded", String(isOpen));
    let line = opener.closest("tr").nextElementSibling;
    for (; line?.classList.contains("part"); line = line.nextElementSibling) line.classList.toggle("open", isOpen);
    const areOpen = openers.every((one) => one.getAttribute("aria-expanded") === "true");
    everything.setAttribute("aria-expanded", String(areOpen));
    everything.textContent = `${areOpen ? "Close" : "Open"} all ${wholes}`;
  };
  everything.hidden = openers.length === 0;
  for (const opener of openers) {
    opener.addEventListener("click", () => open(opener, opener.getAttribute("aria-expanded") !== "true"));
  }
  everything.addEventListener("click", () => {
    const isOpen = everything.getAttribute("aria-expanded") !== "true";
    for (const opener of openers) open(opener, isOpen);
  });

  // Explanations, on hover and on focus; Escape hides them.
  const tip = shown.querySelector(".tip");
  let told = null;
  const hide = () => {
    told?.removeAttribute("aria-describedby");
    told = null;
    tip.hidden = true;
  };
  const tell = (what) => {
    if (told !== what) hide();
    told = what;
    tip.textContent = what.dataset.why;
    tip.hidden = false;
    what.setAttribute("aria-describedby", tip.id);
    const place = what.getBoundingClientRect();
    const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = place.bottom + tip.offsetHeight + 4 <= window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? place.bottom + 4 : Math.max(4, place.top - tip.offsetHeight - 4)}px`;
  };
  const explaining = (event) => event.target.closest?.("[data-why]");
  for (const name of ["mouseover", "focusin", "click"]) {
    shown.addEventListener(name, (event) => { if (explaining(event)) tell(explaining(event)); });
  }
  shown.addEventListener("focusout", hide);
  shown.addEventListener("mouseout", (event) => {
    const to = event.relatedTarget;
    if (told && to !== tip && !told.contains(to) && document.activeElement !== told) hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  // What is focused by keyboard is scrolled into sight: its explanation goes with it.
  const follow = () => { if (told) (told.matches(":hover, :focus") ? tell(told) : hide()); };
  window.addEventListener("scroll", follow, { passive: true, capture: true });

  // Downloads
  const picked = (held, wanted) => Object.fromEntries(wanted.map((one) => [one, held[one]]));
  const line = (row, column, chosen) => {
    const { id, name, kind } = columns[column];
    const cell = row.cells[column];
    const found = cell.speedups[chosen] ?? {};
    return {
      side: id, name, [source]: kind, ...picked(cell, names), ...picked(cell, written), likely_limit: cell.tag,
      base: columns[chosen].id, ...picked(found, ["speedup", "speedup_low", "speedup_high", "basis"]),
      [noSpeedup]: found.why_not,
    };
  };
  const lines = () => rows.flatMap((row) =>
    columns.flatMap((_, column) => (row.cells[column] ? [line(row, column, base())] : [])));
  const quoted = (value) => {
    const text = Array.isArray(value) ? value.join(" ") : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const forms = {
    csv: () => {
      const found = lines();
      return [Object.keys(found[0]), ...found.map(Object.values)]
        .map((values) => `${values.map(quoted).join(",")}\n`).join("");
    },
    json: () => JSON.stringify({ base: columns[base()].id, columns, times: lines() }, null, 1),
  };
  const types = { csv: "text/csv", json: "application/json" };
  for (const button of all("button[data-viewer]")) {
    button.addEventListener("click", () => {
      const format = button.dataset.viewer;
      window.pyscale.save(`${file}.${format}`, new Blob([forms[format]()], { type: types[format] }));
    });
  }
}

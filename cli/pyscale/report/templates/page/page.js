// Controls of the page: stages, scales, theme, downloads. Charts listen to what is told here.
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(`pyscale:${name}`, { detail }));

  // Stages: what belongs to one that is not chosen is hidden, in tables and text.
  const boxes = all("input[name=stage]");
  const names = boxes.map((box) => box.value);
  const showStages = () => {
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    for (const element of all("main [data-stage]")) {
      // What is no stage, as a test of the machine, cannot be chosen.
      const { stage } = element.dataset;
      element.hidden = names.includes(stage) && !chosen.includes(stage);
    }
    tell("stages", chosen);
  };
  for (const box of boxes) box.addEventListener("change", showStages);

  for (const radio of all("input[name=scale], input[name=amount]")) {
    radio.addEventListener("change", () => tell(radio.name, radio.value));
  }

  // Theme: the system's, until one is chosen. Paper is light.
  const button = document.querySelector("button.theme");
  const setTheme = (theme) => {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    tell("theme", theme);
  };
  button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  button.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("pyscale-theme", theme); } catch { /* kept for this view alone */ }
    setTheme(theme);
  });
  let shown = null;
  addEventListener("beforeprint", () => {
    shown = { theme: root.dataset.theme, closed: all("details:not([open])") };
    for (const details of shown.closed) details.open = true;
    if (shown.theme === "dark") setTheme("light");
  });
  addEventListener("afterprint", () => {
    for (const details of shown.closed) details.open = false;
    if (shown.theme === "dark") setTheme("dark");
  });

  // Downloads: the tables as their files hold them.
  const rowsOf = (csv) => {
    const cells = [...csv.matchAll(/("(?:[^"]|"")*"|[^,\n]*)(,|\n|$)/g)];
    const lines = [[]];
    for (const [, cell, end] of cells) {
      lines.at(-1).push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
      if (end === "\n") lines.push([]);
      if (end === "") break;
    }
    const [names, ...rows] = lines.filter((line) => line.length > 1 || line[0] !== "");
    return rows.map((row) => Object.fromEntries(names.map((name, place) => [name, typed(row[place])])));
  };
  const typed = (cell) => {
    if (cell === "") return null;
    if (cell === "true" || cell === "false") return cell === "true";
    return Number.isNaN(Number(cell)) ? cell : Number(cell);
  };
  const save = (name, text, type) => window.pyscale.save(name, new Blob([text], { type }));
  for (const download of all("[data-download]")) {
    download.addEventListener("click", () => {
      const csv = window.pyscale.data.tables[download.dataset.download];
      const file = download.dataset.file;
      if (file.endsWith(".csv")) save(file, csv, "text/csv");
      else save(file, JSON.stringify(rowsOf(csv), null, 1), "application/json");
    });
  }

  // A page from disk may not reach the clipboard; then the line is selected, ready to be copied.
  for (const copy of all("button.copy")) {
    copy.addEventListener("click", async () => {
      const line = copy.closest(".command").querySelector("code");
      try {
        await navigator.clipboard.writeText(line.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(line);
        copy.textContent = "Selected";
      }
    });
  }

  // A picture, larger; Escape, or a click, closes it.
  for (const shot of all("button.shot")) {
    shot.addEventListener("click", () => {
      const dialog = document.createElement("dialog");
      const title = shot.nextElementSibling.textContent;
      dialog.setAttribute("aria-label", title);
      dialog.append(shot.firstElementChild.cloneNode());
      dialog.addEventListener("click", () => dialog.close());
      dialog.addEventListener("close", () => { dialog.remove(); shot.focus(); });
      document.body.append(dialog);
      dialog.showModal();
    });
  }

  // The link of the section that is being read.
  const links = new Map(all("nav a[href^='#']").map((link) => [link.hash.slice(1), link]));
  const read = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  for (const section of all("main > section[id]")) read.observe(section);
})();

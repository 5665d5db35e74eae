// Before the first paint, so that no page flashes in the other theme.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  // A page from disk may have no storage.
  try { chosen = localStorage.getItem("pyscale-theme"); } catch { chosen = null; }
  document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
})();

"""What charts show, read from the marks that they have drawn, and what readers do on a page."""

from pathlib import Path

DRAWN = """
chart => {
  const found = [];
  const walk = (item, type) => {
    if (item.marktype) return item.items.forEach(own => walk(own, item.marktype));
    // A layer's groups have no datum, and legends have one without a curve.
    if (item.datum?.curve !== undefined && item.opacity !== 0 && type !== "group")
      found.push({ type, x: item.x, y: item.y, ...item.datum });
    (item.items ?? []).forEach(own => walk(own, type));
  };
  const views = Object.entries(window.pyscale.views)
    .filter(([key]) => key === chart || key.startsWith(`${chart}:`)).map(([, view]) => view);
  for (const view of new Set(views))
    if (view.container()?.checkVisibility()) walk(view.scenegraph().root);
  return found;
}
"""
CHOSEN = f"""
([chart, curve, is_there]) => ({DRAWN})(chart).some(mark => mark.curve === curve) === is_there
"""
WIDTHS = """
() => [...document.querySelectorAll('[data-chart] .chart-plot svg')]
  .reduce((sum, svg) => sum + +svg.getAttribute('width'), 0)
"""
PLACE = "([chart, axis, value]) => window.pyscale.views[chart].scale(axis)(value)"


def marks(page, chart, **values):
    """Data of the visible marks of a chart, with their `type` and their `x` and `y` in pixels."""
    found = page.evaluate(DRAWN, chart)
    return [mark for mark in found if all(mark.get(key) == value for key, value in values.items())]


def until_drawn(page, chart, curve, *, is_there):
    """Wait until a chart shows a curve, or does no longer."""
    page.wait_for_function(CHOSEN, arg=[chart, curve, is_there])


def place(page, chart, axis, value):
    """Pixels at which an axis has a value."""
    return page.evaluate(PLACE, [chart, axis, value])


def widths(page):
    """Sum of the widths at which all charts are drawn."""
    return page.evaluate(WIDTHS)


def until_wide(page, pixels):
    """Wait until all charts are as wide together."""
    page.wait_for_function(f"pixels => ({WIDTHS})() === pixels", arg=pixels)


def choose(page, name, value):
    """Choose among radios as a reader does, whose label is what is seen."""
    page.locator(f"label:has(input[name='{name}'][value='{value}'])").click()


def until(page, condition, argument=None):
    page.wait_for_function(condition, arg=argument)


def downloaded(page, selector):
    """Name and bytes of the file that a button gives."""
    with page.expect_download() as waiting:
        page.locator(selector).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

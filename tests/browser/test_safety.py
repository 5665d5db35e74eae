"""The page asks nothing of any network, and no name in it becomes code."""

from browser.reports import HOSTILE, MARKUP

BLOCKED = """
async () => {
  window.refused = [];
  document.addEventListener(
    "securitypolicyviolation", event => window.refused.push(event.effectiveDirective));
  const tries = {
    fetch: () => fetch("http://127.0.0.1:9/"),
    image: () => new Promise((done, failed) => {
      const image = new Image(); image.onload = done; image.onerror = failed;
      image.src = "http://127.0.0.1:9/a.png";
    }),
  };
  const passed = [];
  for (const [name, attempt] of Object.entries(tries)) {
    try { await attempt(); passed.push(name); } catch { continue; }
  }
  return passed;
}
"""
REFUSED = "['connect-src', 'img-src'].every(each => window.refused.includes(each))"
"""The page is told of it apart from the attempt, and maybe later."""


def test_the_page_forbids_itself_any_network(full, unwatched):
    """It is asked to reach out, and its own policy refuses before anything is sent."""
    sent = []
    unwatched.on(
        "request", lambda request: sent.append(request.url) if "127" in request.url else None
    )
    unwatched.goto(full.page.as_uri())
    assert unwatched.evaluate(BLOCKED) == []
    unwatched.wait_for_function(REFUSED)


def test_no_name_becomes_code(hostile, visit):
    """An alert would fail the test by itself."""
    page = visit(hostile.page)
    for control in page.locator("main input, header input").all():
        control.dispatch_event("click")
    assert page.locator("main script, main img").count() == 0


def test_every_name_is_read_as_it_is_written(hostile, visit_once):
    page = visit_once(hostile.page)
    shown = page.locator("main").text_content() or ""
    values = page.evaluate(
        "() => [...document.querySelectorAll('input[name=stage]')].map(found => found.value)"
    )
    assert set(values) == set(HOSTILE)
    texts = page.evaluate(
        "() => [...document.querySelectorAll('[data-chart=speedup] .chart-legend li')]"
        ".map(found => found.textContent)"
    )
    assert MARKUP in " ".join(texts)
    for name in HOSTILE:
        assert name in shown
        # In the charts a long one may end in an ellipsis.
        assert name[:12] in " ".join(texts), name
    assert page.locator("h1").inner_text() == "<b>a run</b>"
    assert page.title().startswith("<b>a run</b>")

"""A headless Chromium of this machine, and pages in it that tell of all that goes wrong."""

import shutil
from contextlib import contextmanager

from playwright.sync_api import expect, sync_playwright

PROGRAMS = ("chromium", "google-chrome")
FROM_DISK = ("file:", "data:", "blob:")
"""How addresses begin that need no network."""
PHONE = {"width": 375, "height": 812, "has_touch": True, "is_mobile": True}
TIMEOUT_MS = 300_000
"""What a page must show is there long before, also on a slow and busy machine."""
expect.set_options(timeout=TIMEOUT_MS)  # It knows nothing of the limit of the page it looks at.


def find_chromium():
    """Path of the browser, where there is one."""
    return next((found for found in map(shutil.which, PROGRAMS) if found), None)


@contextmanager
def running_chromium(program):
    """Start the browser, and end it."""
    with sync_playwright() as playwright:
        # Its sandbox refuses to be started by root; it opens nothing here but our own files.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"], timeout=TIMEOUT_MS
        )
        yield browser
        browser.close()


def patient_context(browser, **options):
    """Make a context whose pages have time, whatever the machine does."""
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT_MS)
    return context


class Visitor:
    """Opens files in the browser and notes all that must not happen in any of them."""

    def __init__(self, browser):
        self._browser = browser
        self._contexts = []
        self._opened = {}
        self.trouble = []

    def open(self, file, *, width=1280, height=800, until_drawn=True, **options):
        """Open a file from disk as somebody does who has never seen it, and wait for its charts."""
        context = patient_context(
            self._browser,
            viewport={"width": width, "height": height},
            accept_downloads=True,
            **options,
        )
        self._contexts.append(context)
        context.on("request", self._requested)
        page = context.new_page()
        page.on("console", self._said)
        page.on("dialog", self._asked)
        page.on("pageerror", lambda error: self.trouble.append(f"page error: {error}"))
        page.on("requestfailed", lambda request: self.trouble.append(f"failed: {request.url:.200}"))
        page.goto(file.as_uri())
        if until_drawn:
            page.evaluate("() => window.pyscale.ready")
        return page

    def open_once(self, file, **options):
        """Open a file, or return the page on which it is open, as far as can be as at first."""
        key = (file, *options.items())
        if key not in self._opened:
            self._opened[key] = self.open(file, **options)
        page = self._opened[key]
        page.mouse.move(0, 0)
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        return page

    def close(self):
        """Close all that was opened."""
        for context in self._contexts:
            context.close()

    def _requested(self, request):
        if not request.url.startswith(FROM_DISK):
            self.trouble.append(f"asked the network for {request.url:.200}")

    def _asked(self, dialog):
        self.trouble.append(f"dialog: {dialog.message:.200}")
        dialog.dismiss()

    def _said(self, message):
        if message.type in {"error", "warning"}:
            self.trouble.append(f"console {message.type}: {message.text:.500}")

"""Pages in a real browser, which pytest ends with the tests of this folder."""

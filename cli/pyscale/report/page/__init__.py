"""The page report.html: one file that needs no network. Computes nothing itself."""

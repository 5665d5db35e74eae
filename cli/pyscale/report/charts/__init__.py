"""Charts of the page report.html, as Vega-Lite with names of datasets. Computes nothing itself."""

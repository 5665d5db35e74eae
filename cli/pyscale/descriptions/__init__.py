"""`pyscale stage import`: descriptions of tools in other formats become suites of one step."""

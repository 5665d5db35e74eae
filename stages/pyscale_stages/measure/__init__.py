"""Measurement on the node: spans, page cache, hardware stamp, resource use."""

"""Where a run stands: while it runs, and afterwards."""

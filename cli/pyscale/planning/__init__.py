"""What to measure: suites and settings become a plan of trials."""

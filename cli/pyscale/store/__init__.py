"""The run folder: plan, journal, records, locks, tables, manifest."""

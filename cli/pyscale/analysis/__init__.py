"""Pure functions on polars tables: no clock, no files, no executor."""

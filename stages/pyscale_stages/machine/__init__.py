"""Shared parts of the stages that measure the machine: place, scratch folder, tables, joining."""

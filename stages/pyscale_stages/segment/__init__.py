"""Segments cells with Cellpose, version 3 or 4.

`stage` is what a task runs; `models` finds the weights and the adapter that can run them.
"""

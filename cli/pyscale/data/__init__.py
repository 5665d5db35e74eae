"""Datasets: the registry, fetching and unpacking, verification, and where a movie lies.

`fetch.ensure` is what a run calls; `commands.data_app` is the command line.
"""

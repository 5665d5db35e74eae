"""Datasets: the registry, fetching and unpacking, verification, and where a movie lies.

`fetch.Fetcher` is what a run calls; `commands.data_app` is the command line.
"""

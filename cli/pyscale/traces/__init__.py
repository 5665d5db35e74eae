"""Traces that people have already, from sacct, Nextflow, Snakemake and jobstats, as wall times."""

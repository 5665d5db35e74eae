"""Traces that people have already, from sacct, Nextflow and Snakemake, as wall times."""

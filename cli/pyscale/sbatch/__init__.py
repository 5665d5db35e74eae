"""Batch scripts that run a suite on a cluster without pyscale: `pyscale run --emit`."""

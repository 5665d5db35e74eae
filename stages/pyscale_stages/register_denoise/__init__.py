"""Registers every frame to a reference frame with ANTs, and denoises it."""

"""Code that runs inside an image: the stages, and their measurement on the node."""

from pyscale_stages.telling import metric, phase

__all__ = ["metric", "phase"]

"""Reads a region of a slide in other processes, which import this module by its name."""

import multiprocessing

import numpy as np

PATIENCE_S = 400.0


def total(slide, region, plane=0):
    return int(slide.read(0, *region, plane=plane).sum(dtype=np.int64))


def totals_elsewhere(slide, region, method, plane=0):
    """The same, from two processes that were given the slide."""
    context = multiprocessing.get_context(method)
    totals = context.Queue()
    others = [context.Process(target=_send, args=(slide, region, plane, totals)) for _ in range(2)]
    for process in others:
        process.start()
    found = [totals.get(timeout=PATIENCE_S) for _ in others]
    for process in others:
        process.join()
    return found


def _send(slide, region, plane, totals):
    totals.put(total(slide, region, plane))

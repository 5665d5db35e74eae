"""Segments frames by calls of a model, each of which is timed and recorded."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from pyscale_stages.contract import Call
from pyscale_stages.hashing import sha256_of
from pyscale_stages.movie import Pixels
from pyscale_stages.segment import accelerator, device
from pyscale_stages.segment.doubts import Doubts
from pyscale_stages.segment.models import Labels, Limits, Model, Segmenter
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.segment.parts import HOOKS, SIZE_HOOK, timed_parts
from pyscale_stages.task import Task

if TYPE_CHECKING:
    import torch


class ModelCalls:
    """Calls of one model in one task.

    The model is built at the first call, which thereby knows what it cost.

    Parameters
    ----------
    task : Task
        Keeps the calls, their spans, and the most memory that torch held on the device.
    params : SegmentParams
        Also say how often each frame is segmented, and whether on a new model each time.
    model : Model
        What is built; its libraries are imported already.
    """

    def __init__(self, task: Task, params: SegmentParams, model: Model) -> None:
        self._task = task
        self._params = params
        self._model = model
        self._hooks = (*HOOKS, SIZE_HOOK) if params.estimate_diameter else HOOKS
        self._segmenter: Segmenter | None = None
        self.doubts = Doubts(params)

    def segment(self, frame: Pixels, number: int, limits: Limits | None = None) -> Labels:
        """Label a frame as often as the parameters say; the labels are the last call's.

        What warns of them is counted in `doubts`.

        Parameters
        ----------
        frame : ndarray
            Shape (Y, X).
        number : int
            Which frame of the movie it is.
        limits : tuple of float, optional
            See `Segmenter.segment`.

        Returns
        -------
        ndarray
            Shape (Y, X); see `Segmenter.segment`.
        """
        for _ in range(self._params.calls - 1):
            self._call(frame, number, limits)
        labels = self._call(frame, number, limits)
        assert self._segmenter is not None, "a call leaves the model that it used"
        with self._task.span("write"):
            self.doubts.add(frame, labels, self._segmenter)
        return labels

    def _call(self, frame: Pixels, number: int, limits: Limits | None) -> Labels:
        segmenter, build_s = self._ready()
        if not self._task.calls:
            self._warn_of_padding(frame, segmenter)
        with self._task.span("compute"):
            start = time.monotonic()
            with timed_parts(self._hooks, self._wait) as times:
                labels = segmenter.segment(frame, self._params, limits)
            self._wait()
            wall_s = time.monotonic() - start
        self._task.gpu_own_peak_bytes = self._most_held_bytes()
        self._task.add_call(
            Call(
                frame=number,
                index=len(self._task.calls),
                shape_yx=(frame.shape[0], frame.shape[1]),
                build_s=build_s,
                wall_s=wall_s,
                parts=times.seconds,
                objects=int(labels.max(initial=0)),
                diameter_px=segmenter.estimated_diameter_px,
            )
        )
        return labels

    def _ready(self) -> tuple[Segmenter, float | None]:
        """The model, and the seconds it took to build where it was built for this call."""
        if self._segmenter is not None and not self._params.build_each_call:
            return self._segmenter, None
        # Two networks at once would take the memory of two.
        self._segmenter = None
        with self._task.span("model_load"):
            start = time.monotonic()
            self._segmenter = self._model.build(self._device)
            self._wait()
            build_s = time.monotonic() - start
            if not self._task.calls:
                self._record_weights()
        return self._segmenter, build_s

    @cached_property
    def _device(self) -> torch.device:
        spec = self._task.spec
        return device.prepare(spec.device, threads=spec.threads, seed=spec.seed)

    def _wait(self) -> None:
        accelerator.wait_for(self._device)

    def _most_held_bytes(self) -> int | None:
        held = accelerator.held_bytes(self._device)
        return None if held is None else max(held, self._task.gpu_own_peak_bytes or 0)

    def _record_weights(self) -> None:
        self._task.versions["weights_sha256"] = sha256_of(self._model.weights)
        if self._model.size_weights is not None:
            self._task.versions["size_weights_sha256"] = sha256_of(self._model.size_weights)

    def _warn_of_padding(self, frame: Pixels, segmenter: Segmenter) -> None:
        height, width = frame.shape
        if min(height, width) < segmenter.tile_px:
            self._task.warn(
                f"{width} x {height} pixels are less than a tile of the network "
                f"({segmenter.tile_px} x {segmenter.tile_px}): it also computes on padding, and "
                "its time for each pixel says little of larger frames",
                "less-than-a-tile",
            )

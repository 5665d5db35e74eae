"""Calls of a model, each timed and recorded, and signs that it does not see the cells."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyscale_stages.contract import Device
from pyscale_stages.hashing import sha256_of
from pyscale_stages.measured import Warned
from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import Labels, Limits, Model
from pyscale_stages.segment.params import EMBEDDED_MODEL, EMBEDDED_PURPOSE, SegmentParams
from pyscale_stages.segment.parts import HOOKS, SIZE_HOOK, timed_parts
from pyscale_stages.task import Task
from pyscale_stages.timing import Call
from pyscale_stages.torchdevice import first_used, held_bytes, wait_for
from pyscale_stages.truth.cells import meeting

if TYPE_CHECKING:
    import torch

    from pyscale_stages.segment.networks import Segmenter


TIMES_TRAINED = 2.0
"""How far the median object may be from the size that the model was trained on."""
MOST = 0.5
MUCH_OUTSIDE = 0.3
"""Of the bright pixels of nuclei of the right size 0.01 to 0.18 lie outside, of others 0.5 up."""
MOST_TOUCH = 0.8
"""Of nuclei that lie close, as in stardist's image, half touch; of outlined noise all do."""
SAMPLED_PX = 512
"""Side to which a frame is thinned to find what is bright."""


class Doubts:
    """What was found in the frames of a window, held against what the model is for."""

    def __init__(self, params: SegmentParams) -> None:
        self._params = params
        self._trained_px: float | None = None
        self._counts = dict.fromkeys(
            ("frames", "empty", "objects", "small", "large", "touching", "bright", "outside"), 0
        )

    def add(self, frame: Pixels, labels: Labels, segmenter: Segmenter) -> None:
        """Count what was found in one frame."""
        counts = self._counts
        areas_px = np.bincount(labels.ravel())[1:]
        diameters_px = 2 * np.sqrt(areas_px[areas_px > 0] / np.pi)
        counts["frames"] += 1
        counts["empty"] += not len(diameters_px)
        counts["objects"] += len(diameters_px)
        self._trained_px = trained = segmenter.trained_diameter_px
        if trained is not None:
            counts["small"] += int((diameters_px < trained / TIMES_TRAINED).sum())
            counts["large"] += int((diameters_px > trained * TIMES_TRAINED).sum())
        if self._params.model == EMBEDDED_MODEL:
            bright = _bright(frame)
            counts["touching"] += len(_touching(labels))
            counts["bright"] += int(bright.sum())
            counts["outside"] += int((bright & (labels == 0)).sum())

    def warnings(self) -> Iterator[Warned]:
        """What the window has to warn of; each judgement is made where all windows are known."""
        model = self._params.model
        # Of weights of one's own nobody here knows what they are for.
        nothing = ""
        if model == EMBEDDED_MODEL:
            nothing = f". {model} is {EMBEDDED_PURPOSE}: its counts mean nothing here"
        yield self._warned("no-objects", "empty", "frames", "have no object", 0.0)
        sized = self._params.diameter_px is None and not self._params.estimate_diameter
        if sized and self._trained_px is not None:
            for code, than in (("small", "narrower than half"), ("large", "wider than twice")):
                text = (
                    f"are {than} the {self._trained_px:.3g} px that {model} was trained "
                    f"on{nothing}. Set diameter_px, or choose another model"
                )
                yield self._warned(f"{code}-objects", code, "objects", text, MOST)
        if model == EMBEDDED_MODEL:
            text = f"touch another one, as outlines of noise and granules do{nothing}"
            yield self._warned("touching-objects", "touching", "objects", text, MOST_TOUCH)
            text = f"lie outside every object{nothing}"
            yield self._warned("bright-outside", "outside", "bright pixels", text, MUCH_OUTSIDE)

    def _warned(self, code: str, concerned: str, seen: str, text: str, above: float) -> Warned:
        return Warned(
            code=code,
            text=text,
            concerned=self._counts[concerned],
            seen=self._counts[seen.partition(" ")[0]],
            unit=seen,
            above=above,
            doubts_result=True,
        )


def _touching(labels: Labels) -> Labels:
    """Labels with a pixel beside one of another, diagonals included."""
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))
    met = np.concatenate([meeting(labels, labels, step, of_one=True) for step in steps])
    # `meeting` packs a pair into one number.
    return np.asarray(np.unique([met >> 32, met & 0xFFFFFFFF]))


def _bright(frame: Pixels) -> npt.NDArray[np.bool_]:
    """Pixels of a frame above Otsu's threshold between dark and bright."""
    import cv2

    step = max(1, min(frame.shape) // SAMPLED_PX)
    low, high = np.percentile(frame[::step, ::step], (1, 99))
    if high <= low:
        return np.zeros(frame.shape, bool)
    scaled = np.clip((frame.astype(np.float32) - low) * (255 / (high - low)), 0, 255)
    # One pixel of noise is not bright.
    smooth = cv2.GaussianBlur(scaled, (0, 0), 1.0).astype(np.uint8)
    _, bright = cv2.threshold(smooth, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return np.asarray(bright.astype(bool))


def prepared_device(name: Device, *, threads: int, seed: int) -> torch.device:
    """Set torch up for a reproducible task and return a device that works."""
    import cv2
    import torch

    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)
    torch.manual_seed(seed)
    # Cellpose draws from NumPy's global generator.
    np.random.seed(seed)  # noqa: NPY002
    # cuBLAS reads this when it is first used; without it, it may choose other kernels each time.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    # Not every kernel that Cellpose calls has a reproducible form: those only warn. The same
    # switch under its better known name imports torch's compiler, which takes over a second.
    torch.set_deterministic_debug_mode("warn")
    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation")
    # Cellpose's sparse tensors are sound; torch would print a warning until someone chooses.
    torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]
    # The results do not depend on memory that was never written, so clearing it is wasted time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    device = torch.device(name)
    if name != "cpu":
        with first_used(device):
            image = torch.ones((1, 1, 8, 8), device=device)
            float(torch.nn.functional.conv2d(image, image[:, :, :3, :3]).sum())
    return device


def _weights_of(model: Model) -> dict[str, str]:
    found = {"weights_sha256": sha256_of(model.weights)}
    if model.size_weights is not None:
        found["size_weights_sha256"] = sha256_of(model.size_weights)
    return found


class ModelCalls:
    """Calls of one model in one task; the first call builds it, and knows what that cost."""

    def __init__(self, task: Task, params: SegmentParams, model: Model) -> None:
        self._task = task
        self._params = params
        self._model = model
        self._hooks = (*HOOKS, SIZE_HOOK) if params.estimate_diameter else HOOKS
        self._segmenter: Segmenter | None = None
        self.doubts = Doubts(params)

    def segment(self, frame: Pixels, number: int, limits: Limits | None = None) -> Labels:
        """Label a frame as often as the parameters say; the labels are the last call's."""
        for _ in range(self._params.calls - 1):
            self._call(frame, number, limits)
        labels = self._call(frame, number, limits)
        assert self._segmenter is not None, "a call leaves the model that it used"
        with self._task.span("write"):
            self.doubts.add(frame, labels, self._segmenter)
        return labels

    def _call(self, frame: Pixels, number: int, limits: Limits | None) -> Labels:
        segmenter, build_s = self._ready()
        height, width = frame.shape
        # Said once: no sample comes before the first call. Who chooses the tiles knows.
        chosen = self._params.tile_px is not None
        if not (self._task.samples or chosen) and min(height, width) < segmenter.tile_px:
            self._task.warn(
                f"{width} x {height} pixels are less than a tile of the network "
                f"({segmenter.tile_px} x {segmenter.tile_px}): it also computes on padding, so "
                "its time per pixel does not apply to larger frames",
                "less-than-a-tile",
            )
        with self._task.span("compute"):
            start = time.monotonic()
            with timed_parts(self._hooks, lambda: wait_for(self._device)) as times:
                labels = segmenter.segment(frame, self._params, limits)
            # A GPU may still compute when the call returns.
            wait_for(self._device)
            wall_s = time.monotonic() - start
        held = held_bytes(self._device)
        if held is not None:
            self._task.gpu_own_peak_bytes = max(held, self._task.gpu_own_peak_bytes or 0)
        self._task.add_sample(
            Call(
                frame=number,
                index=len(self._task.samples),
                shape_yx=(height, width),
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
            wait_for(self._device)
            build_s = time.monotonic() - start
        if not self._task.samples:
            with self._task.unmeasured():
                self._task.versions |= _weights_of(self._model)
        return self._segmenter, build_s

    @cached_property
    def _device(self) -> torch.device:
        spec = self._task.spec
        return prepared_device(spec.device, threads=spec.threads, seed=spec.seed)

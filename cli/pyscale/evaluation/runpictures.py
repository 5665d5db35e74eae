"""Pictures of a run, from the outputs that it kept; none where it kept none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pyscale.console import talk
from pyscale.planning.plan import Trial
from pyscale.planning.planner import CROP
from pyscale.report.page import pictures
from pyscale.store.folder import RunFolder
from pyscale.wording import listing
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import AS_IT_IS, Movie
from pyscale_stages.registry import load_stage

if TYPE_CHECKING:
    from PIL import Image


def pictures_of(run: RunFolder, tell: Callable[[str], object] = talk) -> pictures.Pictures | None:
    """Draw the middle frame as it was read, or with its crops, with outlines and with tracks."""
    from polars.exceptions import PolarsError

    try:
        return _pictures(run)
    except (OSError, BadInput, ValueError, KeyError, PolarsError) as error:
        # A picture is no reason to refuse a report.
        tell(f"the page has no pictures of the outputs: {error}")
        return None


def _pictures(run: RunFolder) -> pictures.Pictures | None:
    kept = [trial for trial in run.plan.trials if trial.is_reference and run.output(trial).is_dir()]
    track = next((trial for trial in kept if trial.stage == "track"), None)
    fed_by = {item.from_trial for item in track.inputs} if track else set()
    found = [trial for trial in kept if trial.stage == "segment"]
    segment = next((one for one in found if one.id in fed_by), found[0] if found else None)
    crops = _crops(run)
    if segment is None:
        return crops
    stage = load_stage(segment.stage)
    name = stage.output_with(stage.params.model_validate(segment.params))
    labels = Movie.open(run.output(segment) / name)
    place = labels.n_frames // 2
    view = pictures.View(labels.shape_yx)
    channel = _channel(segment)
    (pixels,) = _frames_of(run, segment).read(place, place + 1, channel)
    # Where a crop was asked for, the middle alone was segmented.
    pixels = pictures.middle(pixels, labels.shape_yx)
    where = f"frame {place + 1} of {labels.n_frames}"
    strip = _Strip(run, place, where, view, pictures.frame_picture(pixels, view))
    raw = (strip.raw(channel),) if crops is None else crops.pictures
    drawn = [*raw, strip.outlines(segment, labels)]
    if track is not None and segment.id in fed_by:
        drawn.append(strip.tracks(track))
    part = f", the middle {view.wide} x {view.high} px" if view.is_part else ""
    return pictures.Pictures(
        pictures=tuple(one for one in drawn if one is not None),
        about=f"{where[:1].upper()}{where[1:]}{part}",
    )


def _channel(trial: Trial) -> int:
    """Channel that a trial segmented."""
    asked = trial.params.get("channel")
    return asked if isinstance(asked, int) else 0


def _crops(run: RunFolder) -> pictures.Pictures | None:
    """Draw over a frame the middles of several sizes that were segmented; none where it is gone."""
    movie = run.plan.movie
    by_length = {
        trial.params.get(CROP): trial for trial in run.plan.trials if trial.stage == "segment"
    }
    sides_px = sorted(length for length in by_length if isinstance(length, int))
    if len(by_length) < 2 or movie is None or not movie.exists():
        return None
    trial = by_length[sides_px[0]]
    frames = _frames_of(run, trial)
    place = frames.n_frames // 2
    (pixels,) = frames.read(place, place + 1, _channel(trial))
    height, width = frames.shape_yx
    sizes = listing([f"{side} px" for side in sides_px])
    drawn = pictures.Picture(
        title="Crops, side in px",
        alt=f"Square crops of {sizes} in the middle of a frame of {height} x {width} px",
        png=pictures.encoded(pictures.cropped(pixels, sides_px)),
    )
    about = f"Frame {place + 1} of {frames.n_frames}, {height} x {width} px"
    return pictures.Pictures(pictures=(drawn,), about=about)


def _frames_of(run: RunFolder, trial: Trial) -> Movie:
    """The movie that a trial read."""
    (item,) = (item for item in trial.inputs if item.slot == "frames")
    if item.from_trial is None:
        assert item.path is not None
        return Movie.open(item.path, reading=run.plan.reading or AS_IT_IS)
    path = run.output(run.plan.trial(item.from_trial)) / str(item.file)
    return Movie.open(path, frames=run.plan.movie_frames)


@dataclass(frozen=True)
class _Strip:
    """Pictures of one frame, whose place in the movie is told in words too."""

    run: RunFolder
    place: int
    where: str
    view: pictures.View
    grey: Image.Image

    def raw(self, channel: int) -> pictures.Picture | None:
        """The frame as the run read it, where the movie is still there."""
        path = self.run.plan.movie
        if path is None or not path.exists():
            return None
        movie = Movie.open(path, reading=self.run.plan.reading or AS_IT_IS)
        (pixels,) = movie.read(self.place, self.place + 1, channel)
        return pictures.Picture(
            title="Raw",
            alt=f"Raw pixels of {self.where} of {path.name}",
            png=pictures.encoded(pictures.frame_picture(pixels, pictures.View(movie.shape_yx))),
        )

    def outlines(self, trial: Trial, labels: Movie) -> pictures.Picture:
        """Outlines over the frame that was segmented."""
        (cells,) = labels.read(self.place, self.place + 1, 0)
        count = np.count_nonzero(np.unique(cells))
        return pictures.Picture(
            title=f"Outlines, N = {trial.workers}",
            alt=f"Outlines of the {count} objects that {trial.entry} found in {self.where}",
            png=pictures.encoded(pictures.outlined(self.grey, cells, self.view)),
            entry=trial.entry,
            place=self._output(trial),
        )

    def tracks(self, trial: Trial) -> pictures.Picture:
        """Paths so far of the objects of the frame."""
        # Brackets in a path are no pattern.
        table = pl.read_parquet(self.run.output(trial) / "tracks.parquet", glob=False)
        table = table.filter(pl.col("frame") <= self.place)
        seen = table.filter(pl.col("frame") == self.place)["track_id"].to_list()
        own = table.filter(pl.col("track_id").is_in(seen)).sort("frame")
        paths = [
            path.select("y_px", "x_px").to_numpy()
            for _, path in own.group_by("track_id", maintain_order=True)
        ]
        return pictures.Picture(
            title=f"Tracks, N = {trial.workers}",
            alt=f"Paths of the {len(paths)} objects that {trial.entry} follows to {self.where}",
            png=pictures.encoded(pictures.tracked(self.grey, paths, self.view)),
            entry=trial.entry,
            place=self._output(trial),
        )

    def _output(self, trial: Trial) -> str:
        return self.run.output(trial).relative_to(self.run.path).as_posix()

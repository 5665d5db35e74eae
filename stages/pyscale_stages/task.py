"""A stage's view of its task: paths, parameters, the clock, and where to leave results."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Generic

from typing_extensions import TypeVar

from pyscale_stages.atomic import atomic_folder, atomic_path, write_atomically
from pyscale_stages.contract import AnySample, Phase, Stage, StageParams, TaskSpec, Window
from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.hashing import fingerprint_of
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.measured import UNSORTED, Measured, Warned
from pyscale_stages.movie import AS_IT_IS, Movie, Pixels
from pyscale_stages.record import Sample
from pyscale_stages.validarea import beside
from pyscale_stages.wording import plural

Item = TypeVar("Item")
Params_co = TypeVar("Params_co", bound=StageParams, covariant=True, default=StageParams)

WINDOW_FILE = "window.json"


class Task(Generic[Params_co]):
    """One running task.

    A stage reads its inputs by `movie`, brackets its work by `span`, writes files by
    `writing`, and reports by `count`, `measure`, `set_quality` and `warn`.

    `params`: validated, of the type that the stage names. `recorder`: keeps the spans.
    """

    def __init__(
        self, stage: Stage, spec: TaskSpec, params: Params_co, recorder: SpanRecorder
    ) -> None:
        self.stage = stage
        self.spec = spec
        self.params = params
        self.frames = 0
        self.objects = 0
        self.samples: list[Sample] = []
        self.gpu_own_peak_bytes: int | None = None
        self.quality: dict[str, float] = {}
        self.measured: list[Measured] = []
        self.warned: list[Warned] = []
        self.written: list[Path] = []
        self.versions: dict[str, str] = {}
        self._recorder = recorder
        self._fingerprints: dict[str, str] = {}

    def span(self, phase: Phase) -> AbstractContextManager[None]:
        """Record the block as time spent in `phase`."""
        return self._recorder.span(phase)

    def unmeasured(self) -> AbstractContextManager[None]:
        """Leave the block, which only the record needs, out of the measured time."""
        return self._recorder.unmeasured()

    def add_span(self, phase: Phase, start: float, end: float) -> None:
        """Record a phase that lies in the past, in seconds of the monotonic clock."""
        self._recorder.add(phase, start, end)

    def add_sample(self, sample: Sample) -> None:
        """Keep a record of a kind that the stage declares."""
        if type(sample) not in self.stage.samples:
            raise TypeError(f"the stage {self.stage.name} declares no samples {sample.kept_as!r}")
        self.samples.append(sample)

    def of(self, kind: type[AnySample]) -> list[AnySample]:
        """Samples of one kind that were kept so far."""
        return [sample for sample in self.samples if isinstance(sample, kind)]

    def input(self, slot: str) -> Path | None:
        """Path of an input, or None where an optional one was not given."""
        return dict(self.spec.inputs).get(slot)

    def movie(self, slot: str) -> Movie:
        """Open the frames of an input slot."""
        path = self.input(slot)
        if path is None:
            raise BadInput(f"{self.stage.name} needs the input {slot!r}: give --input {slot}=PATH")
        reading = self.spec.reading_of(path) or AS_IT_IS
        movie = self.counted(Movie.open(path, reading=reading, frames=self.spec.movie_frames))
        self.know_files(slot, movie.files, chosen=movie.reading.given)
        return movie

    def label_movie(self, slot: str) -> Movie:
        """Open the label images of an input slot: one channel of whole numbers."""
        movie = self.movie(slot)
        if movie.dtype.kind not in "iu":
            raise BadInput(
                f"{movie.path} holds {movie.dtype} values, but labels are whole numbers: give the "
                "label images that a segmentation wrote, as uint16 or uint32, with 0 as background"
            )
        if movie.n_channels != 1:
            raise BadInput(
                f"{movie.path} has {plural(movie.n_channels, 'channel')}, but a label movie has "
                "one: give one file per cell type, or name the axes with --axes TYX"
            )
        return movie

    def say_empty(self, movies: Sequence[Movie], window: tuple[int, int]) -> None:
        """Refuse label movies without any cell; warn of a window without one."""
        names = " and ".join(movie.path.name for movie in movies)
        if window == (0, movies[0].n_frames):
            raise BadInput(
                f"no frame of {names} has a label: check the segmentation that wrote them"
            )
        self.warn(f"the frames {window[0]}:{window[1]} of {names} have no label", "empty-frames")

    def know_files(
        self, slot: str, files: Sequence[Path], chosen: Mapping[str, str] | None = None
    ) -> None:
        """Keep by what the files of an input are known, and what was chosen of them."""
        with self.unmeasured():
            self._fingerprints[slot] = fingerprint_of(files, chosen)

    def valid_area(self, slot: str, movie: Movie) -> Movie | None:
        """Open what lies beside the frames of a slot and says which pixels the camera saw."""
        area = beside(movie, self.spec.movie_frames)
        if area is not None:
            self.know_files(slot, (*movie.files, *area.files), chosen=movie.reading.given)
        return area

    def counted(self, movie: Movie) -> Movie:
        """Keep the frames of a movie that count, where the task says that not all do."""
        wanted = self.spec.movie_frames
        if wanted is None:
            return movie
        if wanted > movie.n_frames:
            raise BadInput(
                f"--movie-frames {wanted} is more than the {plural(movie.n_frames, 'frame')} of "
                f"{movie.path.name}"
            )
        return replace(movie, n_frames=wanted)

    def window(self, movie: Movie) -> tuple[int, int]:
        """First frame and end (excluded) that this task must process."""
        start, stop = self.spec.frames or (0, movie.n_frames)
        if not 0 <= start < stop <= movie.n_frames:
            raise BadInput(
                f"--frames {start}:{stop} does not lie inside {movie.path.name}, "
                f"which has the frames 0:{movie.n_frames}"
            )
        return start, stop

    def read_frames(
        self, movie: Movie, window: tuple[int, int], channel: int | None = None
    ) -> Iterator[Pixels]:
        """Yield the frames of a window as `Movie.frames` does, each block read in a span."""
        for first, end in movie.blocks(*window, channel):
            with self.span("read"):
                frames = movie.read(first, end, channel)
            yield from frames

    @property
    def output(self) -> Path:
        """Folder of the output."""
        if self.spec.output is None:
            raise BadInput(f"{self.stage.name} {self.spec.verb} needs --output FOLDER")
        return self.spec.output

    def prepare_output(self) -> None:
        """Let no earlier `window.json` vouch for what will come, and refuse a hopeless folder.

        Better now than after computing.
        """
        output = self.spec.output
        if output is None:
            return
        try:
            # What is written later makes no folder anew that was moved meanwhile.
            output.absolute().parent.mkdir(parents=True, exist_ok=True)
            if output.exists():
                (output / WINDOW_FILE).unlink(missing_ok=True)
            place = output if output.exists() else output.absolute().parent
            is_writable = os.access(place, os.W_OK)
        except OSError as error:
            raise BadInput(
                f"--output {output} cannot become a folder of results ({error.strerror}): name "
                "another one"
            ) from error
        if not is_writable:
            raise BadInput(f"--output {output} is not writable: name another one")

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a temporary path; the file appears as `name` when the block succeeds."""
        final = self.output / name
        with atomic_path(final) as temporary:
            yield temporary
        self.written.append(final)

    @contextmanager
    def writing_folder(self, name: str) -> Iterator[Path]:
        """Yield a temporary folder, which appears as `name` when the block succeeds."""
        final = self.output / name
        with atomic_folder(final) as temporary:
            yield temporary
        self.written += sorted(file for file in final.rglob("*") if file.is_file())

    def write_window(self, frames: tuple[int, int], movie_frames: int) -> None:
        """Say beside the output which frames it holds, with how many objects, and of which movies.

        What they hold must have been counted before.
        """
        window = Window(
            stage=self.stage.name,
            frames=frames,
            movie_frames=movie_frames,
            objects=self.objects,
            params=self.params.model_dump(mode="json"),
            seed=self.spec.seed,
            inputs=self._fingerprints,
        )
        self._write_window(window)

    def write_whole(self, part: Window) -> None:
        """Say beside a merged output that it holds all frames of which `part` holds some."""
        whole = {"frames": (0, part.movie_frames), "objects": self.objects}
        self._write_window(part.model_copy(update=whole))

    def _write_window(self, window: Window) -> None:
        write_atomically(self.output / WINDOW_FILE, window.model_dump_json(indent=2) + "\n")
        self.written.append(self.output / WINDOW_FILE)

    def count(self, *, frames: int = 0, objects: int = 0) -> None:
        """Add to what the task has processed and produced."""
        self.frames += frames
        self.objects += objects

    def measure(self, *found: Measured) -> None:
        """Record numbers that tables, charts and comparisons show as they show wall times."""
        self.measured += found

    def set_quality(self, **measures: float) -> None:
        """Record how right the output is, where the truth is known."""
        for name, value in measures.items():
            # JSON has no such number, and the record could not be read.
            if not math.isfinite(value):
                raise StageError(
                    f"{self.stage.name} measured a {name} that is not a number ({value})"
                )
        self.quality.update(measures)

    def warn(
        self,
        text: str,
        code: str = UNSORTED,
        *,
        doubts_result: bool = False,
        once: bool = False,
    ) -> None:
        """Record a sentence that the reader of the result must know, and say it now.

        `code`: by which warnings are counted. `doubts_result`: whether the result may be wrong for
        it. `once`: whether it is said only where it was not said before.
        """
        if not once or all(said.text != text for said in self.warned):
            self.warn_of(Warned(code=code, text=text, doubts_result=doubts_result))

    def warn_of(self, warning: Warned) -> None:
        """Record a warning that counts, and say it now where this window has enough of it."""
        self.warned.append(warning)
        if warning.is_said:
            print(f"warning: {warning.sentence}", file=sys.stderr)  # noqa: T201 - a task's talk

    def progress(self, items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
        """Iterate with a progress bar on a terminal, and silently in a batch job."""
        if not sys.stderr.isatty():
            yield from items
            return
        # A batch job, which shows no bar, does not pay for this import.
        from rich.console import Console
        from rich.progress import track

        yield from track(items, what, total=total, console=Console(stderr=True))

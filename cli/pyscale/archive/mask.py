"""Replaces paths, and the names of hosts, people and accounts, in texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from pyscale.archive.fields import is_plain

RUN = "/run"
"""What the folder of the run is called: what lies below it pyscale named itself."""
_SUFFIXES = (
    *(".ome.tif", ".tif", ".tiff", ".svs", ".ome.zarr", ".zarr"),
    *(".json", ".sif", ".toml", ".csv", ".parquet", ".zip"),
)
_SHORT = 500
# Within a path none of these is expected; where a path is known to have one, it is looked for.
_IN_PATH = r"[^\s\"'`,;:()\[\]{}<>|\\]"
_START = r"(?:~[\w.-]*|\$\{?\w+\}?|\.{1,2})?"
_PATH = rf"(?<![\w.\-/]){_START}//?(?!/){_IN_PATH}+"
_QUOTED = r"(?<=')/[^'\n]+(?=')|(?<=\")/[^\"\n]+(?=\")"
_SERVER = r"(?<![\w./@-])[A-Za-z0-9][\w.-]*(?:@\w+)?(?=:/(?!/))"
"""Who serves a path: `nfs01.uni.example:/export`."""
_URL = r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+"
_MAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_UUID = r"(?:(?:GPU|MIG)-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_IPV4 = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
# A time has two colons, and none beside another.
_IPV6 = (
    r"(?<![\w:.])(?=:*[0-9a-fA-F])(?=[0-9a-fA-F:]*::|(?:[0-9a-fA-F]{1,4}:){4})"
    r"[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*(?![\w:])"
)
_DOMAIN = r"(?:\.[A-Za-z0-9][A-Za-z0-9-]*)*"


class Mask:
    """Gives every name and every path one word, the same wherever it appears.

    `names` has by kind (`node`, `user` …) those to replace, by words that are numbered in their
    order. `files` are those of the user's own input. `paths` are known ones: those with blanks
    could not be told from the text around them. `kept` are files that the whole world has.
    `own_words` of pyscale itself mean no name in a text. `trials` is the pattern of what a trial is
    called: `segment-n1-b2` is not on the node n1.
    """

    def __init__(
        self,
        *,
        names: Mapping[str, Iterable[str]],
        files: Iterable[str] = (),
        paths: Iterable[str] = (),
        kept: Iterable[str] = (),
        own_words: Iterable[str] = (),
        trials: str = r"(?!)",
        run_id: str,
    ) -> None:
        known = {"domain": _domains(names.get("node", ())), **names}
        self._words = {kind: _numbered(kind, found) for kind, found in known.items()}
        # A copy, as the first part of a host's full name is added, by which it goes too.
        for node, word in list(self._words.get("node", {}).items()):
            self._words["node"].setdefault(node.partition(".")[0], word)
        own = {word.lower() for word in own_words}
        self._in_text = {
            name: word
            for words in self._words.values()
            for name, word in words.items()
            if name not in own
        }
        numbered = _numbered("input", files)
        self._files = {name: f"{word}{_suffix(name)}" for name, word in numbered.items()}
        self._in_text |= self._files
        for name, word in numbered.items():
            stem = name.partition(".")[0]
            # A short one could stand in any text.
            if len(stem) > 4 and stem not in own:
                self._in_text.setdefault(stem, word)
        self._kept = frozenset(kept)
        self._run = re.compile(rf".*?/{re.escape(run_id)}(?=/|$)")
        self._numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._known: dict[str, str] = {}
        self._pattern = re.compile(
            "|".join(
                [
                    rf"(?P<kept>(?<![A-Za-z0-9])(?:{trials})(?![A-Za-z0-9])|{re.escape(run_id)})",
                    rf"(?P<url>{_URL})",
                    rf"(?P<mail>{_MAIL})",
                    rf"(?P<path>{_QUOTED}|{_odd(paths)}{_PATH})",
                    rf"(?P<device>{_UUID})",
                    rf"(?P<address>{_IPV4}|{_IPV6})",
                    rf"(?P<name>{_alternatives(self._in_text)})",
                    rf"(?P<server>{_SERVER})",
                ]
            )
        )

    def name(self, kind: str, name: str) -> str:
        """Word for a name that stands by itself in a place for such names."""
        return self._words.get(kind, {}).get(name.lower()) or self.word(name)

    def word(self, text: str) -> str:
        """Word for a text of any meaning: itself, where all of it is public once it is masked."""
        masked = self.text(text)
        if masked in self._kept or is_plain(masked):
            return masked
        return f"value-{self._number('value', text)}{_suffix(text)}"

    def path(self, path: str) -> str:
        """Word for a path; what the run's own folder holds keeps its place in it."""
        own = self._run.match(path)
        if own is not None:
            return RUN + "/".join(self.word(part) for part in path[own.end() :].split("/"))
        parts = PurePosixPath(path)
        shown = self._files.get(parts.name.lower()) or (
            parts.name if parts.name in self._kept else None
        )
        if shown is not None:
            return f"/path-{self._number('path', str(parts.parent))}/{shown}"
        return f"/path-{self._number('path', str(parts))}{_suffix(path)}"

    def text(self, text: str) -> str:
        """Replace every name, path and address in a text."""
        known = self._known.get(text)
        if known is None:
            known = self._pattern.sub(self._word, text)
            # Thousands of records repeat the same short texts; a log is read once.
            if len(text) < _SHORT:
                self._known[text] = known
        return known

    def _word(self, found: re.Match[str]) -> str:
        text, kind = found.group(), str(found.lastgroup)
        if kind == "kept":
            entry, known, rest = text.partition("-n")
            return f"{self._words.get('entry', {}).get(entry, entry)}{known}{rest}"
        if kind == "path":
            # A full stop ends a sentence, and a file's name seldom.
            bare = text.rstrip(".")
            return self.path(bare) + text[len(bare) :]
        if kind == "name":
            # Of a host's full name only its first part may be known.
            whole = text.lower()
            return (
                self._in_text.get(whole)
                or self._in_text[max((n for n in self._in_text if whole.startswith(n)), key=len)]
            )
        return f"{kind}-{self._number(kind, text)}"

    def _number(self, kind: str, what: str) -> int:
        known = self._numbers[kind]
        return known.setdefault(what, len(known) + 1)


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    known = sorted({name.lower() for name in names if name})
    digits = len(str(len(known)))
    # An entry of a suite has no hyphen.
    between = "_" if kind == "entry" else "-"
    return {
        name: f"{kind}{between}{number:0{digits}}" for number, name in enumerate(known, start=1)
    }


def _domains(hosts: Iterable[str]) -> set[str]:
    """Domains that hosts are in: other hosts of theirs, as of logins and files, may be told of."""
    parts = [host.split(".") for host in hosts]
    return {".".join(part[place:]) for part in parts for place in range(1, len(part) - 1)}


def _suffix(path: str) -> str:
    return next((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), "")


def _odd(paths: Iterable[str]) -> str:
    """Alternatives for the known paths, and folders on the way, that `_PATH` would cut short."""
    found = {
        str(folder)
        for path in paths
        for folder in (PurePosixPath(path), *PurePosixPath(path).parents)
        if re.fullmatch(_PATH, str(folder)) is None and str(folder) != "/"
    }
    longest_first = sorted(found, key=lambda path: (-len(path), path))
    return "".join(rf"{re.escape(path)}(?:/{_IN_PATH}+)?|" for path in longest_first)


def _alternatives(names: Iterable[str]) -> str:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    if not longest_first:
        return r"(?!)"
    either = "|".join(re.escape(name) for name in longest_first)
    return rf"(?<![A-Za-z0-9])(?i:{either})(?![A-Za-z0-9]){_DOMAIN}"

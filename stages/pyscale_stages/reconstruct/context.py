"""The engine's view of the ranks, by which its exchanges are timed apart from its computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from deepinv.distributed import DistributedContext

from pyscale_stages.errors import as_stage_error
from pyscale_stages.ranks.group import Group
from pyscale_stages.reconstruct.iterate import Components
from pyscale_stages.reconstruction import Component

_EXCHANGE_IN: Mapping[str, Component] = {"gradient": "communication", "denoiser": "gather"}
"""As what an exchange counts that the engine begins in a component."""


class TimedContext(DistributedContext):  # type: ignore[misc] # the engine has no types
    """Ranks that have met, as the engine asks for them.

    Before the first exchange of a component all ranks meet, which is timed as "barrier": what
    comes then is the exchange alone, and no rank's wait for a slower one. The engine follows a
    gradient's exchange up with others (shapes and a flag precede the sum) without computing
    anything between them: those need no further meeting, and would each pay for one.

    Exchanges outside components are not timed, but ranks meet before each. A meeting goes by the
    host's memory, also between GPUs: a rank that is gone is noticed there, and not in an exchange
    by NCCL, which would wait for it.
    """

    def __init__(self, group: Group, device: torch.device, components: Components) -> None:
        # Who joined the ranks also parts them.
        super().__init__(cleanup=False)
        self.device = device
        self.rank = group.number
        self.world_size = group.count
        self.use_dist = group.count > 1
        self.group = group
        self.components = components
        self._has_met = False

    def __enter__(self) -> TimedContext:
        """Return it as it is: which ranks there are, and on which devices, is settled."""
        return self

    def computing(self, component: Component) -> AbstractContextManager[None]:
        """Time a block as a component, and what is exchanged in it apart."""
        self._has_met = False
        return self.components.timed(component)

    def local_indices(self, num_items: int) -> list[int]:
        """Which of so many things are this rank's: its number, and from there in steps."""
        return list(range(self.rank, num_items, self.world_size))

    def all_gather(self, x: torch.Tensor, group: Any = None) -> torch.Tensor:
        """Give every rank a tensor of each."""
        found: torch.Tensor = self._exchanged(super().all_gather, x, group=group)
        return found

    # torch's own ways unpickle what arrives: the engine's few objects go as JSON.

    def all_gather_object(
        self,
        obj_list: list[Any],
        obj: object,
        group: Any = None,  # noqa: ARG002 - the engine's signature
    ) -> None:
        """Give every rank an object of each, which is a JSON value."""
        obj_list[:] = self._exchanged(self.group.all_gather, obj)

    def broadcast_object_list(
        self,
        object_list: list[Any],
        src: int = 0,
        device: Any = None,  # noqa: ARG002 - the engine's signature
    ) -> None:
        """Give every rank the objects of one, which are JSON values."""
        object_list[:] = self._exchanged(self.group.all_gather, object_list)[src]

    def _collective(self, *arguments: Any, **options: Any) -> torch.Tensor:
        found: torch.Tensor = self._exchanged(super()._collective, *arguments, **options)
        return found

    def _exchanged(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if not self.use_dist:
            return call(*arguments, **options)
        component = self.components.current
        if component is None:
            self.group.meet()
            return self._heard(call, *arguments, **options)
        if not self._has_met:
            with self.components.timed("barrier"):
                self.group.meet()
            self._has_met = True
        with self.components.timed(_EXCHANGE_IN[component]):
            return self._heard(call, *arguments, **options)

    def _heard(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call, and wait for what was called: only then does it say that it failed."""
        with self.group.heard():
            try:
                result = call(*arguments, **options)
                self.components.wait()
            except RuntimeError as raised:
                # To the group every error of torch looks like a connection that broke.
                if (exhausted := as_stage_error(raised)) is not None:
                    raise exhausted from raised
                raise
        return result

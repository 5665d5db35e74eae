import time

import pytest

from pyscale_stages.reconstruct.iterate import Components


def passes(at_least_s=0.0):
    """Let the clock of this process advance, however fine it is."""
    start = time.perf_counter()
    while time.perf_counter() <= start + at_least_s:
        pass


def test_a_component_inside_another_pauses_it_and_nothing_falls_between():
    components = Components(passes)
    with components.iteration(), components.timed("gradient"):
        assert components.current == "gradient"
        begun = time.perf_counter()
        with components.timed("barrier"):
            # Longer than what lies between components: counted twice, it would show.
            passes(0.02)
        with components.timed("communication"):
            assert components.current == "communication"
        inside_s = time.perf_counter() - begun
        assert components.current == "gradient"
    assert components.current is None
    seconds = components.seconds
    assert all(seconds[name] > 0 for name in ("gradient", "barrier", "communication"))
    assert seconds["denoiser"] == seconds["gather"] == 0
    assert inside_s <= sum(seconds.values()) <= components.wall_s


def test_what_lies_between_components_is_the_iterations_and_in_none():
    components = Components(lambda: None)
    with components.iteration():
        with components.timed("gradient"):
            pass
        begun = time.perf_counter()
        passes()
        between_s = time.perf_counter() - begun
        with components.timed("denoiser"):
            pass
    assert sum(components.seconds.values()) <= components.wall_s - between_s


def test_an_iteration_forgets_the_last_one_and_a_component_that_fails_is_closed():
    components = Components(lambda: None)
    with components.iteration(), components.timed("gradient"):
        passes()
    with components.iteration():
        assert set(components.seconds.values()) == {0.0}
        with components.timed("denoiser"):
            passes()
    assert components.seconds["gradient"] == 0 < components.seconds["denoiser"]
    components = Components(lambda: None)
    with pytest.raises(ZeroDivisionError), components.iteration(), components.timed("gradient"):
        raise ZeroDivisionError
    assert components.current is None


def test_the_device_is_waited_for_on_both_sides_of_all_that_is_timed():
    waits = []
    components = Components(lambda: waits.append(components.current))
    with components.iteration(), components.timed("gradient"), components.timed("barrier"):
        pass
    # The wait at a begin is for what the outer component has given the device.
    assert waits == [None, None, "gradient", "barrier", "gradient", None]

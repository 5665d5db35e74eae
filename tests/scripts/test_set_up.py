"""Setting up a checkout: uv installs from where pip would."""

import set_up


def test_uv_asks_the_package_indexes_that_pip_is_configured_with():
    told = (
        ":env:.find-links='/wheels /more'\n"
        "global.extra-index-url='\\nhttps://one.example/simple\\nhttps://two.example/simple'\n"
        "global.find-links='/other'\n"
        "global.index-url='https://index.example/simple'\n"
        "global.timeout='60'\n"
    )
    assert set_up.uv_variables(told) == {
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
    }


def test_without_settings_of_pip_uv_has_its_own():
    assert set_up.uv_variables("") == {}

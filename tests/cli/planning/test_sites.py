import pytest

from pyscale.errors import UserError
from pyscale.planning.sites import load_site
from pyscale.tomlfile import shipped_names
from refusals import refused

HEAD = 'name = "mine"\nsummary = "a cluster"\n'


def own_site(folder, text):
    path = folder / "mine.toml"
    path.write_text(HEAD + text)
    return str(path)


@pytest.mark.parametrize("name", shipped_names("site"))
def test_each_shipped_site_loads_and_goes_by_its_file_name(name):
    assert load_site(name).name == name


def test_a_site_of_ones_own_is_named_by_its_path_and_may_say_more(tmp_path):
    text = (
        'memory = false\nscratch = "$TMPDIR"\n'
        '[request]\noptions = ["--partition=short", "--reservation=spring"]\n'
        '[prices]\ncore_hour = 0.01\ngpu_hour = 1.5\ncurrency = "EUR"\n'
    )
    site = load_site(own_site(tmp_path, text))
    assert (site.scratch, site.memory) == ("$TMPDIR", False)
    assert site.request.by_name == {"partition": "short", "reservation": "spring"}
    prices = site.prices
    assert (prices.core_hour, prices.gpu_hour, prices.currency) == (0.01, 1.5, "EUR")
    assert not load_site("plain").prices.is_given


@pytest.mark.parametrize("field", ["name", "summary"])
def test_a_site_goes_by_one_line_because_scripts_tell_it(tmp_path, field):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD.replace(f'{field} = "', f'{field} = "mine\\ntouch hacked '))
    with refused(UserError):
        load_site(str(path))


WRONG = [
    'scrach = "/tmp"\n',
    '[request]\noption = ["a"]\n',
    "[[override]]\ngpu = 1\n",
    '[[override]]\nstage = "segmnt"\n',
    '[request]\ntime_min = "1 h"\n',
    "[request]\nmemory_gib = 0\n",
    '[request]\npartition = "cpu"\n',
    'OPTIONS["mail-type=FAIL"]\n',
    'OPTIONS["--array=0-3"]\n',
    'OPTIONS["--time=7"]\n',
    'OPTIONS["--partition=a\\n#SBATCH -w b"]\n',
    'OPTIONS["--gres=gpu:{gpus}"]\n',
    'OPTIONS["--gpus-per-task={count}"]\n',
    'OPTIONS["--gpus-per-task={gpus"]\n',
    'OPTIONS["--gpus-per-task={gpus:>99999999999}"]\n',
    'OPTIONS["--gpus-per-task={gpus}{}"]\n',
    'modules = ["apptainer; rm"]\n',
    'scratch = "/tmp\\" ; true"\n',
    'setup = ["a\\nb"]\n',
    'OPTIONS["--reservation=a --wrap=id"]\n',
    'OPTIONS["--outp=x"]\n',
    'OPTIONS["--cpus=4"]\n',
    "[request]\nmemory_gib = inf\n",
    f"[request]\ntime_min = {10**17}\n",
    f"[request]\ncpus = {'9' * 5_000}\n",
    f"[request]\ncpus = {'[' * 20_000}\n",
    'setup = "a"\n',
    "[prices]\ncore_hour = 0.01\n",
    "[prices]\ncore_hours = 1\n",
    '[prices]\ngpu_hour = -1\ncurrency = "EUR"\n',
    "request = 5\n",
    "name",
]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_wrong_site_is_refused_in_one_sentence(tmp_path, text):
    with refused(UserError) as refusal:
        load_site(own_site(tmp_path, text.replace("OPTIONS", "[request]\noptions = ")))
    assert str(tmp_path) in str(refusal.value)

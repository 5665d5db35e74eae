"""Sites: the shipped ones are sound, and a wrong one is refused with a sentence."""

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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('scrach = "/tmp"\n', "unknown key 'scrach'; did you mean 'scratch'?"),
        ('[request]\noption = ["a"]\n', "unknown key 'request.option'; did you mean 'options'"),
        ("[[override]]\ngpu = 1\n", "unknown key 'override.0.gpu'; did you mean 'gpus'?"),
        ('[[override]]\nstage = "segmnt"\n', "unknown stage; did you mean 'segment'?"),
        ('[request]\ntime_min = "1 h"\n', "'request.time_min': input should be a valid integer"),
        ("[request]\nmemory_gib = 0\n", "'request.memory_gib': input should be greater than 0"),
        ('partition = "cpu"\n', "unknown key 'partition'"),
        ('[request]\npartition = "cpu"\n', "unknown key 'request.partition'"),
        ('OPTIONS["mail-type=FAIL"]\n', "'request.options.0': it must be a long option of sbatch"),
        ('OPTIONS["--array=0-3"]\n', "pyscale sets --array itself: leave --array=0-3 out"),
        ('OPTIONS["--job-name=x"]\n', "pyscale sets --job-name"),
        ('OPTIONS["--output=x"]\n', "pyscale sets --output"),
        ('OPTIONS["--requeue"]\n', "pyscale sets --requeue"),
        ('OPTIONS["--time=7"]\n', "set time_min in place of --time=7"),
        ('OPTIONS["--partition=a\\n#SBATCH -w b"]\n', "it must be a long option of sbatch"),
        ('OPTIONS["--gres=gpu:{gpus}"]\n', "--gres=gpu:{gpus} counts by the node: use --gpus-per"),
        ('OPTIONS["--mem={memory_mib_per_core}M"]\n', "counts by the node"),
        ('OPTIONS["--gpus-per-task={count}"]\n', "may only name {gpus}, {memory_mib_per_core}"),
        ('OPTIONS["--gpus-per-task={gpus"]\n', "'--gpus-per-task={gpus' is wrong"),
        ('OPTIONS["--gpus-per-task={gpus!z}"]\n', "may only name"),
        ('OPTIONS["--gpus-per-task={gpus:>99999999999}"]\n', "may only name"),
        ('OPTIONS["--gpus-per-task={gpus}{}"]\n', "may only name"),
        ('modules = ["apptainer; rm"]\n', "'modules.0': it must be one word"),
        ('scratch = "/tmp\\" ; true"\n', "'scratch': it must be one line without double quotes"),
        ('setup = ["a\\nb"]\n', "'setup.0': it must be one line"),
        ('OPTIONS["--reservation=a --wrap=id"]\n', "a long option of sbatch, without blanks"),
        ('OPTIONS["--outp=x"]\n', "pyscale sets --output itself: leave --outp=x out"),
        ('OPTIONS["--cpus=4"]\n', "set cpus in place of --cpus=4"),
        ("[request]\nmemory_gib = inf\n", "'request.memory_gib': input should be"),
        ("[request]\nmemory_gib = 1e300\n", "'request.memory_gib': input should be less"),
        (f"[request]\ntime_min = {10**17}\n", "'request.time_min': input should be less"),
        (f"[request]\ncpus = {'9' * 5_000}\n", "is not TOML"),
        (f"[request]\ncpus = {'[' * 20_000}\n", "values are nested too deeply"),
        ('setup = "a"\n', "'setup': input should be a list (given: 'a')"),
        ("[prices]\ncore_hour = 0.01\n", "'prices': prices need a currency in one word"),
        ("[prices]\ncore_hours = 1\n", "unknown key 'prices.core_hours'; did you mean"),
        ('[prices]\ngpu_hour = -1\ncurrency = "EUR"\n', "'prices.gpu_hour': input should be"),
        ('[prices]\ngpu_hour = inf\ncurrency = "EUR"\n', "'prices.gpu_hour': input should be"),
        ("request = 5\n", "'request': input should be a table (given: 5)"),
        ("name", "is not TOML"),
    ],
)
def test_a_wrong_site_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(UserError) as refusal:
        load_site(own_site(tmp_path, text.replace("OPTIONS", "[request]\noptions = ")))
    assert sentence in str(refusal.value)
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)

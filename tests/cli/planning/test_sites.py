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
        'options = ["--reservation=spring", "--mem=0"]\nmemory_option = "none"\n'
        'scratch = "$TMPDIR"\n[request]\npartition = "short"\n'
        '[prices]\ncore_hour = 0.01\ngpu_hour = 1.5\ncurrency = "EUR"\n'
    )
    site = load_site(own_site(tmp_path, text))
    assert (site.scratch, site.request.partition) == ("$TMPDIR", "short")
    assert site.options == ("--reservation=spring", "--mem=0")
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
        ('[request]\npartiton = "a"\n', "unknown key 'request.partiton'; did you mean 'partition'"),
        ("[[override]]\ngpu = 1\n", "unknown key 'override.0.gpu'; did you mean 'gpus'?"),
        ('[[override]]\nstage = "segmnt"\n', "unknown stage; did you mean 'segment'?"),
        ('[request]\ntime_min = "1 h"\n', "'request.time_min': input should be a valid integer"),
        ("[request]\nmemory_gib = 0\n", "'request.memory_gib': input should be greater than 0"),
        (
            'memory_option = "mem-per-gpu"\n',
            "'memory_option': input should be 'mem', 'mem-per-cpu'",
        ),
        ('gpu_option = "--gres=gpu:2"\n', "gpu_option '--gres=gpu:2' must hold {count}"),
        ('gpu_option = "--gres=gpu:{n}"\n', "gpu_option '--gres=gpu:{n}' must hold {count}"),
        ('gpu_option = "--gres=gpu:{count"\n', "gpu_option '--gres=gpu:{count' is wrong"),
        ('gpu_option = "gres=gpu:{count}"\n', "'gpu_option': it must be a long option of sbatch"),
        ('options = ["mail-type=FAIL"]\n', "'options.0': it must be a long option of sbatch"),
        ('options = ["--array=0-3"]\n', "pyscale sets --array itself: leave --array=0-3 out"),
        ('options = ["--job-name=x"]\n', "pyscale sets --job-name"),
        ('options = ["--output=x"]\n', "pyscale sets --output"),
        ('options = ["--comment=x"]\n', "pyscale sets --comment"),
        ('options = ["--requeue"]\n', "pyscale sets --requeue"),
        ('options = ["--time=7"]\n', "set time_min in [request] instead of --time=7"),
        ('options = ["--account=lab"]\n', "set account in [request] instead of --account=lab"),
        (
            'options = ["--ntasks-per-node=4"]\n',
            "set tasks_per_node in [request] instead of --ntasks-per-node=4",
        ),
        ("[request]\ntasks_per_node = 0\n", "'request.tasks_per_node': input should be greater"),
        ('options = ["--mem=0"]\n', "set memory_gib in [request] instead of --mem=0"),
        ('modules = ["apptainer; rm"]\n', "'modules.0': it must be one word"),
        ('[request]\npartition = "a\\n#SBATCH -w b"\n', "'request.partition': it must be one word"),
        ('scratch = "/tmp\\" ; true"\n', "'scratch': it must be one line without double quotes"),
        ('setup = ["a\\nb"]\n', "'setup.0': it must be one line"),
        ('options = ["--reservation=a --wrap=id"]\n', "a long option of sbatch, without blanks"),
        ('options = ["--outp=x"]\n', "pyscale sets --output itself: leave --outp=x out"),
        ('options = ["--cpus=4"]\n', "set cpus in [request] instead of --cpus=4"),
        ('gpu_option = "--gres=gpu:{count!z}"\n', "must hold {count}"),
        ('gpu_option = "--gres=gpu:{count:zz}"\n', "must hold {count}"),
        ('gpu_option = "--gres=gpu:{count:>99999999999}"\n', "must hold {count}"),
        ('gpu_option = "--gres=gpu:{count:{x}}"\n', "must hold {count}"),
        ('gpu_option = "--gres=gpu:{count}{}"\n', "must hold {count}"),
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
        load_site(own_site(tmp_path, text))
    assert sentence in str(refusal.value)
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)

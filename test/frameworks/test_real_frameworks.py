"""Every framework with its real package: scripts of the documented shape, which know nothing of ydl, train on
this machine and on YARN to a stated accuracy, and end with one model. (MXNet's are in test/native.)"""

import dataclasses
import json
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import environment
import pytest

from ydl_cluster import compiled

SCRIPTS = Path(__file__).with_name("scripts")
MINUTES = 240
DEBIAN = "/usr/bin/python3"  # the one that Debian's torch is for
LIMITS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2",
          "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2", "JAX_PLATFORMS": "cpu"}


@dataclasses.dataclass
class Proof:
    """One framework's script, how it is started, and what it has to say."""

    script: str
    words: str
    command: str = ""  # "": python and the script
    world: int = 2  # of so many every task has the rank of its number and says so, once
    least: float = 0.85  # accuracy of each; 0: it does not learn
    models: bool = True  # every rank ends with a model, and it is the same one
    says: tuple[str, ...] = ()  # besides
    notes: str = ""  # what it lets its tracker say, and ydl shows
    more: bool = False  # its package is in environment.more()

    def check(self, text: str, notes: str):
        """Reads what the tasks have printed."""
        ranks = sorted(re.findall(r"worker:(\d+)│ rank (\d+) of (\d+),", text))
        assert ranks == [(str(i), str(i), str(self.world)) for i in range(self.world)], text
        found = [float(x) for x in re.findall(r"accuracy ([\d.]+)", text)]
        assert not self.least or (found and min(found) >= self.least), text
        models = re.findall(r"model (\w+)", text)
        assert not self.models or (len(models) == self.world and len(set(models)) == 1), text
        assert all(words in text for words in self.says) and self.notes in notes, f"{text}\n{notes}"


PROOFS = {
    "multi-worker-mirrored": Proof("mirrored.py", "-n 2 --framework tensorflow"),
    "ddp": Proof("ddp.py", "-n 2 --procs 2 --framework pytorch", f"{DEBIAN} ddp.py", world=4,
                 least=0.9),
    "xgboost": Proof("boosted.py", "-n 2 --framework xgboost", notes="ydl: rank 1 has trained"),
    "rabit": Proof("rabit_boosted.py", "-n 3 --framework rabit", world=3, says=("version 1.7",),
                   notes="ydl: rank 2 has trained", more=True),
    "lightgbm": Proof("leaves.py", "-n 2 --framework lightgbm", "python leaves.py {rank}"),
    "jax": Proof("jax_digits.py", "-n 2 --framework jax"),
    "dask": Proof("dask_digits.py", "-n 2 --framework dask", world=0, models=False,
                  says=("workers worker-0 worker-1 accuracy",)),
    "mpi": Proof("allreduce.c", "-n 2 --procs 2 --framework mpi", "./allreduce", world=4, least=0,
                 models=False,
                 says=tuple(f"{i} of 4, left {(i + 3) % 4}, pi 3.141593" for i in range(4))),
    "horovod": Proof("hvd_digits.py", "-n 2 --procs 2 --framework horovod", world=4,
                     says=("rank 3 of 4, local 1 of 2",), more=True),
}


def rows(*short: str):
    """The names of all proofs; those that are not `short` belong to the long suite."""
    return [pytest.param(name, marks=() if name in short else pytest.mark.full) for name in PROOFS]


def needs(there: bool, what: str):
    """A missing package is an error, not a test less."""
    assert there, f"{what} is not there: run tools/setup frameworks"


def put(proof: Proof, work: Path) -> list[str]:
    """The script, or the program made of it, into the directory of the job; its command."""
    if DEBIAN in proof.command:
        needs(Path("/usr/lib/python3/dist-packages/torch").exists(), "python3-torch")
    if not proof.script.endswith(".c"):
        shutil.copy(SCRIPTS / proof.script, work)
        return (proof.command or f"python {proof.script}").split()
    needs(bool(shutil.which("mpicc.mpich")), "mpicc.mpich")
    subprocess.run(["mpicc.mpich", "-O1", SCRIPTS / proof.script, "-o", work / proof.command],
                   check=True)
    return [proof.command]


def variables(proof: Proof) -> dict[str, str]:
    """What any launcher would be told of this machine, nothing of the job."""
    return LIMITS | ({"PYTHONPATH": str(environment.more())} if proof.more else {})


def told(env: dict[str, str], venv: Path) -> list[str]:
    """The same for a job on the cluster, whose nodes have the frameworks where they are here."""
    env = env | {"PATH": f"{venv}/bin:/usr/bin:/bin"}
    return [word for item in env.items() for word in ("--env", "=".join(item))]


# Those of environment.more() take minutes to install; what they ask of a tracker is in test/rendezvous.
@pytest.mark.parametrize("name", rows(*(name for name, proof in PROOFS.items() if not proof.more)))
def test_an_unchanged_script_trains_on_this_machine(local, name):
    proof = PROOFS[name]
    done = local.run("run", *proof.words.split(), "--", *put(proof, local.work), check=0,
                     timeout=MINUTES, env=variables(proof))
    proof.check(done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("name", rows("ddp", "mpi"))
def test_an_unchanged_script_trains_on_yarn(jobs, venv, name):
    proof = PROOFS[name]
    command, env = put(proof, jobs.work), variables(proof)
    if name == "lightgbm":  # see interfaces.c
        library = compiled.result("interfaces-{}.so", [SCRIPTS / "interfaces.c"], "-shared", "-fPIC")
        command = ["env", f"LD_PRELOAD={library}", "NODE_ADDRESS={host}", *command]
    done = jobs.run("run", "--on", "yarn", *proof.words.split(), "--mem", "700m", *told(env, venv),
                    "--", *command, check=0, timeout=MINUTES)
    proof.check(done.stdout, done.stderr)
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


# Rank 1 dies at its first start, while the others look for it.
DIES_ONCE = """
if [ "$YDL_RANK" = 1 ] && mkdir ../died 2>/dev/null; then sleep 1; exit 9; fi
exec "$@"
"""


@pytest.mark.parametrize("name", [row for row in rows("xgboost") if row.values != ("dask",)])
def test_it_trains_when_one_that_died_was_started_again(local, name):
    """With all others, or alone where the framework takes it back: ports and trackers are new or free."""
    proof = PROOFS[name]
    (local.work / "once.sh").write_text(DIES_ONCE)
    done = local.run("run", *proof.words.split(), "--max-restarts", "1", "--", "sh", "once.sh",
                     *put(proof, local.work), check=0, timeout=MINUTES, env=variables(proof))
    assert (local.tmp / "died").exists()
    proof.check(done.stdout.decode(), done.stderr.decode())


def test_a_tracker_waits_for_those_that_train_and_for_nobody_else(local):
    proof = PROOFS["xgboost"]
    (local.work / "job.json").write_text(json.dumps({"framework": "xgboost", "roles": {
        "worker": {"count": 2, "decides": True, "command": put(proof, local.work)},
        "judge": {"decides": True, "command": ["echo", "fair"]}}}))
    done = local.run("run", "-f", "job.json", check=0, timeout=MINUTES, env=LIMITS)
    proof.check(done.stdout.decode(), done.stderr.decode())
    assert "fair" in done.stdout.decode()


# ---- TensorFlow's chief, servers and evaluator: roles of their own, all in Python ----

def put_strategy(work: Path, models: Path):
    """A job of all five roles; who saves and who reads share a directory."""
    shutil.copy(SCRIPTS / "parameter_server.py", work)
    (work / "job.yaml").write_text(textwrap.dedent(f"""
        framework: tensorflow
        command: python parameter_server.py --model-dir {models}
        roles:
          chief: {{count: 1, decides: true}}
          worker: 2
          ps: 1
          evaluator: {{count: 1, decides: true}}
        """))


def check_strategy(text: str):
    """The chief has met every server, the ps has the weights, the evaluator is not of the cluster, and the
    model has learnt."""
    assert ("chief 0, connected /job:chief/task:0 /job:ps/task:0 /job:worker/task:0 /job:worker/task:1, "
            "weights on /job:ps, accuracy") in text, text
    assert "evaluator 0, roles chief ps worker, accuracy" in text, text
    found = [float(x) for x in re.findall(r", accuracy ([\d.]+)", text)]
    assert len(found) == 2 and min(found) >= 0.85, text


@pytest.mark.full
def test_a_chief_trains_with_servers_and_an_evaluator_reads_what_it_saves(local):
    models = local.tmp / "models"
    put_strategy(local.work, models)
    done = local.run("run", "-f", "job.yaml", check=0, timeout=MINUTES, env=LIMITS)
    check_strategy(done.stdout.decode())
    assert (models / "ckpt-3.index").exists()


@pytest.mark.full
def test_they_do_so_on_yarn(jobs, venv, tmp_path):
    put_strategy(jobs.work, tmp_path / "models")
    done = jobs.run("run", "--on", "yarn", "-f", "job.yaml", "--mem", "700m", *told(LIMITS, venv),
                    check=0, timeout=MINUTES)
    check_strategy(done.stdout)
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


# ---- MPI's own way to fail ----

def test_an_mpi_program_that_aborts_ends_the_job_with_its_code(local):
    done = local.run("run", "-n", "3", "--framework", "mpi", "--", *put(PROOFS["mpi"], local.work),
                     "abort", check=3)
    assert "worker:1" in done.stderr.decode() and "MPI_Abort" in done.stderr.decode()


# ---- what torchrun does besides ranks ----

ELASTIC = Proof("elastic.py", "-n 2 --procs 2 --framework pytorch --restart gang --max-restarts 3",
                f"{DEBIAN} elastic.py", world=4, least=0, models=False)


def check_elastic(text: str):
    """Four ranks, each with its place among all, in its container and in its role."""
    ELASTIC.check(text, "")
    assert sorted(re.findall(r"rank \d of 4, (.*)", text)) == [
        f"worker {group} 2 {here} 2 {2 * group + here} 4 0 3 False runs 1"
        for group in range(2) for here in range(2)]


def test_a_script_finds_the_variables_that_torchrun_sets(local):
    done = local.run("run", *ELASTIC.words.split(), "--", *put(ELASTIC, local.work), check=0,
                     timeout=MINUTES, env=LIMITS)
    check_elastic(done.stdout.decode())


@pytest.mark.full
def test_it_finds_them_on_yarn(jobs, venv):
    done = jobs.run("run", "--on", "yarn", *ELASTIC.words.split(), "--mem", "512m",
                    *told(LIMITS, venv), "--", *put(ELASTIC, jobs.work), check=0, timeout=MINUTES)
    check_elastic(done.stdout)


def test_an_error_that_torch_recorded_is_the_one_that_is_told(local):
    words = "-n 2 --framework pytorch"
    local.run("run", *words.split(), "--", *put(ELASTIC, local.work), "1", check=1, timeout=MINUTES,
              env=LIMITS)
    story = json.loads(local.run("status", "--json", "last", check=0).stdout)["story"]
    assert story["task"] == "worker:1"
    assert "ValueError: this layer does not learn" in story["text"], story

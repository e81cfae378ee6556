"""`dmlc-yarn`, `dmlc-submit` and `ydl-launch`: dmlc-core's launchers and MXNet's tools/launch.py."""

import argparse
import contextlib
import io
import json
import random

import pytest
from front_support import SHOW, call, counts, roles, seen, tasks

TEXT = ["-hip", "192.168.1.1", "-n", "1", "-s", "1", "--yarn-scripts", "xxx/mxnet/dmlc-core/yarn/", "python",
        "imagenet.py"]


@pytest.mark.parametrize("program", ["dmlc-yarn", "dmlc-yarn.py", "dmlc_yarn.py"])
def test_the_texts_line_works_as_written(fronts, program):
    fronts.write("imagenet.py", SHOW)
    plan = fronts.plan(program, *TEXT)
    assert counts(plan) == {"worker": 1, "server": 1, "scheduler": 1}
    assert roles(plan)["scheduler"]["place"] == "client"
    assert plan["name"] == "DMLC[nworker=1,nsever=1]:python" and plan["framework"] == "mxnet"
    assert "--yarn-scripts has no effect: ydl does not use Java" in plan["notes"]
    assert tasks(plan)["worker:0"]["argv"] == ["python", "imagenet.py"]
    assert [row["to"] for row in plan["ship"]] == ["imagenet.py"]
    for role in ("worker", "server"):
        assert (roles(plan)[role]["memory"], roles(plan)[role]["cpus"]) == (1 << 30, 1)
    env = tasks(plan)["server:0"]["env"]
    assert env["DMLC_JOB_CLUSTER"] == "yarn" and env["DMLC_MAX_ATTEMPT"] == "3"
    assert (env["DMLC_CPU_VCORES"], env["DMLC_MEMORY_MB"], env["LIBHDFS_OPTS"]) == ("1", "1024", "-Xmx128m")


# A worker and a server on YARN, in the words of each; and where the scheduler's address is told.
FAMILY = {"dmlc-yarn": ["-n", "1", "-s", "1"], "ydl-launch": ["-n", "1", "--launcher", "yarn"],
          "dmlc-submit": ["--cluster", "yarn", "--num-workers", "1", "--num-servers", "1"]}
ADDRESSES = [("dmlc-yarn", "-hip"), ("dmlc-yarn", "--host_ip"), ("dmlc-submit", "--host-ip")]


@pytest.mark.parametrize("program,option", ADDRESSES, ids=lambda v: v)
def test_the_address_is_really_used(fronts, program, option):
    def told(*words):
        return fronts.run(program, *FAMILY[program], *words, "true", check=0,
                          env={"YDL_PLAN": "1", "YDL_SAY": "1"}).stderr
    assert " --client-address 192.168.1.1 " in told(option, "192.168.1.1")
    assert "--client-address" not in told() and " --role scheduler=1,place=client " in told()
    if program == "dmlc-yarn":  # its words for: find it out
        assert "--client-address" not in told(option, "auto") + told(option, "dns")


@pytest.mark.parametrize("program", FAMILY)
def test_the_scheduler_is_where_one_says(fronts, program):
    def place(*words):
        return roles(fronts.plan(program, *words, *FAMILY[program], "true"))["scheduler"]["place"]
    assert [place(), place("--scheduler", "client")] == ["client", "client"]
    assert [place("--scheduler", "cluster"), place("--detach")] == ["cluster", "cluster"]


@pytest.mark.parametrize("program", FAMILY)
def test_a_store_of_one_process_is_warned_of(fronts, program):
    def notes(store):
        return fronts.plan(program, *FAMILY[program], "true", "--kv-store", store)["notes"]
    assert "use dist_sync to train together\n" in notes("sync")
    assert "use dist_async to train together\n" in notes("async")
    assert notes("dist_sync") == notes("horovod") == ""


def _reference():
    """The options of dmlc_yarn.py, by the parser that it used."""
    p = argparse.ArgumentParser()
    p.add_argument("-n", "--nworker", required=True, type=int)
    p.add_argument("-s", "--server-nodes", default=0, type=int)
    p.add_argument("-hip", "--host_ip", default="auto")
    p.add_argument("--log-level", default="INFO", choices=["INFO", "DEBUG"])
    p.add_argument("--log-file")
    p.add_argument("-q", "--queue", default="default")
    p.add_argument("-ac", "--auto_file_cache", default=1, type=int, choices=[0, 1])
    p.add_argument("-f", "--files", action="append")
    p.add_argument("--jobname", default="auto")
    p.add_argument("--tempdir", default="/tmp")
    p.add_argument("--vcores", default=1, type=int)
    p.add_argument("-mem", "--memory_mb", default=1024, type=int)
    p.add_argument("--libhdfs-opts", default="-Xmx128m")
    p.add_argument("--name-node", default="default")
    p.add_argument("--ship-libcxx")
    p.add_argument("--app-classpath")
    p.add_argument("--env", action="append")
    p.add_argument("--yarn-scripts")
    p.add_argument("--max-attempts", default=3, type=int)
    p.add_argument("-hb", "--hadoop_binary")
    p.add_argument("command", nargs="+")
    return p


WORDS = ["-n", "-n2", "-n=3", "--nworker", "--nw=4", "-s", "-s1", "--server", "-hip", "-hi", "-h2", "-mem", "-me",
         "-mem=64", "--vcores", "--v=2", "-q", "-qprod", "--env", "A=1", "--name-node", "--jobname", "j", "--app",
         "--max", "-hb", "1", "2", "5", "64", "python", "job.py", "--lr", "0.1", "-x", "--x=1", "-1", "-.5", "--", "-",
         "a b", "-y z", "--data dir", "--libhdfs-opts=-Xmx1g", "--log", "--yarn-scripts", "d", "0.5x", "-ac", "0"]


def _expected(words):
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            args, rest = _reference().parse_known_args(words)
    except SystemExit as end:
        assert end.code == 2
        return None
    return args, args.command + rest


def _can_run(args) -> bool:
    """What Python's parser lets pass and no job can be: counts of 0, a name with a dash, a variable without a value,
    a name node that is not the configuration's."""
    return (args.name_node == "default" and args.nworker > 0 and args.server_nodes >= 0 and args.vcores > 0 and args.memory_mb > 0
            and args.max_attempts > 0 and not args.jobname.startswith("-") and " " not in args.queue
            and all("=" in row for row in args.env or []))


def test_lines_are_read_as_pythons_parser_read_them(fronts):
    fronts.write("job.py", SHOW)
    dice, compared = random.Random(6), 0
    while compared < 150:
        words = dice.choices(WORDS, k=dice.randint(2, 9))
        if dice.random() < 0.8:
            words = ["-n", "2", *words, "python"]
        wanted = _expected(words)
        if wanted and not _can_run(wanted[0]):
            continue
        compared += 1
        done = fronts.run("dmlc-yarn", "--json", *words, env={"YDL_PLAN": "1"})
        if not wanted:
            assert done.returncode == 2, words
            continue
        assert done.returncode == 0, f"{words}\n{done.stderr}"
        args, command = wanted
        plan = json.loads(done.stdout)
        assert tasks(plan)["worker:0"]["argv"] == command, words
        have = counts(plan)
        assert (have["worker"], have.get("server", 0)) == (args.nworker, args.server_nodes), words
        assert roles(plan)["worker"]["cpus"] == args.vcores and roles(plan)["worker"]["memory"] == args.memory_mb << 20


# Speaks the first words of a rabit client: the tracker answers with the same number.
RABIT = SHOW + """
import socket, struct
s = socket.create_connection((os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])))
s.sendall(struct.pack("@i", 0xff99))
print("TRACKER", struct.unpack("@i", s.recv(4))[0] == 0xff99, flush=True)
"""


@pytest.mark.parametrize("words", [["dmlc-submit", "--cluster", "local", "--num-workers", "2"],
                                   ["dmlc-yarn", "--on", "local", "-n", "2"]], ids=lambda v: v[0])
def test_without_servers_a_job_here_has_a_tracker(fronts, words):
    fronts.write("job.py", RABIT)
    done = fronts.run(*words, "python3", "job.py", "--lr", "1", check=0,
                      env={"DMLC_X": "passes", "rabit_y": "passes", "DMLC_TASK_ID": "77", "PS_VERBOSE": "stays"})
    assert done.stdout.count("TRACKER True") == 2
    for name, task in seen(done).items():
        env = task["env"]
        assert task["argv"] == ["job.py", "--lr", "1"]
        assert (env["DMLC_ROLE"], env["DMLC_TASK_ID"]) == tuple(name.split(":"))
        assert (env["DMLC_NUM_WORKER"], env["DMLC_NUM_SERVER"], env["DMLC_JOB_CLUSTER"]) == ("2", "0", "local")
        assert env["DMLC_X"] == env["rabit_y"] == "passes" and env["DMLC_NODE_HOST"]


def test_with_servers_there_is_a_scheduler(fronts):
    fronts.write("job.py", SHOW)
    done = fronts.run("ydl-launch", "-n", "1", "--launcher", "local", "--native", "no", "--env-worker", "OF_W:b c:d",
                      "--env-server", "OF_S:2", "--env", "MINE", "--p3", "python3", "job.py", check=0,
                      env={"MINE": "3"})
    worker = seen(done)["worker:0"]["env"]
    assert (worker["OF_W"], worker["MINE"], worker.get("OF_S")) == ("b c:d", "3", None)
    assert (worker["DMLC_PS_VAN_TYPE"], worker["DMLC_NUM_SERVER"]) == ("p3", "1")


@pytest.mark.parametrize("words", [["dmlc-submit", "--cluster", "local", "--num-workers", "1"],
                                   ["dmlc-yarn", "--on", "local", "-n", "1"],
                                   ["ydl-launch", "--launcher", "local", "-n", "1", "-s", "0"]], ids=lambda v: v[0])
def test_a_program_of_this_directory_needs_no_path(fronts, words):
    """Not one of PATH: dmlc-core puts ./ before it."""
    (fronts.work / "prog").write_text("#!/bin/sh\necho found $1\n")
    (fronts.work / "prog").chmod(0o755)
    assert "found it" in fronts.run(*words, "prog", "it", check=0).stdout


@pytest.mark.parametrize("words", [["dmlc-submit", "--cluster", "local", "--num-workers", "2"],
                                   ["dmlc-yarn", "--on", "local", "-n", "2"],
                                   ["ydl-launch", "-n", "2", "-s", "0"]], ids=lambda v: v[0])
def test_the_exit_status_is_the_jobs(fronts, words):
    done = fronts.run(*words, "sh", "-c", "[ $DMLC_TASK_ID = 0 ] || exit 9; sleep 600", check=9)
    assert "worker:1" in done.stderr and "exit code 9" in done.stderr


def test_attempts_count_the_first_one(fronts):
    count = "echo x >> tries; exit 3"
    for words, tries in ((["--max-attempts", "3"], 3), ([], 1)):
        (fronts.work / "tries").unlink(missing_ok=True)
        fronts.run("dmlc-yarn", "--on", "local", "-n", "1", *words, "sh", "-c", f"cd {fronts.work}; {count}", check=3)
        assert (fronts.work / "tries").read_text().count("x") == tries
    (fronts.work / "tries").unlink()
    fronts.run("dmlc-submit", "--cluster", "local", "--num-workers", "1", "--local-num-attempt", "1", "sh", "-c",
               f"cd {fronts.work}; {count}", check=3)
    assert (fronts.work / "tries").read_text().count("x") == 2


def test_the_log_file_has_what_was_said(fronts):
    done = fronts.run("dmlc-yarn", "--on", "local", "-n", "1", "--log-file", "log", "sh", "-c", "echo bad >&2; exit 4",
                      check=4)
    log = (fronts.work / "log").read_text()
    assert log == done.stderr and "bad" in log and "exit code 4" in log


def test_files_from_elsewhere_are_sent_and_called_by_their_names(fronts):
    other = fronts.tmp / "other"
    other.mkdir()
    for name in ("job.py", "conf", "extra"):
        (other / name).write_text(SHOW)
    plan = fronts.plan("dmlc-yarn", "-n", "1", "-f", f"{other}/extra", "python", f"{other}/job.py", "../other/conf",
                       "/nowhere/x", str(other))
    assert tasks(plan)["worker:0"]["argv"] == ["python", "./job.py", "./conf", "/nowhere/x", str(other)]
    assert sorted(row["to"] for row in plan["ship"]) == ["conf", "extra", "job.py"]
    plan = fronts.plan("dmlc-yarn", "-n", "1", "-s", "1", f"{other}/job.py")  # the scheduler runs here
    assert [tasks(plan)[name]["argv"] for name in ("worker:0", "server:0", "scheduler:0")] == [
        ["./job.py"], ["./job.py"], [f"{other}/job.py"]]
    plan = fronts.plan("dmlc-yarn", "-n", "1", "-ac", "0", "python", f"{other}/job.py")
    assert tasks(plan)["worker:0"]["argv"] == ["python", f"{other}/job.py"] and plan["ship"] == []


def test_archives_are_unpacked_beside_the_task(fronts):
    """The same words that a container runs, here in a directory of its own."""
    import tarfile
    import zipfile
    fronts.write("data/x", "X")
    with tarfile.open(fronts.work / "a.tar.gz", "w:gz") as tar:
        tar.add(fronts.work / "data/x", "deep/x")
    with zipfile.ZipFile(fronts.work / "b.zip", "w") as pack:
        pack.writestr("deep/y", "Y")
    plan = fronts.plan("dmlc-submit", "--cluster", "yarn", "--num-workers", "1", "--num-servers", "1", "--archives",
                       "a.tar.gz", "--archives", "b.zip", "cat", "deep/x", "deep/y")
    worker = tasks(plan)["worker:0"]
    assert worker["env"]["DMLC_JOB_ARCHIVES"] == "a.tar.gz:b.zip"
    for role, wanted in (("worker", "XY"), ("scheduler", "")):
        there = fronts.tmp / role
        there.mkdir()
        for name in ("a.tar.gz", "b.zip"):
            (there / name).write_bytes((fronts.work / name).read_bytes())
        done = call("/usr/bin/env", worker["argv"], fronts.env | {"DMLC_ROLE": role}, there)
        assert done.stdout == wanted, done.stderr


def test_the_configuration_is_found_below_hadoop_home(fronts):
    fronts.write("hadoop/etc/hadoop/core-site.xml", "<configuration/>")
    words = ["-n", "1", "true"]
    for more, env in (([], {"HADOOP_HOME": "hadoop"}), (["-hb", "hadoop/bin/hadoop"], {})):
        done = fronts.run("dmlc-yarn", *more, *words, env={"YDL_PLAN": "1", "YDL_SAY": "1"} | env)
        assert " --conf hadoop/etc/hadoop " in done.stderr


WRONG = [
    ("dmlc-yarn", [], "the number of workers is missing (-n)"),
    ("dmlc-yarn", ["-n", "1"], "a command is missing"),
    ("dmlc-yarn", ["-n", "0", "true"], "option '--nworker': 0 is less than the minimum, 1"),
    ("dmlc-yarn", ["-n", "1", "--log", "x", "true"], "option '--log' is ambiguous: --log-level, --log-file"),
    ("dmlc-yarn", ["-n", "1", "-f", "nothing", "true"], "there is no file 'nothing'"),
    ("dmlc-yarn", ["-n", "1", "--log-file", "no/such/dir", "true"],
     "log file 'no/such/dir': No such file or directory"),
    ("dmlc-yarn", ["-n", "1", "python", "nothere.py"], "there is no script 'nothere.py'"),
    ("dmlc-yarn", ["-n", "1", "--name-node", "other", "true"],
     "--name-node: ydl uses the NameNode of the Hadoop configuration, not 'other'"),
    ("dmlc-submit", ["--cluster", "yarn", "--num-workers", "1", "--host-file", "hosts", "true"],
     "--host-file: ydl takes no list of hosts; on YARN, --node-label selects nodes"),
    ("ydl-launch", ["-n", "1", "-H", "hosts", "true"],
     "-H: ydl takes no list of hosts; on YARN, --node-label selects nodes"),
    ("dmlc-submit", ["--num-workers", "1", "true"], "--cluster is missing: use --cluster yarn or --cluster local"),
    ("dmlc-submit", ["--cluster", "sge", "--num-workers", "1", "true"],
     "'sge' is not supported: ydl runs on yarn or local"),
    ("dmlc-submit", ["--cluster", "local", "--num-workers", "1", "--worker-memory", "big", "true"],
     "option '--worker-memory': 'big' is not a size such as 1g or 512m"),
    ("dmlc-submit", ["--cluster", "local", "--num-workers", "1", "python3", "nothing.py"],
     "command: there is no script 'nothing.py'"),
    ("ydl-launch", ["-n", "1", "--launcher", "ssh", "true"], "'ssh' is not supported: ydl runs on yarn or local"),
    ("ydl-launch", ["-n", "1", "--env-worker", "A", "true"], "option '--env-worker': 'A' is not NAME:VALUE"),
    ("ydl-launch", ["true"], "the number of workers is missing (-n)"),
]


@pytest.mark.parametrize("program,words,text", WRONG, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_wrong_use_gets_a_sentence_and_exit_2(fronts, program, words, text):
    assert fronts.wrong(program, *words) == text

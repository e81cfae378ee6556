"""The plan against the truth: the environment that a task has is the one that `ydl plan` printed."""

import json

import pytest

# sh may change its own variables; what it was given stands in /proc. Nobody leaves before all have
# written: servers are ended when the workers are done.
COMMAND = ["sh", "-c", "me=$YDL_ROLE.$YDL_RANK; cat /proc/$$/environ > new.$me; mv new.$me seen.$me;"
                       "until [ $(ls seen.* | wc -l) = $0 ]; do sleep 0.02; done"]

# What a plan can only name, for it is made when the task starts.
AT_RUN_TIME = {
    "TMPDIR": "<temporary directory>", "YDL_SOCKET": "<socket of the task>",
    "YDL_SPEC": "<file with all addresses>", "YDL_STOP": "<file that says when to stop>",
    "TORCHELASTIC_ERROR_FILE": "<file for the task's error>",
}

JOBS = [
    ("none", ["-n", "2"]),
    ("none", ["--role", "a=2,ports=2", "--role", "b=1", "--env", "X={rank}"]),
    ("pytorch", ["-n", "2", "--procs", "2"]),
    ("mxnet", ["-n", "2", "-s", "1", "--native", "no"]),
    ("tensorflow", ["-n", "2", "-s", "1"]),
]


def _masked(env, job, ports):
    """Ids and ports by what they are: those of a plan are made up."""
    for name, value in env.items():
        value = value.replace(job, "<job>")
        for port, whose in ports.items():
            value = value.replace(str(port), f"<port of {whose}>")
        env[name] = value
    return env


def _planned(local, args):
    plan = json.loads(local.run("plan", "--json", *args, "--", *COMMAND, check=0).stdout)
    tasks = [t for r in plan["roles"] for t in r["tasks"]]
    ports = {p: f"{t['task']}#{i}" for t in tasks for i, p in enumerate(t["ports"])}
    return {t["task"]: _masked(t["env"], plan["job"], ports) for t in tasks}


def _seen(local):
    tasks = {}
    for path in local.work.glob("seen.*"):
        entries = path.read_bytes().decode().rstrip("\0").split("\0")
        tasks[":".join(path.name.split(".")[1:])] = dict(e.split("=", 1) for e in entries)
    ports = {}
    for task, env in tasks.items():
        of_task = env.get("YDL_PORTS", env.get("YDL_PORT", ""))
        ports.update({p: f"{task}#{i}" for i, p in enumerate(of_task.split(",")) if p})
    return {t: _masked(env, local.jobs()[-1].name, ports) for t, env in tasks.items()}


@pytest.mark.parametrize("framework, args", JOBS, ids=[f"{j[0]}-{len(j[1])}" for j in JOBS])
def test_a_task_has_what_the_plan_says(local, framework, args):
    args = ["--framework", framework, *args]
    planned = _planned(local, args)
    local.run("run", *args, "--", *COMMAND, len(planned), check=0)
    seen = _seen(local)
    assert set(seen) == set(planned)
    for task, env in seen.items():
        wanted = {**local.env, **planned[task]}
        assert set(env) == set(wanted), task
        for name in AT_RUN_TIME.keys() & set(env):
            assert wanted.pop(name) == AT_RUN_TIME[name]
            assert env.pop(name).startswith("/")
        assert env == wanted, task


def test_the_text_has_every_variable_too(local):
    args = ["--framework", "pytorch", "-n", "2"]
    text = local.run("plan", *args, "--", "true", check=0).stdout.decode()
    plan = json.loads(local.run("plan", "--json", *args, "--", "true", check=0).stdout)
    for role in plan["roles"]:
        for task in role["tasks"]:
            for name, value in task["env"].items():
                assert f"{name}={value}"[:80] in text  # a person is not shown more of a long one


def test_devices_that_were_asked_for_have_a_place(local):
    (local.work / "job.yaml").write_text("command: 'true'\nroles: {worker: {count: 1, gpus: 2}}\n")
    done = local.run("plan", "--on", "yarn", "--json", "-f", "job.yaml", check=0)
    env = json.loads(done.stdout)["roles"][0]["tasks"][0]["env"]
    assert env["CUDA_VISIBLE_DEVICES"] == "<2 GPUs of its machine>"
    assert env["HOME"] == "<directory of the container>"
    assert env["HADOOP_TOKEN_FILE_LOCATION"] == "<file with the job's tokens>"

"""`ydl run` on a terminal: the live block, colours, safe output, and Ctrl-C."""

import re

import pytest
from verbs_support import Terminal, screen_of

STEPS = 'for i in 1 2 3 4; do echo "line $i"; sleep 0.3; done\n'
SEEN = 'until [ -e seen ]; do sleep 0.05; done\n'  # when the test has seen what it waits for


def plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\033\[[\d;]*m", "", text)


def test_a_block_shows_the_job_while_it_runs_and_is_gone_at_the_end(jobs):
    script = jobs.script("steps", STEPS + SEEN)
    with Terminal(jobs, "run", "-n", "2", "--", script) as terminal:
        terminal.read("2 running")
        (jobs.work / "seen").touch()
        assert terminal.end() == 0
    text = plain(terminal.text)
    assert re.search(r"steps  running  [\d.]+ m?s\r\n  worker  2 running", text), text
    lines = [line for line in screen_of(text) if line]
    assert sum(line.startswith("worker:0│ line ") for line in lines) == 4
    assert sum(line.startswith("worker:1│ line ") for line in lines) == 4
    assert "succeeded in" in lines[-1] and len(lines) == 10
    assert not any("2 running" in line for line in lines)


def test_lines_and_block_never_mix(jobs):
    script = jobs.script("many", 'for i in $(seq 300); do echo "$YDL_RANK $i xxxxxxxxxxxxxxx"; done\nsleep 0.5\n'
                                 'for i in $(seq 300); do echo "$YDL_RANK $i xxxxxxxxxxxxxxx"; done\n')
    with Terminal(jobs, "run", "-n", "4", "--", script, columns=50) as terminal:
        assert terminal.end() == 0
    lines = screen_of(plain(terminal.text), 200)[1:-1]
    output = [line for line in lines if line.startswith("worker:")]
    assert len(output) == 4 * 600
    assert all(re.fullmatch(r"worker:(\d)│ \1 \d+ x{15}", line) for line in output)


def test_a_terminal_that_becomes_narrow(jobs):
    script = jobs.script("steps", SEEN + STEPS)
    with Terminal(jobs, "run", "--", script, columns=100) as terminal:
        terminal.read("1 running")
        terminal.resize(20)
        (jobs.work / "seen").touch()
        assert terminal.end() == 0
    late = plain(terminal.text).split("line 3")[1]
    blocks = re.findall(r"[\nJ](steps[^\r\n\033]*)", late)
    assert blocks and all(len(block) < 20 for block in blocks)


@pytest.mark.parametrize("words,env", [
    (["-q"], {}), (["--json"], {}), ([], {"TERM": "dumb"}), ([], {"TERM": ""}),
])
def test_no_block_where_none_is_wanted(jobs, words, env):
    script = jobs.script("steps", STEPS)
    with Terminal(jobs, "run", *words, "--", script, env=env) as terminal:
        assert terminal.end() == 0
    assert "\033[J" not in terminal.text and "1 running" not in terminal.text


def test_colours_and_their_absence(jobs):
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with Terminal(jobs, "run", "-q", "-n", "2", "--", "echo", "hi", env=env) as terminal:
            assert terminal.end() == 0
        assert ("\033[36mworker:0│\033[0m hi" in terminal.text) == coloured
        assert ("\033[" in terminal.text) == coloured
        assert "worker:1│ hi" in plain(terminal.text)


def test_a_terminal_without_utf8(jobs):
    with Terminal(jobs, "run", "-q", "--", "echo", "hi", env={"LC_ALL": "C", "NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
    assert terminal.text == "worker:0| hi\r\n"


def test_what_tasks_write_cannot_harm_the_terminal(jobs):
    script = jobs.script("bad", r"printf '\033]0;title\007\033[2J\033[31mred\033[0m \377 \t.\n'" "\n"
                                r"printf ' 10%%\r 20%%\r100%%\n'" "\n")
    with Terminal(jobs, "run", "-q", "--", script, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
    assert terminal.text == ("worker:0│ \\x1b]0;title\\x07\033[31mred\033[0m \\xff \t.\033[0m\r\n"
                             "worker:0│ 100%\r\n")


def test_ctrl_c_stops_and_twice_kills(jobs):
    script = jobs.script("deaf", 'trap "echo no" TERM\ntrap "" INT\necho up\nwhile :; do sleep 0.05; done\n')
    # The last line says who stopped it, and a person's name may be long.
    with Terminal(jobs, "run", "--grace", "1h", "--", script, columns=200) as terminal:
        terminal.read("up")
        terminal.type("\003")
        terminal.read("no")
        terminal.type("\003")
        assert terminal.end() == 130
    lines = screen_of(plain(terminal.text), 200)
    assert "ydl: stopping the job; press Ctrl-C again to kill it now" in "\n".join(lines)
    assert any(line.startswith("ydl: job 'deaf'") and "was stopped by" in line for line in lines)


def test_a_closed_terminal_ends_the_job(jobs):
    with Terminal(jobs, "run", "--grace", "1s", "--", "sleep", "1000") as terminal:
        terminal.read("1 running")
    jobs.until(lambda: not jobs.processes(), "the job goes on")


def test_progress_is_shown(jobs):
    """What a task reports comes into the block, with the time that is left."""
    script = jobs.work / "report.py"
    script.write_text("import os, socket, time\n"
                      "for i in range(1, 6):\n"
                      "    s = socket.socket(socket.AF_UNIX)\n"
                      "    s.connect(os.environ['YDL_SOCKET'])\n"
                      "    s.sendall(f'progress {i} 10 loss=0.5\\n'.encode())\n"
                      "    s.recv(100)\n"
                      "while not os.path.exists('seen'): time.sleep(0.05)\n")
    with Terminal(jobs, "run", "--", "python3", "report.py") as terminal:
        while not re.search(r"worker  1 running  \d/10 \d0 %  loss 0.5", plain(terminal.text)):
            assert terminal.more(), terminal.text
        (jobs.work / "seen").touch()
        assert terminal.end() == 0


def test_top_goes_on_until_ctrl_c(jobs):
    job = jobs.submit("--", "sleep", "1000")
    jobs.running(job)
    with Terminal(jobs, "top", "-d", "300ms", columns=120) as terminal:
        terminal.read("\033[H\033[2J", times=3)
        assert job in terminal.text
        terminal.type("\003")
        assert terminal.end() == 0


def test_top_of_one_job_ends_with_it(jobs):
    job = jobs.submit("--", "sleep", "1000")
    jobs.running(job)
    with Terminal(jobs, "top", job, "-d", "300ms", columns=120) as terminal:
        terminal.read("worker:0")
        jobs.ok("kill", job)
        assert terminal.end() == 0

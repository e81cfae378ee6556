"""`ydl predict --csv`: the rows of a table."""

import csv
import io
import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

ROWS = 1000


def deployed(serving, models):
    """A deployment of a model with four numbers a row."""
    serving.run("model", "push", models / "small.onnx", "small", check=0)
    serving.deploy("small", "--name", "shop", "--cpus", 1)
    return serving


@pytest.fixture(scope="module", name="shop")
def fixture_shop(shared, models):
    """One for all tests that leave it as it was."""
    return deployed(shared, models)


@pytest.fixture(name="own")
def fixture_own(serving, models):
    return deployed(serving, models)


def table(n, seed=5):
    """Rows of four numbers, and what the model is to get."""
    numbers = random.Random(seed)
    return [[round(numbers.uniform(-2, 2), 3) for _ in range(4)] for _ in range(n)]


def write(shop, name, rows, header=None, end="\n"):
    text = "".join(",".join(map(str, row)) + end for row in ([header] if header else []) + rows)
    (shop.work / name).write_text(text)


def predict(shop, *words, check=0, **more):
    return shop.run("predict", "shop", *words, check=check, **more)


def one_by_one(shop, rows):
    """What the deployment says to them in one request as JSON."""
    done = predict(shop, "--json", json.dumps({"instances": rows}))
    return json.loads(done.stdout)["predictions"]


def near(got, wanted):
    """Rows computed together may differ in the last digits."""
    return len(got) == len(wanted) and all(
        abs(a - b) < 1e-5 for g, w in zip(got, wanted) for a, b in zip(g, w, strict=True))


def test_every_row_is_answered_in_its_order(shop):
    rows = table(ROWS)
    write(shop, "rows.csv", rows, header=list("abcd"))
    wanted = one_by_one(shop, rows)
    done = predict(shop, "--csv", "rows.csv", "--batch", 7)
    assert near([json.loads(line)["y"] for line in done.stdout.splitlines()], wanted)
    assert not done.stderr
    # The same as a table, by a pipe, in one request.
    with (shop.work / "rows.csv").open("rb") as file:
        done = predict(shop, "--csv", "-", "--batch", ROWS, "--parallel", 1, "--output", "csv", stdin=file)
    header, *lines = csv.reader(io.StringIO(done.stdout.decode()))
    assert header == ["y.0", "y.1", "y.2"]
    assert near([[float(cell) for cell in line] for line in lines], wanted)


def test_names_in_the_first_line_say_which_column_is_which(shop):
    rows = table(3)
    write(shop, "mixed.csv", [[row[2], "note", row[0], row[3], row[1]] for row in rows],
          header=["x.2", "remark", "x.0", "x.3", "x.1"], end="\r\n")
    done = predict(shop, "--csv", "mixed.csv")
    assert near([json.loads(line)["y"] for line in done.stdout.splitlines()], one_by_one(shop, rows))
    assert "columns that the model does not take: remark" in done.stderr.decode()


def test_a_model_with_several_inputs_and_one_that_takes_no_rows(serving, models):
    for name in ("two", "slow"):
        serving.run("model", "push", models / f"{name}.onnx", name, check=0)
    serving.deploy("two", "--name", "shop", "--cpus", 1)
    (serving.work / "two.csv").write_text("b.0,b.1,a.0,a.1\n10,20,1,2\n30,40,3,4\n")
    done = predict(serving, "--csv", "two.csv")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"sum": [11, 22]}, {"sum": [33, 44]}]
    serving.run("serve", "stop", "shop", check=0)
    serving.deploy("slow", "--name", "shop", "--cpus", 1)
    (serving.work / "slow.csv").write_text("1\n2\n3\n")
    done = predict(serving, "--csv", "slow.csv", "--output", "csv")
    assert done.stdout.decode() == "y\n64.0\n64.0\n64.0\n"


@pytest.mark.parametrize("text, words, code, expected, answered", [
    ("1,2,3,4\n1,2,3\n", [], 2, "bad.csv: line 2: 3 columns instead of 4", 0),
    ("1,2,3,4\n1,2,3,4\n1,2,x,4\n", ["--batch", "1"], 2,
     "bad.csv: line 3, column 3: 'x' is not a number (input 'x' is FP32)", 2),
    ("a,2,3,4\n", [], 2, "--header yes", 0),
    ("1,2\n", [], 2, "line 1: 2 columns, and the model takes 4", 0),
    ("", [], 2, "there are no rows", 0),
    ("a,b,c,d\n", [], 0, "", 0),
    ("1,2,3,4\n\"1,2\n", [], 2, "bad.csv: line 2: a quote", 0),
    ("1,2,3,4\n", ["--batch", "0"], 2, "--batch", 0),
    ("1,2,3,4\n", ["--json", "{}"], 2, "one of --json, --file and --csv", 0),
    ("1,2,3,4\n", ["--model", "other"], 1, "other", 0),
], ids=["short", "text", "first", "columns", "empty", "header", "quote", "batch", "twice", "model"])
def test_what_is_wrong_with_a_table_is_told_with_its_line(shop, text, words, code, expected, answered):
    (shop.work / "bad.csv").write_text(text)
    done = predict(shop, "--csv", "bad.csv", *words, check=code)
    assert expected in done.stderr.decode()
    assert len(done.stdout.splitlines()) == answered


def test_a_file_that_cannot_be_read_is_the_users_mistake(shop):
    assert "nowhere.csv" in predict(shop, "--csv", "nowhere.csv", check=2).stderr.decode()
    assert "is a directory" in predict(shop, "--csv", ".", check=2).stderr.decode()


@pytest.mark.parametrize("victim", ["ydl-native serve --host", pytest.param("haproxy -", marks=pytest.mark.full)])
def test_rows_are_answered_as_they_come_and_again_when_a_server_was_lost(own, victim):
    wanted = one_by_one(own, [[1, 2, 3, 4]])
    client = own.start("predict", "shop", "--csv", "-", "--batch", 1, stdin=subprocess.PIPE)

    def answer():
        client.stdin.write(b"1,2,3,4\n")
        client.stdin.flush()
        return [json.loads(client.stdout.readline())["y"]]
    assert near(answer(), wanted)
    for _ in range(3):
        os.kill(own.find(victim)[0], signal.SIGKILL)
        assert near(answer(), wanted)
    client.stdin.close()
    assert client.wait(60) == 0, client.stderr.read()


def test_a_deployment_that_has_gone_is_not_waited_for(own):
    client = own.start("predict", "shop", "--csv", "-", "--batch", 1, stdin=subprocess.PIPE)
    client.stdin.write(b"1,2,3,4\n")
    client.stdin.flush()
    client.stdout.readline()
    own.run("serve", "stop", "shop", check=0)
    client.stdin.write(b"1,2,3,4\n")
    client.stdin.close()
    assert client.wait(60) == 1
    assert "standard input, line 2: " in (said := client.stderr.read().decode()), said


def test_who_interrupts_it_while_it_waits_for_rows_is_obeyed(shop):
    client = shop.start("predict", "shop", "--csv", "-", "--batch", 1, stdin=subprocess.PIPE)
    client.stdin.write(b"1,2,3,4\n")
    client.stdin.flush()
    client.stdout.readline()
    client.send_signal(signal.SIGINT)
    assert client.wait(60) == 130


def test_memory_does_not_grow_with_the_table(shop):
    line = b"0.5,-1.25,3,4e-2\n" * 1000
    client = shop.start("predict", "shop", "--csv", "-", "--batch", 1000, stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL)
    peak = []
    for turn in range(400):
        client.stdin.write(line)
        if turn in (100, 399):
            status = Path(f"/proc/{client.pid}/status").read_text()
            peak.append(int(status.split("VmHWM:")[1].split()[0]))
    client.stdin.close()
    assert client.wait(120) == 0
    assert peak[1] < peak[0] + 4096, peak  # KiB


def make_certificate(directory, name):
    """A self-signed certificate for a name; its file and its key's."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-keyout", directory / "key.pem",
                    "-out", directory / "cert.pem"], check=True, capture_output=True)
    return directory / "cert.pem", directory / "key.pem"


def test_with_tls_the_certificate_is_looked_at(serving, models):
    serving.run("model", "push", models / "small.onnx", "small", check=0)
    certificate, key = make_certificate(serving.work, "shop.example.com")
    url = serving.deploy("small", "--name", "shop", "--cpus", 1, "--certificate", certificate, "--private-key", key)
    assert url.startswith("https://") and serving.status("shop")["url"] == url
    assert json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"][0]["url"] == url
    one = ["--json", '{"instances": [[1, 2, 3, 4]]}']
    good = ["--ca", certificate, "--server-name", "shop.example.com"]
    (serving.work / "rows.csv").write_text("1,2,3,4\n")
    wanted = json.loads(predict(serving, *one, *good).stdout)["predictions"]
    answer = predict(serving, "--csv", "rows.csv", *good).stdout
    assert near([json.loads(answer)["y"]], wanted)
    for words, expected in [
            ([], "self-signed certificate"),
            (["--ca", certificate], "IP address mismatch"),
            (["--ca", certificate, "--server-name", "shop.example.org"], "hostname mismatch"),
            (["--ca", "rows.csv"], "certificate 'rows.csv'"),
            (["--ca", "nowhere.pem"], "open 'nowhere.pem': No such file")]:
        done = predict(serving, *one, *words, check=None)
        assert done.returncode in (1, 77) and expected in done.stderr.decode(), (words, done)
        assert not done.stdout


def test_keys_and_certificates_are_looked_at_before_anything_starts(serving):
    certificate, key = make_certificate(serving.work, "shop.example.com")
    (serving.work / "old").mkdir()
    other = make_certificate(serving.work / "old", "old.example.com")[0]
    (serving.work / "junk.pem").write_text("junk")
    for name, text, mode in (("short", "abc\n", 0o600), ("none", "# of nobody\n", 0o600), ("open", "k" * 32, 0o644)):
        (serving.work / name).write_text(text)
        (serving.work / name).chmod(mode)
    for words, says in [
            (["--private-key", key], "a private key is of use with its certificate only"),
            (["--certificate", other, "--private-key", key], f"private key '{key}': key values mismatch"),
            (["--certificate", "junk.pem", "--private-key", key], f"certificate '{serving.work}/junk.pem': no start"),
            (["--certificate", "nowhere.pem", "--private-key", key], "nowhere.pem': No such file"),
            (["--certificate", certificate, "--private-key", "junk.pem"], "junk.pem' has a secret that others can read"),
            (["--key-file", "short"], "a key has at least 16 characters"),
            (["--key-file", "none"], "has no key in it"),
            (["--key-file", "open"], "has a secret that others can read"),
            (["--key-file", "nowhere"], "nowhere': No such file")]:
        done = serving.run("serve", "deploy", "mlp", "--cpus", 1, *words)
        assert done.returncode in (2, 77) and says in done.stderr.decode(), (words, done)
        assert not serving.jobs()

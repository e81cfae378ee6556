"""A table of flowers to score in Spark, and what two versions of a model say to it.

    PYTHON spark_table.py models DIR     by the Python that has the frameworks: DIR/one.onnx, two.onnx, answers
    PYTHON spark_table.py write DIR      by Spark's Python: DIR/table, a directory of Parquet files, and rows.csv
    PYTHON spark_table.py compare DIR SCORED    by Spark's Python: how many rows have whose answer, as JSON; SCORED
                                         is a directory of Parquet files, or a file with an answer on each line

The second version says what the first one does of another kind, so every answer is that of one of them alone.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("spark.lock")
TRAIN = Path(__file__).resolve().parents[2] / "examples" / "serving" / "train.py"
ROWS, FILES = 100_000, 8
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def environment() -> Path:
    """The environment with Spark, which tools/setup puts into the cache."""
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    found = Path(cache) / f"spark-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    assert (found / "ready").exists(), f"{found} is not there: run tools/setup all"
    return found


def models(directory: Path) -> None:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    subprocess.run([sys.executable, TRAIN, directory], check=True, stdout=subprocess.DEVNULL)
    (directory / "flowers.onnx").rename(directory / "one.onnx")
    model = onnx.load(directory / "one.onnx")
    for one in model.graph.initializer:
        one.CopyFrom(numpy_helper.from_array(np.roll(numpy_helper.to_array(one), 1, axis=-1), one.name))
    onnx.save(model, directory / "two.onnx")
    flowers = np.loadtxt(directory / "flowers.csv", delimiter=",", skiprows=1)
    random = np.random.default_rng(5)
    rows = flowers[random.integers(len(flowers), size=ROWS)] + random.normal(scale=0.05, size=(ROWS, 4))
    rows = rows.astype("f4").astype("f8")  # exact in text and as what the model takes
    np.save(directory / "rows.npy", rows)
    for name in ("one", "two"):
        session = onnxruntime.InferenceSession(directory / f"{name}.onnx", providers=["CPUExecutionProvider"])
        np.save(directory / f"{name}.npy", session.run(None, {"flower": rows.astype("f4")})[0])


def write(directory: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = np.load(directory / "rows.npy")
    (directory / "table").mkdir()
    for n, ids in enumerate(np.array_split(np.arange(ROWS), FILES)):
        columns = {"id": pa.array(ids)} | {name: pa.array(rows[ids, i]) for i, name in enumerate(NAMES)}
        pq.write_table(pa.table(columns), directory / "table" / f"part-{n}.parquet")
    np.savetxt(directory / "rows.csv", rows, fmt="%.9g", delimiter=",")


def compare(directory: Path, scored: Path) -> None:
    import numpy as np
    import pyarrow.parquet as pq
    wanted = {name: np.load(directory / f"{name}.npy") for name in ("rows", "one", "two")}
    if scored.is_dir():
        table = pq.read_table(scored)
        ids, got = table["id"].to_numpy(), np.stack(table["answer"].to_numpy())
        rows = np.stack([table[name].to_numpy() for name in NAMES], axis=1)
        whole = len(ids) == ROWS and (np.sort(ids) == np.arange(ROWS)).all() and (rows == wanted["rows"][ids]).all()
    else:
        got = np.array([json.loads(line) for line in scored.read_text(encoding="utf-8").splitlines()])
        ids, whole = np.arange(len(got)), len(got) == ROWS
    one, two = (np.abs(got - wanted[name][ids]).max(axis=1) < 1e-5 for name in ("one", "two"))
    print(json.dumps({"whole": bool(whole), "one": int(one.sum()), "two": int(two.sum()),
                      "both": int((one & two).sum()), "wrong": int((~one & ~two).sum())}))


if __name__ == "__main__":
    {"models": models, "write": write, "compare": compare}[sys.argv[1]](*map(Path, sys.argv[2:]))

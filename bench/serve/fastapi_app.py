"""ONNX Runtime under FastAPI, as a web page would tell one to write it: JSON by FastAPI's own way,
and raw bytes for those who ask for speed. One thread computes, as in the server beside it."""

import os

import numpy as np
import onnxruntime
from fastapi import FastAPI, Request, Response

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(os.environ["MODEL"], options,
                                       providers=["CPUExecutionProvider"])
app = FastAPI()


@app.get("/health")
async def health():
    """Ready."""
    return {"ready": True}


@app.post("/json")
async def infer(request: Request):
    """Rows as lists of numbers."""
    body = await request.json()
    x = np.asarray(body["instances"], dtype=np.float32)
    return {"predictions": session.run(None, {"x": x})[0].tolist()}


@app.post("/raw")
async def raw(request: Request):
    """One row as 32-bit floats."""
    x = np.frombuffer(await request.body(), dtype=np.float32).reshape(1, -1)
    return Response(session.run(None, {"x": x})[0].tobytes(),
                    media_type="application/octet-stream")

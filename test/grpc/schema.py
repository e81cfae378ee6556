"""Compares a schema of proto/ with the descriptors that a real client carries: run by the Python of
the clients' environment.

    schema.py SCHEMA SITE_PACKAGES…     prints what differs, nothing when nothing does
"""

import importlib
import pathlib
import re
import sys
import types

FIELD = re.compile(r"^\s*(repeated )?([\w.]+) (\w+) = (\d+);", re.MULTILINE)
MESSAGE = re.compile(r"^ *message (\w+) \{\}|^( *)message (\w+) \{(.*?)^\2\}",
                     re.MULTILINE | re.DOTALL)
VALUE = re.compile(r"^\s*(\w+) = (\d+);", re.MULTILINE)
ENUM = re.compile(r"^enum (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)

# Where the client's name is another than ours: nested there, or of another package.
OIP = {
    "package": "inference.",
    "modules": ["tritonclient.grpc.service_pb2"],
    "TensorMetadata": ["inference.ModelMetadataResponse.TensorMetadata"],
    "ModelIndex": ["inference.RepositoryIndexResponse.ModelIndex"],
    "InferTensor": ["inference.ModelInferRequest.InferInputTensor",
                    "inference.ModelInferResponse.InferOutputTensor"],
    "InferRequestedOutput": ["inference.ModelInferRequest.InferRequestedOutputTensor"],
    "ParameterEntry": ["inference.ModelInferRequest.ParametersEntry"],
}
TFS = {
    "package": "tensorflow.serving.",
    "modules": ["tensorflow_serving.apis.predict_pb2",
                "tensorflow_serving.apis.get_model_metadata_pb2",
                "tensorflow_serving.apis.get_model_status_pb2"],
    "DataType": ["tensorflow.DataType"],
    "TensorShape": ["tensorflow.TensorShapeProto"],
    "Dim": ["tensorflow.TensorShapeProto.Dim"],
    "Tensor": ["tensorflow.TensorProto"],
    "TensorEntry": ["tensorflow.serving.PredictRequest.InputsEntry",
                    "tensorflow.serving.PredictResponse.OutputsEntry"],
    "Int64Value": ["google.protobuf.Int64Value"],
    "TensorInfo": ["tensorflow.TensorInfo"],
    "TensorInfoEntry": ["tensorflow.SignatureDef.InputsEntry"],
    "SignatureDef": ["tensorflow.SignatureDef"],
    "SignatureDefEntry": ["tensorflow.serving.SignatureDefMap.SignatureDefEntry"],
    "Any": ["google.protobuf.Any"],
    "AnyEntry": ["tensorflow.serving.GetModelMetadataResponse.MetadataEntry"],
    "State": ["tensorflow.serving.ModelVersionStatus.State"],
    "Status": ["tensorflow.serving.StatusProto"],
}
NAMES = {"oip.proto": OIP, "tfs.proto": TFS}

# Ours stands for theirs on the wire.
SAME = {("int32", "enum")}


def without_packages(name: str, roots: list[str]):
    """Makes `name` importable without running what its __init__ does (importing TensorFlow)."""
    module = types.ModuleType(name)
    module.__path__ = [str(pathlib.Path(r, *name.split("."))) for r in roots]
    sys.modules[name] = module


def kind(field) -> str:
    """A field's type as the schema writes it; messages and enums by what they are."""
    names = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string",
             11: "message", 12: "bytes", 13: "uint32", 14: "enum"}
    return names[field.type]


def messages(text: str):
    """(name, fields) of each message; those of nested ones are not their parents'."""
    for m in MESSAGE.finditer(text):
        body = m.group(4) or ""
        yield from messages(body)
        yield m.group(1) or m.group(3), FIELD.findall(MESSAGE.sub("", body))


def compare(where: str, fields, theirs, enums: set[str]):
    """What is wrong with one message, in words."""
    for repeated, ours, name, number in fields:
        field = theirs.fields_by_name.get(name)
        if field is None:
            yield f"{where}.{name}: not in {theirs.full_name}"
            continue
        scalar = ours in ("double", "float", "int64", "uint64", "int32", "bool", "string", "bytes",
                          "uint32")
        mine = ours if scalar else "enum" if ours in enums else "message"
        if field.number != int(number):
            yield f"{where}.{name}: {number} is {field.number} in {theirs.full_name}"
        if mine != kind(field) and (mine, kind(field)) not in SAME:
            yield f"{where}.{name}: {ours} is {kind(field)} in {theirs.full_name}"
        if bool(repeated) != (field.label == field.LABEL_REPEATED):
            yield f"{where}.{name}: repeated here or in {theirs.full_name}, not in both"


def main(schema: str, roots: list[str]) -> int:
    """Prints the differences; returns how many."""
    sys.path[:0] = roots
    for package in ("tritonclient", "tritonclient.grpc", "tensorflow", "tensorflow_serving"):
        without_packages(package, roots)
    names = NAMES[pathlib.Path(schema).name]
    for module in names["modules"]:
        importlib.import_module(module)
    from google.protobuf import descriptor_pool
    pool = descriptor_pool.Default()
    text = re.sub(r"//[^\n]*", "", pathlib.Path(schema).read_text())
    enums = {name for name, _ in ENUM.findall(text)}
    wrong, seen = [], 0
    for name, fields in messages(text):
        for full in names.get(name, [names["package"] + name]):
            wrong += compare(name, fields, pool.FindMessageTypeByName(full), enums)
            seen += len(fields)
    for name, body in ENUM.findall(text):
        theirs = pool.FindEnumTypeByName(names[name][0])
        for value, number in VALUE.findall(body):
            seen += 1
            if theirs.values_by_name[value].number != int(number):
                wrong.append(f"{name}.{value}: {number} is {theirs.values_by_name[value].number}")
    print("\n".join(wrong + [f"{seen} fields"]))
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]) != 0)

"""The messages of an ONNX file that a network consists of, with the field numbers of `onnx.proto`.

Subgraphs (the bodies of If, Loop and Scan) and functions are named, so that they can be refused, and not decoded.
"""

from .wire import Field

ENTRY = {1: Field("key", "text"), 2: Field("value", "text")}
TENSOR = {
    1: Field("dims", "int", many=True),
    2: Field("data_type", "int"),
    4: Field("float_data", "floats", many=True),
    5: Field("int32_data", "ints", many=True),
    7: Field("int64_data", "ints", many=True),
    8: Field("name", "text"),
    9: Field("raw_data", "bytes"),
    10: Field("double_data", "doubles", many=True),
    11: Field("uint64_data", "ints", many=True),
    13: Field("external_data", ENTRY, many=True),
    14: Field("data_location", "int"),
}
ATTRIBUTE = {
    1: Field("name", "text"),
    2: Field("f", "float"),
    3: Field("i", "int"),
    4: Field("s", "text"),
    5: Field("t", TENSOR),
    6: Field("g", "bytes"),
    7: Field("floats", "float", many=True),
    8: Field("ints", "int", many=True),
    9: Field("strings", "text", many=True),
    11: Field("graphs", "bytes", many=True),
    20: Field("type", "int"),
    21: Field("ref_attr_name", "text"),
}
NODE = {
    1: Field("input", "text", many=True),
    2: Field("output", "text", many=True),
    3: Field("name", "text"),
    4: Field("op_type", "text"),
    5: Field("attribute", ATTRIBUTE, many=True),
    7: Field("domain", "text"),
}
DIMENSION = {1: Field("dim_value", "int"), 2: Field("dim_param", "text")}
SHAPE = {1: Field("dim", DIMENSION, many=True)}
TENSOR_TYPE = {1: Field("elem_type", "int"), 2: Field("shape", SHAPE)}
TYPE = {1: Field("tensor_type", TENSOR_TYPE)}
VALUE_INFO = {1: Field("name", "text"), 2: Field("type", TYPE)}
GRAPH = {
    1: Field("node", NODE, many=True),
    2: Field("name", "text"),
    5: Field("initializer", TENSOR, many=True),
    11: Field("input", VALUE_INFO, many=True),
    12: Field("output", VALUE_INFO, many=True),
    15: Field("sparse_initializer", "bytes", many=True),
}
OPSET = {1: Field("domain", "text"), 2: Field("version", "int")}
MODEL = {
    1: Field("ir_version", "int"),
    2: Field("producer_name", "text"),
    7: Field("graph", GRAPH),
    8: Field("opset_import", OPSET, many=True),
}

"""XLA's HloModuleProto: the fields that we read, by their numbers in `xla/service/hlo.proto`.

The schema is built at run time, because no package on the registry ships it alone. Unknown fields
are skipped, so a newer XLA can add what it likes. The syntax is proto2 where XLA's is proto3: on
the wire they are the same, and proto2 can tell an absent number from a zero.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from engine.errors import ProgramFormatError

_PACKAGE = "hlo"
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "int64": _FIELD.TYPE_INT64,
    "int32": _FIELD.TYPE_INT32,
    "uint32": _FIELD.TYPE_UINT32,
    "uint64": _FIELD.TYPE_UINT64,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}

# Message -> field -> (number, type); a trailing "*" means repeated.
_SCHEMA: dict[str, dict[str, tuple[int, str]]] = {
    "Tile": {"dimensions": (1, "int64*")},
    "SplitConfig": {"dimension": (1, "int64"), "split_indices": (2, "int64*")},
    "Layout": {
        "minor_to_major": (1, "int64*"),
        "tiles": (6, "Tile*"),
        "element_size_in_bits": (7, "int64"),
        "memory_space": (8, "int64"),
        "split_configs": (17, "SplitConfig*"),
    },
    "Shape": {
        "element_type": (2, "int32"),
        "dimensions": (3, "int64*"),
        "tuple_shapes": (4, "Shape*"),
        "layout": (5, "Layout"),
    },
    "Metadata": {"op_type": (1, "string"), "op_name": (2, "string")},
    "Literal": {
        "s32s": (4, "int32*"),
        "s64s": (5, "int64*"),
        "u32s": (6, "uint32*"),
        "u64s": (7, "uint64*"),
    },
    "OutputAlias": {
        "output_shape_index": (1, "int64*"),
        "operand_index": (2, "int64"),
        "operand_shape_index": (3, "int64*"),
    },
    "WindowDimension": {
        "size": (1, "int64"),
        "stride": (2, "int64"),
        "padding_low": (3, "int64"),
        "window_dilation": (5, "int64"),
        "base_dilation": (6, "int64"),
    },
    "Window": {"dimensions": (1, "WindowDimension*")},
    "ConvolutionDimensions": {
        "kernel_input_feature_dimension": (3, "int64"),
        "kernel_output_feature_dimension": (4, "int64"),
        "kernel_spatial_dimensions": (6, "int64*"),
        "output_spatial_dimensions": (12, "int64*"),
        "input_spatial_dimensions": (11, "int64*"),
    },
    "DotDimensions": {"lhs_contracting_dimensions": (1, "int64*")},
    "RaggedDotDimensions": {"dot_dimension_numbers": (1, "DotDimensions")},
    "ReplicaGroup": {"replica_ids": (1, "int64*")},
    "IotaGroups": {
        "num_replica_groups": (1, "int64"),
        "num_devices_per_group": (2, "int64"),
        "iota_reshape_dims": (3, "int64*"),
        "iota_transpose_perm": (4, "int32*"),
    },
    "DeviceList": {"replica_groups": (1, "ReplicaGroup*"), "iota": (2, "IotaGroups")},
    "MeshAxis": {"name": (1, "string"), "size": (2, "int64")},
    "DeviceOrder": {"reshape_dims": (1, "int64*"), "transpose_perm": (2, "int64*")},
    "Mesh": {
        "axes": (1, "MeshAxis*"),
        "device_ids": (2, "int64*"),
        "device_order": (3, "DeviceOrder"),
    },
    "SubAxis": {"pre_size": (1, "int64"), "size": (2, "int64")},
    "AxisRef": {"mesh_axis_index": (1, "int64"), "sub_axis": (2, "SubAxis")},
    "MeshGroups": {"mesh": (1, "Mesh"), "axes": (2, "AxisRef*")},
    "SourceTarget": {"source": (1, "int64"), "target": (2, "int64")},
    "Instruction": {
        "name": (1, "string"),
        "opcode": (2, "string"),
        "shape": (3, "Shape"),
        "metadata": (7, "Metadata"),
        "literal": (8, "Literal"),
        "parameter_number": (9, "int64"),
        "tuple_index": (13, "int64"),
        "dimensions": (14, "int64*"),
        "window": (15, "Window"),
        "convolution_dimension_numbers": (16, "ConvolutionDimensions"),
        "custom_call_target": (28, "string"),
        "dot_dimension_numbers": (30, "DotDimensions"),
        "id": (35, "int64"),
        "operand_ids": (36, "int64*"),
        "called_computation_ids": (38, "int64*"),
        "backend_config": (43, "bytes"),
        "is_host_transfer": (47, "int32"),
        "replica_groups": (49, "ReplicaGroup*"),
        "source_target_pairs": (52, "SourceTarget*"),
        "comparison_direction": (63, "string"),
        "output_operand_aliasing": (74, "OutputAlias*"),
        "async_execution_thread": (79, "string"),
        "cross_program_prefetch_index": (80, "int32"),
        "collective_device_list": (87, "DeviceList"),
        "ragged_dot_dimension_numbers": (90, "RaggedDotDimensions"),
        "iota_groups": (92, "IotaGroups"),
        "mesh_groups": (93, "MeshGroups"),
    },
    "Computation": {
        "name": (1, "string"),
        "instructions": (2, "Instruction*"),
        "id": (5, "int64"),
        "root_id": (6, "int64"),
    },
    "Sequence": {"instruction_ids": (1, "int64*")},
    "SequenceEntry": {"key": (1, "int64"), "value": (2, "Sequence")},
    "Schedule": {"sequences": (1, "SequenceEntry*")},
    "IoAliasEntry": {
        "output_shape_index": (1, "int64*"),
        "parameter_number": (2, "int64"),
        "parameter_shape_index": (3, "int64*"),
    },
    "IoAlias": {"entries": (1, "IoAliasEntry*")},
    "DeviceAssignment": {"replica_count": (1, "int32"), "computation_count": (2, "int32")},
    "Module": {
        "name": (1, "string"),
        "computations": (3, "Computation*"),
        "entry_computation_id": (6, "int64"),
        "schedule": (7, "Schedule"),
        "input_output_alias": (8, "IoAlias"),
        "device_assignment": (15, "DeviceAssignment"),
    },
}

ELEMENT_BITS = {
    1: 8, 2: 8, 3: 16, 4: 32, 5: 64, 6: 8, 7: 16, 8: 32, 9: 64, 10: 16, 11: 32, 12: 64,
    15: 64, 16: 16, 18: 128, 19: 8, 20: 8, 21: 4, 22: 4, 23: 8, 24: 8, 25: 8, 26: 2, 27: 2,
    28: 8, 29: 8, 30: 1, 31: 1, 32: 4, 33: 8,
}  # fmt: skip
"""Bits of one element by `xla.PrimitiveType`; tuples, buffers, tokens and opaque types are missing.
"""

TYPE_NAMES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
    10: "f16", 11: "f32", 12: "f64", 15: "c64", 16: "bf16", 18: "c128", 19: "f8e5m2",
    20: "f8e4m3fn", 21: "s4", 22: "u4", 23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz",
    26: "s2", 27: "u2", 28: "f8e4m3", 29: "f8e3m4", 30: "s1", 31: "u1", 32: "f4e2m1fn",
    33: "f8e8m0fnu",
}  # fmt: skip

TUPLE_TYPE = 13
BUFFER_TYPE = 34


def decode_module(data: bytes, where: str) -> Any:
    """The module message in `data`. Raises ProgramFormatError."""
    module = _module_class()()
    try:
        module.ParseFromString(data)
    except DecodeError as error:
        raise ProgramFormatError(f"{where}: XLA's module cannot be decoded") from error
    return module


@cache
def _module_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="hlo_subset.proto", package=_PACKAGE, syntax="proto2"
    )
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = _FIELD.LABEL_REPEATED if kind[-1] == "*" else _FIELD.LABEL_OPTIONAL
            scalar = _SCALARS.get(kind.rstrip("*"))
            added.type = scalar or _FIELD.TYPE_MESSAGE
            if scalar is None:
                added.type_name = f".{_PACKAGE}.{kind.rstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Module"))

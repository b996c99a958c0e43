"""Reads TensorBoard event files by their published description, knowing nothing of acid: the
messages are described here and decoded by Debian's protobuf, the sums are made bit by bit.

As a program: prints a line for each thing in the file.
"""
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
TYPES = {"double": FIELD.TYPE_DOUBLE, "float": FIELD.TYPE_FLOAT, "int64": FIELD.TYPE_INT64,
         "int32": FIELD.TYPE_INT32, "string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES}
MESSAGES = {
    "Event": "double wall_time 1, int64 step 2, string file_version 3, Summary summary 5",
    "Summary": "*Value value 1",
    "Value": "string tag 1, float simple_value 2, Tensor tensor 8, Metadata metadata 9",
    "Metadata": "Plugin plugin_data 1, int32 data_class 4",
    "Plugin": "string plugin_name 1, bytes content 2",
    "Tensor": "int32 dtype 1, Shape tensor_shape 2, *bytes string_val 8",
    "Shape": "*Dimension dim 2",
    "Dimension": "int64 size 1",
    "Hparams": "int32 version 1, Start session_start_info 3, End session_end_info 4",
    "Start": "*Hparam hparams 1, string group_name 4, double start_time_secs 5",
    "Hparam": "string key 1, google.protobuf.Value value 2",
    "End": "int32 status 1, double end_time_secs 2",
}


def message_classes():
    file = descriptor_pb2.FileDescriptorProto(name="event_files.proto", package="read")
    file.dependency.append("google/protobuf/struct.proto")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(", "):
            kind, its_name, number = field.split(" ")
            added = message.field.add(name=its_name, number=int(number))
            repeated = kind.startswith("*")
            kind = kind.lstrip("*")
            added.label = FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL
            added.type = TYPES.get(kind, FIELD.TYPE_MESSAGE)
            if added.type == FIELD.TYPE_MESSAGE:
                added.type_name = "." + kind if "." in kind else ".read." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    make = getattr(message_factory, "GetMessageClass", None)  # newer versions
    make = make or message_factory.MessageFactory(pool).GetPrototype
    return {name: make(pool.FindMessageTypeByName("read." + name)) for name in MESSAGES}


CLASSES = message_classes()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def decoded(name, data):
    message = CLASSES[name]()
    message.ParseFromString(data)
    assert not message.UnknownFields() if hasattr(message, "UnknownFields") else True
    return message


def events(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        length, sum_of_length = struct.unpack_from("<QI", data, at)
        assert masked(data[at:at + 8]) == sum_of_length, "sum of a length"
        content = data[at + 12:at + 12 + length]
        assert len(content) == length, "a record is cut"
        (sum_of_content,) = struct.unpack_from("<I", data, at + 12 + length)
        assert masked(content) == sum_of_content, "sum of a record"
        yield decoded("Event", content)
        at += 16 + length


def scalars(path):
    """(step, wall time, tag, value) in the order of the file."""
    for event in events(path):
        for value in event.summary.value:
            if not value.HasField("metadata"):
                assert value.HasField("simple_value"), value.tag
                yield event.step, event.wall_time, value.tag, value.simple_value


def lines(path):
    for event in events(path):
        if event.file_version:
            yield f"version {event.file_version} at {event.wall_time:.3f}"
        for value in event.summary.value:
            plugin = value.metadata.plugin_data.plugin_name
            if plugin == "text":
                text = value.tensor.string_val[0].decode("utf-8").splitlines()[0]
                assert value.tensor.dtype == 7 and value.metadata.data_class == 2
                yield f"text {value.tag}: {text}"
            elif plugin == "hparams":
                content = decoded("Hparams", value.metadata.plugin_data.content)
                assert value.tensor.dtype == 1 and len(value.tensor.tensor_shape.dim) == 1
                start, end = content.session_start_info, content.session_end_info
                if content.HasField("session_start_info"):
                    pairs = [f"{entry.key}={getattr(entry.value, entry.value.WhichOneof('kind'))}"
                             for entry in start.hparams]
                    yield f"{value.tag} {start.group_name[:8]} {' '.join(pairs)}"
                else:
                    yield f"{value.tag} {end.status}"
            else:
                yield f"{event.step} {event.wall_time:.3f} {value.tag} {value.simple_value:.9g}"


if __name__ == "__main__":
    for line in lines(sys.argv[1]):
        print(line)

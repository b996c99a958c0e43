#include "engine/data/mapped_array.hpp"

#include "tests/data/arrays.hpp"

namespace acid::testing {
namespace {

std::string npy_error(const std::string& content) {
  const ScratchFolder folder;
  folder.write("a.npy", content);
  const std::string message = message_of([&] { MappedArray::npy(folder.path("a.npy")); });
  CHECK_THAT(message, ContainsSubstring(folder.path("a.npy")) && ContainsSubstring("; "));
  return message;
}

std::string tensor_error(const std::string& content, const std::string& tensor = "x") {
  const ScratchFolder folder;
  folder.write("a.safetensors", content);
  const std::string message =
      message_of([&] { MappedArray::safetensors(folder.path("a.safetensors"), tensor); });
  CHECK_THAT(message, ContainsSubstring(folder.path("a.safetensors")) && ContainsSubstring("; "));
  return message;
}

template <class Number>
void check_reads(const std::string& descr) {
  INFO(descr);
  const ScratchFolder folder;
  for (const std::size_t count : {0, 1, 63, 64, 65}) {
    std::vector<Number> numbers;
    for (std::size_t k = 0; k < count; ++k) numbers.push_back(static_cast<Number>(k + 1));
    folder.write("a.npy", npy<Number>(descr, {std::ssize(numbers)}, numbers));
    const MappedArray array = MappedArray::npy(folder.path("a.npy"));
    CHECK(array.shape() == std::vector<std::int64_t>{std::ssize(numbers)});
    CHECK(array.visit([&]<class Found>(std::span<const Found> values) {
      if constexpr (std::is_same_v<Found, Number>) return std::ranges::equal(values, numbers);
      return false;
    }));
  }
}

}  // namespace

TEST_CASE("arrays of every type that a .npy file may have are mapped as they are") {
  check_reads<float>("<f4");
  check_reads<double>("<f8");
  check_reads<std::int8_t>("|i1");
  check_reads<std::int16_t>("<i2");
  check_reads<std::int32_t>("<i4");
  check_reads<std::int64_t>("<i8");
  check_reads<std::uint8_t>("|u1");
  check_reads<std::uint8_t>("|b1");
  check_reads<std::uint16_t>("<u2");
  check_reads<std::uint32_t>("<u4");
  check_reads<std::uint64_t>("<u8");
}

TEST_CASE("a mapped array outlives its file and the object that mapped it") {
  std::optional<MappedArray> copy;
  {
    const ScratchFolder folder;
    folder.write("a.npy", npy<float>("<f4", {2, 1}, {1, 2}));
    copy = MappedArray::npy(folder.path("a.npy"));
  }
  CHECK(copy->visit([](auto values) { return static_cast<int>(values[1]); }) == 2);
}

TEST_CASE("versions, spaces and quotes that NumPy has written in its time are read") {
  const std::string end(8, '\1');
  const auto reads = [&](const std::string& content) {
    const TensorHeader header = npy_header("a.npy", content);
    CHECK(header.shape == std::vector<std::int64_t>{2, 4});
    CHECK(header.end == content.size() + 8);
  };
  const std::string plain = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4), }\n";
  reads(npy_text(plain, 1));
  reads(npy_text(plain, 2));
  reads(npy_text(plain, 3));
  reads(npy_text("{\"shape\":(2,4),\"fortran_order\":False,\"descr\":\"|u1\"}"));
}

TEST_CASE("a .npy file that is not as it should be is named, with what to do") {
  const std::string whole = npy<float>("<f4", {3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK_THAT(npy_error(""), ContainsSubstring("begins with"));
  CHECK_THAT(npy_error("PK\3\4"), ContainsSubstring(".npz"));
  CHECK_THAT(npy_error(std::string(200, 'x')), ContainsSubstring("something else"));
  for (const std::size_t bytes : {6, 7, 8, 9, 10, 40, 127})
    CHECK_THAT(npy_error(whole.substr(0, bytes)), ContainsSubstring("end of the file"));
  CHECK_THAT(npy_error(whole.substr(0, whole.size() - 1)), ContainsSubstring("(3, 2)"));
  CHECK_THAT(npy_error(whole + "x"), ContainsSubstring("(3, 2)"));
  const auto header = [](const std::string& text) { return npy_error(npy_text(text)); };
  CHECK_THAT(npy_error(npy_text("{}", 4)), ContainsSubstring("version 1, 2 or 3"));
  for (const auto& [text, says] :
       {std::pair{"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }",
                  "ascontiguousarray"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "Python objects"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", "big-endian"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "a structure"},
        {"{'descr': '<f4', 'shape': (3,), }", "missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", "once each"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3", "')'"},
        {"{'descr': '<f4", "an end of the text"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9)}",
         "fits into a file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "whole numbers"}})
    CHECK_THAT(header(text), ContainsSubstring(says));
  CHECK_THAT(header("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }"),
             ContainsSubstring("Fortran"));
  CHECK_THAT(header("{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }"),
             ContainsSubstring("astype"));
}

TEST_CASE("what is no file cannot be mapped") {
  const ScratchFolder folder;
  CHECK_THAT(message_of([&] { MappedArray::npy(folder.path("none.npy")); }),
             ContainsSubstring("none.npy"));
  CHECK_THAT(message_of([&] { MappedArray::npy(folder.path()); }),
             ContainsSubstring("not a regular file"));
  CHECK_THAT(message_of([&] { MappedArray::safetensors(folder.path(), "x"); }),
             ContainsSubstring("not a regular file"));
}

TEST_CASE("a tensor of a safetensors file is found by name, and the others are named") {
  const ScratchFolder folder;
  folder.write("a.safetensors",
               safetensors({{"x", TensorType::u16, {2}, std::string("\1\0\2\0", 4)},
                            {"y", TensorType::u8, {3}, "abc"}}));
  const MappedArray x = MappedArray::safetensors(folder.path("a.safetensors"), "x");
  CHECK(x.type() == TensorType::u16);
  CHECK(x.visit([](auto values) { return static_cast<int>(values[1]); }) == 2);
  CHECK(MappedArray::safetensors(folder.path("a.safetensors"), "y").size() == 3);
  CHECK_THAT(tensor_error(folder.read("a.safetensors"), "z"), ContainsSubstring("'x', 'y'"));
}

TEST_CASE("tensors of types that are not read can lie beside the one that is asked for") {
  const ScratchFolder folder;
  std::string content = safetensors({{"x", TensorType::f32, {1}, "abcd"},
                                     {"y", TensorType::u8, {4}, std::string("\0\1\0\1", 4)},
                                     {"z", TensorType::u8, {3}, "abc"}});
  const auto becomes = [&](const std::string& before, const std::string& after) {
    const std::size_t at = content.rfind(before);
    content.replace(at, before.size(), after);
    content[0] = static_cast<char>(content[0] + static_cast<int>(after.size() - before.size()));
  };
  becomes("U8", "F4_E2M1FN_X2");  // of z, whose size does not follow from its shape
  becomes("U8", "BOOL");
  folder.write("a.safetensors", content);
  const std::string path = folder.path("a.safetensors");
  CHECK(MappedArray::safetensors(path, "x").size() == 1);
  const MappedArray y = MappedArray::safetensors(path, "y");
  CHECK((y.type() == TensorType::u8 && y.is_boolean() && y.type_name() == "BOOL"));
  CHECK(y.visit([](auto values) { return static_cast<int>(values[3]); }) == 1);
  CHECK_THAT(tensor_error(content, "z"),
             ContainsSubstring("'z': it is of type F4_E2M1FN_X2, and acid reads booleans") &&
                 ContainsSubstring("tensor.to(torch.float32)"));
}

// Expected values are those of numpy.float16 and torch.bfloat16.
TEST_CASE("floats of 16 bits are read as the floats that they are") {
  const ScratchFolder folder;
  const std::vector<std::uint16_t> bits{0x3C00, 0x3555, 0x0001, 0x03FF, 0x0400,
                                        0x7BFF, 0xFBFF, 0x8000, 0x7C00};
  const std::vector<float> halves{1,     0.333251953125F, 0x1p-24F, 0x1.FF8p-15F, 0x1p-14F,
                                  65504, -65504,          -0.0F,    INFINITY};
  const std::vector<float> brains{0x1p-7F,      0x1.AAp-21F,   0x1p-133F, 0x1.FEp-120F, 0x1p-119F,
                                  0x1.FEp+120F, -0x1.FEp+120F, -0.0F,     0x1p+121F};
  folder.write("a.npy", npy("<f2", {9}, bits));
  const std::string bytes(reinterpret_cast<const char*>(bits.data()), 2 * bits.size());
  folder.write("a.safetensors", safetensors({{"h", TensorType::f16, {9}, bytes},
                                             {"b", TensorType::bf16, {9}, bytes}}));
  const auto read = [](const MappedArray& array) {
    return array.visit([](auto values) {
      std::vector<float> out;
      for (const auto value : values) out.push_back(static_cast<float>(value));
      return out;
    });
  };
  CHECK(read(MappedArray::npy(folder.path("a.npy"))) == halves);
  CHECK(read(MappedArray::safetensors(folder.path("a.safetensors"), "h")) == halves);
  const auto found = read(MappedArray::safetensors(folder.path("a.safetensors"), "b"));
  for (std::size_t k = 0; k < brains.size(); ++k) CHECK(found[k] == brains[k]);
}

TEST_CASE("a safetensors file that is not as it should be is named, with what to do") {
  const std::string whole = safetensors({{"x", TensorType::f32, {1}, "abcd"}});
  CHECK_THAT(tensor_error(""), ContainsSubstring("ends"));
  CHECK_THAT(tensor_error(whole.substr(0, whole.size() - 1)), ContainsSubstring("outside"));
  CHECK_THAT(tensor_error(whole + "x"), ContainsSubstring("bytes"));
  CHECK_THAT(tensor_error(safetensors(
                 {{"a", TensorType::u8, {1}, "a"}, {"x", TensorType::f32, {1}, "abcd"}})),
             ContainsSubstring("multiple"));
}

}  // namespace acid::testing

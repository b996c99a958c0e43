#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/byte_file.hpp"
#include "engine/data/sequences.hpp"

namespace acid {
namespace {

constexpr int kByteValues = 256;

constexpr auto kTextFields = std::to_array<Field>({
    {.name = "file", .type = FieldType::file, .fallback = "", .help = "the text, plain or .gz"},
    kSequenceField,
    kTestShareField,
});

class Bytes final : public Tokens {
 public:
  explicit Bytes(std::string content) : content_(std::move(content)) {}
  std::int64_t size() const override { return std::ssize(content_); }
  void copy(std::int64_t first, std::span<std::int64_t> out) const override {
    std::transform(content_.begin() + first, content_.begin() + first + std::ssize(out),
                   out.begin(), [](char byte) { return static_cast<unsigned char>(byte); });
  }

 private:
  std::string content_;
};

std::string checked_text_file(const nlohmann::json& options) {
  std::string file = text(options, "file");
  if (type_of_file(file) != std::filesystem::file_type::regular)
    throw UsageError(fmt::format("{} is no file; task.dataset.file names a text", file));
  return file;
}

// A compressed file is read as the text that it contains.
std::shared_ptr<const Bytes> bytes_of_text(const std::string& file) {
  return std::make_shared<Bytes>(ByteFile(file, "unpack it").read_rest());
}

// Writes bytes other than ASCII letters as \xNN, so that the line is text for any file.
std::string quote_text(std::span<const std::int64_t> bytes) {
  std::string text = "\"";
  for (const std::int64_t byte : bytes)
    text += byte == '\n'                 ? "\\n"
            : byte >= ' ' && byte <= '~' ? std::string(1, static_cast<char>(byte))
                                         : fmt::format("\\x{:02x}", byte);
  return text + "\"";
}

DataInfo inspect_text(const nlohmann::json& options) {
  const std::string file = checked_text_file(options);
  return inspect_sequences(options, file, bytes_of_text(file), kByteValues, "bytes", quote_text);
}

Dataset load_text(const nlohmann::json& options) {
  const std::string file = checked_text_file(options);
  Dataset data = make_sequences(options, file, bytes_of_text(file), kByteValues);
  data.files = {{file, sha256_file(file)}};
  return data;
}

}  // namespace

DatasetEntry dataset_text() {
  return {"text", "any text, byte by byte, for language models: a vocabulary of 256", kTextFields,
          inspect_text, load_text};
}

}  // namespace acid
